//@ local loads = require "lib/load"
//@ local name, formula, indexed = op.name, op.formula, op.indexed or false
//@ local op = op.make { dtype = dtype, result = result, arch = arch }
//@ local acc = op.acc
//@ local layout = loads.layout(dtype, vec)
//@ local parts = (op.narrow or op.word) and layout.words or vec
// redtune: the @{name} of @{dtype.name} into @{result.name}, by the template "rows" with
// @{config}
//
// output[r] = @{formula}
// for each of `outer` rows r: n = count elements side by side from input[r * outer_step] on, wherever
// that is. Start it with @{block} threads per block, on any number of blocks.

//@ include "lib/types.cu"
typedef @{dtype.c} element;  // in memory
typedef @{dtype.value} value;  // in registers
typedef @{acc.c} accumulator;

constexpr u32 BLOCK = @{block};  // threads per block
constexpr u32 GROUP = @{lanes};  // threads per row
constexpr u32 ROWS = BLOCK / GROUP;  // rows that a block takes at a time
constexpr u32 VEC = @{vec};  // elements per load
constexpr u32 UNROLL = @{unroll};  // independent loads in flight per thread
constexpr u32 LANES = @{parts};  // accumulators per thread

constexpr u64 LOAD_BYTES = VEC * @{dtype.bytes};
constexpr u64 TILE_BYTES = GROUP * UNROLL * LOAD_BYTES;

static_assert(sizeof(element) == @{dtype.bytes}, "");
static_assert(LOAD_BYTES <= 16 && BLOCK % 32 == 0 && BLOCK % GROUP == 0, "");

// As model/launch.h has it. Here inner and step are 1.
struct extents {
    u64 count, outer, inner, outer_step, step;
};

static_assert(sizeof(extents) == 40, "");

//@ include "lib/vector.cu"
// This thread's place in its group.
__device__ __forceinline__ u32 member()
{
    return threadIdx.x % GROUP;
}

// Where this thread's load i of the tile at that address is.
__device__ __forceinline__ u64 place_of(u64 tile, u32 i)
{
    return tile + (member() + i * GROUP) * LOAD_BYTES;
}

//@ include "lib/load_tile.cu"
//@ include "lib/load_element.cu"
//@ include "lib/combine.cu"
//@ include "lib/take.cu"
//@ if lanes >= 32 then
//@     include "lib/reduce_warp.cu"
//@ end
// Member 0 of each group returns the combination of the group's values. All threads of the block
// call it, with turn = 0, 1, 0, 1, ...
__device__ __forceinline__ accumulator reduce_group(accumulator a, u32 turn)
{
//@ if lanes < 32 then
    // Further members are given values of the next group, and theirs are not looked at.
//@     for _, step in ipairs { 16, 8, 4, 2, 1 } do
//@         if step < lanes then
    a = combine(a, @{acc.shuffle("a", step)});
//@         end
//@     end
    return a;
//@ elseif lanes == 32 then
    return reduce_warp(a);
//@ else
//@     local warps = lanes // 32
    // Two sets of values, so that one barrier does: who writes a set again has passed the barrier
    // of the other, before which all have read this one.
    __shared__ accumulator warp_value[2][BLOCK / 32];
    const u32 warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    a = reduce_warp(a);
    if (lane == 0) warp_value[turn][warp] = a;
    __syncthreads();
    if (warp % @{warps} == 0) {
        a = lane < @{warps} ? warp_value[turn][warp + lane] : @{op.identity};
//@     for _, step in ipairs { 16, 8, 4, 2, 1 } do
//@         if step < warps then
        a = combine(a, @{acc.shuffle("a", step)});
//@         end
//@     end
    }
    return a;
//@ end
}

// Each thread returns its share of the count elements from input on: tiles are its group's.
//@ if indexed then
// The first of them has the index `origin`.
__device__ __forceinline__ accumulator reduce_share(const element *input, u64 count, u64 origin)
//@ else
__device__ __forceinline__ accumulator reduce_share(const element *input, u64 count)
//@ end
{
    // Loads are aligned: from body up to stop. The first ones are on their way before anything is
    // computed that they do not need.
    const u64 begin = (u64)input, end = begin + count * sizeof(element);
    const u64 body = (begin + LOAD_BYTES - 1) / LOAD_BYTES * LOAD_BYTES;
    const u64 stop = end / LOAD_BYTES * LOAD_BYTES;
    u64 tile = body;
    vector v[UNROLL];
    load_tile(v, tile, stop);

//@ include "lib/begin_parts.cu"
    accumulator edge = @{op.identity};
//@ if vec > 1 then
    // Fewer than VEC elements stand before body and behind stop: all, if nothing is between these.
    const u64 head = (u32)(body - begin) / sizeof(element);
    const u64 between = stop > body ? (stop - body) / sizeof(element) : 0;
    for (u64 i = member(); i < count - between; i += GROUP) {
        const u64 at = i < head ? i : i + between;
//@     if indexed then
        edge = combine(edge, candidate(load_element(input + at), origin + at));
//@     else
        edge = combine(edge, map(load_element(input + at)));
//@     end
    }
//@ end

    while (tile < stop) {
//@     include "lib/take_tile.cu"
        tile += TILE_BYTES;
        load_tile(v, tile, stop);
    }
//@ if indexed then
    // Where no value went before the last one there is, it is the first load's, if there was one.
    const u64 first = place_of(body, 0);
    if (first < stop) {
#pragma unroll
        for (u32 j = 0; j < LANES; j++) {
            const u64 place = first + (u64)part[j].load * GROUP * LOAD_BYTES;
            const u64 index = origin + (place - begin) / sizeof(element) + j;
            edge = combine(edge, candidate(part[j].x, index));
        }
    }
    return edge;
//@ else
//@     include "lib/combine_parts.cu"
//@ end
}

// Likewise, of the row from input on.
__device__ __forceinline__ accumulator reduce_row(const element *input, u64 count)
{
//@ if indexed then
    // A thread counts its loads in 32 bits: stretches keep it from running over.
    constexpr u64 STRETCH = 1ull << 31;
    accumulator a = @{op.identity};
    for (u64 at = 0; at < count; at += STRETCH) {
        const u64 left = count - at;
        a = combine(a, reduce_share(input + at, left < STRETCH ? left : STRETCH, at));
    }
    return a;
//@ else
    return reduce_share(input, count);
//@ end
}

extern "C" __global__ void __launch_bounds__(@{block})
redtune_reduce(const element *input, extents e, @{result.c} *output, void *scratch, u32 overlaps)
{
//@ if arch >= 90 then
    // The next kernel may be launched from now on, and this one may have been launched before the
    // one before it ended: nothing is read or written until that one is over.
    asm volatile("griddepcontrol.launch_dependents;");
    asm volatile("griddepcontrol.wait;" : : : "memory");
//@ end
    // A block's threads go on together, those too that have no row left.
    u32 turn = 0;
    for (u64 first = (u64)blockIdx.x * ROWS; first < e.outer; first += (u64)gridDim.x * ROWS) {
        const u64 row = first + threadIdx.x / GROUP;
        const bool exists = row < e.outer;
        const element *from = input + (exists ? row * e.outer_step : 0);
        accumulator a = reduce_row(from, exists ? e.count : 0);
        a = reduce_group(a, turn);
        turn ^= 1;
        if (exists && member() == 0) output[row] = @{op.finalize("a", "e.count")};
    }
}
