//@ local loads = require "lib/load"
//@ local name, formula, indexed = op.name, op.formula, op.indexed or false
//@ local given = require("lib/operands").of(_ENV)
//@ local op = given.made
//@ local acc = op.acc
//@ local layout, single = loads.layout(dtype, vec), loads.layout(dtype, 1)
//@ local parts = given.parts(layout, vec)
//@ local tail = "shuffle"
// redtune: the @{name} of @{dtype.name} into @{result.name}, by the template "grouped" with
// @{config}
//
// output[i] = @{formula}
// for each segment i, n = its elements, wherever they are. Start it with @{block} threads per block, on
// a block for every @{block // lanes} segments and some more, which share giants; any number is right.
//
// A group of @{lanes} threads takes a segment. Groups come and go with their blocks, so that nothing is
// dealt and nothing is searched: a thread needs registers for little more than its loads. A segment that
// is long for a group is taken by its block, when the others of the block are done, and a giant by
// blocks that do nothing else. How a segment is combined depends on the table and the grid alone.

//@ include "lib/types.cu"
typedef @{dtype.c} element;  // in memory
typedef @{dtype.value} value;  // in registers
typedef @{acc.c} accumulator;

//@ include "lib/given.cu"
constexpr u32 BLOCK = @{block};  // threads per block
constexpr u32 WARPS = BLOCK / 32;
constexpr u32 GROUP = @{lanes};  // threads per segment
constexpr u32 GROUPS = BLOCK / GROUP;
constexpr u32 VEC = @{vec};  // elements per load
constexpr u32 UNROLL = @{unroll};  // independent loads in flight per thread
constexpr u32 LANES = @{parts};  // accumulators per thread
constexpr u64 LOAD_BYTES = VEC * @{dtype.bytes};

// Loads of each thread, one after the other, that a group takes at most: one that is its block has to wait for nobody.
constexpr u64 OWN_TILES = @{lanes < block and 8 or 16};
constexpr u64 OWN = OWN_TILES * GROUP * UNROLL * VEC;  // elements

constexpr u32 ALL = 0xffffffff;  // lanes of a warp

static_assert(sizeof(element) == @{dtype.bytes}, "");
static_assert(LOAD_BYTES <= 16 && BLOCK % 32 == 0 && BLOCK % GROUP == 0 && GROUP >= 8, "");

//@ include "ragged/tables.cu"
//@ include "ragged/offsets.cu"
//@ include "ragged/elements.cu"
// Segment i, and where its elements are; there are none if it is not there. All that the tables say is
// asked for at once.
__device__ __forceinline__ segment load_segment(const segments &s, const element *input, u64 i, bool is_there,
                                                const element *&from)
{
    raw_offset begin = {0, 0};
    u64 array = 0;
    if (s.begin) begin = load_offset(s, s.begin, i);
    const raw_offset end = s.end ? load_offset(s, s.end, i) : load_offset(s, s.begin, i + 1);
    if (s.arrays) array = ((const u64 *)s.arrays)[i];
    const i64 low = value_of(s, begin), high = value_of(s, end);
    from = s.arrays ? (const element *)array + (s.end ? low : 0) : input + low;
    return segment{(u64)low, is_there && high > low ? (u64)(high - low) : 0, false};
}

// The group's first thread returns the combination of its threads' values. All threads of the block call it;
// between two calls stands a barrier.
__device__ __forceinline__ accumulator reduce_group(accumulator a@{given.parameter})
{
//@ if lanes >= 32 then
    a = reduce_warp(a@{given.argument});
//@ else
//@     for _, step in ipairs { 16, 8, 4, 2, 1 } do
//@         if step < lanes then
    a = combine(a, @{acc.shuffle("a", step)}@{given.argument});
//@         end
//@     end
//@ end
//@ if lanes > 32 then
    __shared__ accumulator parts[WARPS];
    const u32 warp = threadIdx.x / 32;
    if (threadIdx.x % 32 == 0) parts[warp] = a;
    __syncthreads();
    if (threadIdx.x % GROUP == 0) {
#pragma unroll
        for (u32 w = 1; w < GROUP / 32; w++) a = combine(a, parts[warp + w]@{given.argument});
    }
//@ end
    return a;
}

//@ include "grouped/giants.cu"
// All threads of the block: those segments from base on that wait for it and are no giants, one after the other. Where
// there are too few blocks, those of others, too.
__device__ __forceinline__ void reduce_waiting(const element *input, const segments &s, const bool *waits,
                                               @{result.c} *output@{given.parameter})
{
    const u32 thread = thread_anew();
    const u64 count = count_anew(s);
    const u32 helpers = duties_of(count).helpers;
    u64 base = first_of(count);
#pragma unroll 1
    for (u32 turn = 0; base < count; turn++, base += (u64)(gridDim.x - helpers) * GROUPS) {
#pragma unroll 1
        for (u32 group = 0; group < GROUPS; group++) {
            const u64 i = base + group;
            if (i >= count || (turn == 0 && !waits[group])) continue;
            const segment one = segment_of(s, i);
            if (is_giant(s, i, one.count)) continue;
            const run<UNROLL> r(elements_of(s, input, i, one), one.count, thread, BLOCK);
            // Each has a value, lest registers be kept for these from the beginning of the kernel.
            vector v[UNROLL] = {};
            r.load_tile(r.body, v@{given.argument});
            accumulator a = reduce_loaded<UNROLL>(r, v, one.count@{indexed and ", 0" or ""}, [] {}@{given.argument});
            a = reduce_block(a@{given.argument});
            if (thread == 0) finish(output, i, a, one.count@{given.argument});
            __syncthreads();
        }
    }
}

__device__ __forceinline__ void reduce_all(const element *input, const segments &s, @{result.c} *output, void *scratch@{given.parameter})
{
    if (blockIdx.x < duties_of(s.count).helpers) {
        help(input, s, scratch, output@{given.argument});
        return;
    }
    const u32 rank = threadIdx.x % GROUP, group = threadIdx.x / GROUP;
    const u64 base = first_of(s.count), i = base + group;
    if (base >= s.count) return;
    __shared__ bool waits[GROUPS];
    const bool is_there = i < s.count;
    const element *from;
    const segment one = load_segment(s, input, is_there ? i : base, is_there, from);
    const bool is_own = one.count <= OWN;
    const u32 count = is_own ? (u32)one.count : 0;
    if (rank == 0) waits[group] = !is_own;
    accumulator a = reduce_run<UNROLL>(from, count@{indexed and ", 0" or ""}, rank, GROUP@{given.argument});
    a = reduce_group(a@{given.argument});
    const u32 thread = thread_anew();
    const u64 all = count_anew(s), its = first_of(all) + thread / GROUP;
    // What this says was written by the same thread.
    const bool is_first = thread % GROUP == 0, is_left = is_first && waits[thread / GROUP];
    if (its < all && is_first && !is_left) finish(output, its, a, count@{given.argument});
    const bool is_more = (gridDim.x - duties_of(all).helpers) * (u64)GROUPS < all;
    if (__syncthreads_or(is_left) || is_more) reduce_waiting(input, s, waits, output@{given.argument});
}

extern "C" __global__ void __launch_bounds__(@{block}, @{resident})
redtune_reduce(const element *input, segments s, @{result.c} *output, void *scratch, u32 overlaps@{given.kernel})
{
//@ local prefetch = false
//@ include "lib/begin_overlap.cu"
//@ for _, line in ipairs(given.begin("input", "s.count", "output")) do
    @{line}
//@ end
    reduce_all(input, s, output, scratch@{given.argument});
}
