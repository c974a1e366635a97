//@ local loads = require "lib/load"
//@ local name, formula, indexed = op.name, op.formula, op.indexed or false
//@ local given = require("lib/operands").of(_ENV)
//@ local op = given.made
//@ local acc = op.acc
//@ local layout, single = loads.layout(dtype, vec), loads.layout(dtype, 1)
//@ op.narrow, op.word = nil, nil -- these would combine neighbours, which are of several columns
//@ local parts = vec
//@ local depth = block // width
//@ local acc_bytes = acc.bytes
//@ local shared, origin = finish ~= "single", indexed and ", u64 origin" or ""
//@ local ahead, side = arch >= 90 and not counts, 1
//@ local made = "STRIP"
//@ local skew, skew_type = "", ""
//@ -- Where loads and accumulators leave half of 64 registers, compilers may take some more than 64, and
//@ -- fewer than 1024 threads are resident: blocks that share columns would wait for others to end.
//@ local in_flight = math.max(unroll > 16 and 4 or 1, vec * dtype.bytes) * unroll * given.inputs
//@ local few = acc.bytes == 4 and vec <= 8 and in_flight <= 128 and (shared or in_flight > 64)
//@ local bounds = few and ("%d, %d"):format(block, 1024 // block) or block
// redtune: the @{name} of @{dtype.name} into @{result.name}, by the template "columns" with
// @{config}
//
// output[o * inner + i] = @{formula}
// for each of `outer` times `inner` columns (o, i): x[e] is input[o * outer_step + e * step + i],
// for n = count elements e, wherever that is. Start it with @{block} threads per block, on any
// number of blocks@{shared and ":" or "."}
//@ if shared then
// strips of @{width * vec} columns are shared by as many as there are for each.
//@ end

//@ include "lib/types.cu"
typedef @{dtype.c} element;  // in memory
typedef @{dtype.value} value;  // in registers
typedef @{acc.c} accumulator;

//@ include "lib/given.cu"
constexpr u32 BLOCK = @{block};  // threads per block
constexpr u32 WIDTH = @{width};  // threads side by side, over neighbouring columns
constexpr u32 DEPTH = BLOCK / WIDTH;  // threads along the reduced axis
constexpr u32 VEC = @{vec};  // columns per thread
constexpr u32 STRIP = WIDTH * VEC;  // columns that a block takes at a time
constexpr u32 UNROLL = @{unroll};  // elements of each column in flight per thread
constexpr u32 LANES = VEC;  // accumulators per thread

constexpr u64 LOAD_BYTES = VEC * @{dtype.bytes};

static_assert(sizeof(element) == @{dtype.bytes} && sizeof(accumulator) == @{acc_bytes}, "");
static_assert(LOAD_BYTES <= 16 && BLOCK % 32 == 0 && BLOCK % WIDTH == 0, "");

// As model/launch.h has it.
struct extents {
    u64 count, outer, inner, outer_step, step;
};

static_assert(sizeof(extents) == 40, "");

//@ include "lib/vector.cu"
//@ include "lib/combine.cu"
//@ include "lib/take.cu"
//@ include "lib/splits.cu"
// This thread's place among those side by side, and along the reduced axis.
__device__ __forceinline__ u32 across()
{
    return threadIdx.x % WIDTH;
}

__device__ __forceinline__ u32 along()
{
    return threadIdx.x / WIDTH;
}

//@ include "lib/load_columns.cu"
//@ include "lib/load_columns_if.cu"
// Combines this thread's share of its columns with a. Of the `count` elements from `from` on,
// tiles are dealt round-robin to the splits; a thread takes those DEPTH apart.
//@ if indexed then
// The first of them has the index `origin`.
//@ end
template <bool WHOLE>
__device__ __forceinline__ void reduce_share(accumulator (&a)[VEC], const element *from, u64 count,
                                             u64 step, u32 columns,
                                             const share &mine@{origin}@{given.parameter})
{
    constexpr u32 LOADS = WHOLE ? UNROLL : UNROLL > VEC ? UNROLL / VEC : 1;
    constexpr u64 TILE = LOADS * DEPTH;
//@ if shared then
    const u64 first = mine.split * TILE + along(), next = mine.splits * TILE;
//@ else
    constexpr u64 next = TILE;
    const u64 first = along();
//@ end
    const u64 stride = DEPTH * step, skip = (next - TILE) * step;
    const element *at = from + first * step;
//@ include "lib/begin_parts.cu"
    if (column_of<WHOLE>(0) >= columns) count = 0;
    u64 e = first;
    // Whole tiles: all of the block's threads agree on which these are.
    for (; e - along() + TILE <= count; e += next) {
        // All loads before the first use.
        vector v[LOADS];
#pragma unroll
        for (u32 i = 0; i < LOADS; i++, at += stride) v[i] = load_columns<WHOLE>(at, columns@{given.argument});
        at += skip;
#pragma unroll
        for (u32 i = 0; i < LOADS; i++) take(part, v[i]@{indexed and ", load + i" or ""}@{given.argument});
//@ if indexed then
        load += LOADS;
//@ end
    }
    if (e < count) {
        // What is left of a tile.
        const u32 left = count - e;
        vector v[LOADS];
//@ if unroll > 16 then
        // By fours, so that few loads have to be left out.
#pragma unroll
        for (u32 i = 0; i < LOADS; i++, at += stride) {
            if (i % 4 == 0 && i * DEPTH >= left) break;
            v[i] = load_columns_if<WHOLE>(i * DEPTH < left, at, columns@{given.argument});
        }
#pragma unroll
        for (u32 i = 0; i < LOADS; i++) {
            if (i % 4 == 0 && i * DEPTH >= left) break;
            if (i * DEPTH < left) take(part, v[i]@{indexed and ", load + i" or ""}@{given.argument});
        }
//@ else
#pragma unroll
        for (u32 i = 0; i < LOADS; i++, at += stride)
            v[i] = load_columns_if<WHOLE>(i * DEPTH < left, at, columns@{given.argument});
#pragma unroll
        for (u32 i = 0; i < LOADS; i++)
            if (i * DEPTH < left) take(part, v[i]@{indexed and ", load + i" or ""}@{given.argument});
//@ end
    }
//@ if indexed then
    // Where no value went before the last one there is, it is the first load's. A thread that had
    // none names an element behind all that there are, and so before none of them.
#pragma unroll
    for (u32 j = 0; j < VEC; j++) {
        const u64 tiles = part[j].load / LOADS, i = part[j].load % LOADS;
        const u64 index = origin + first + tiles * next + i * DEPTH;
        a[j] = combine(a[j], candidate(part[j].x, index)@{given.argument});
    }
//@ else
#pragma unroll
    for (u32 j = 0; j < VEC; j++) a[j] = combine(a[j], @{given.widen("part[j]")}@{given.argument});
//@ end
}

//@ if depth > 1 then
// The threads' values meet in shared memory: of each column ROWS values, after those of a warp are
// combined.
//@     local warps = block // 32
constexpr u32 ROWS = WIDTH < 32 ? BLOCK / 32 : DEPTH;
constexpr u32 SHARED = ROWS * STRIP > BLOCK ? ROWS * STRIP : BLOCK;

static_assert(SHARED * sizeof(accumulator) <= 49152, "");

// Leaves in shared memory what this thread has of its columns.
template <bool WHOLE>
__device__ __forceinline__ void store_columns(accumulator *shared, accumulator (&a)[VEC]@{given.parameter})
{
//@     for _, step in ipairs { 16, 8, 4, 2, 1 } do
//@         if step >= width then
#pragma unroll
    for (u32 j = 0; j < VEC; j++) a[j] = combine(a[j], @{acc.shuffle("a[j]", step)}@{given.argument});
//@         end
//@     end
//@     if width < 32 then
    if (threadIdx.x % 32 >= WIDTH) return;
    const u32 row = threadIdx.x / 32;
//@     else
    const u32 row = along();
//@     end
#pragma unroll
    for (u32 j = 0; j < VEC; j++) shared[row * STRIP + column_of<WHOLE>(j)] = a[j];
}

// The combination of all rows' values of that column, in the order of the rows.
__device__ __forceinline__ accumulator load_column(const accumulator *shared, u32 column@{given.parameter})
{
    accumulator a = @{acc.copy("shared[column]")};
#pragma unroll
    for (u32 row = 1; row < ROWS; row++) a = combine(a, shared[row * STRIP + column]@{given.argument});
    return a;
}

//@ end
// This thread's share of a strip of `columns` columns, from element 0 of the first on.
template <bool WHOLE>
__device__ __forceinline__ void reduce_columns(accumulator (&a)[VEC], const element *from,
                                               const extents &e, u32 columns, const share &mine@{given.parameter})
{
#pragma unroll
    for (u32 j = 0; j < VEC; j++) a[j] = @{op.identity};
//@ if indexed then
    // A thread counts its loads in 32 bits: stretches keep it from running over.
    constexpr u64 STRETCH = 1ull << 31;
    for (u64 at = 0; at < e.count; at += STRETCH) {
        const u64 left = e.count - at, count = left < STRETCH ? left : STRETCH;
        reduce_share<WHOLE>(a, from + at * e.step, count, e.step, columns, mine, at@{given.argument});
    }
//@ else
    reduce_share<WHOLE>(a, from, e.count, e.step, columns, mine@{given.argument});
//@ end
}

//@ if depth == 1 then
//@     include "lib/write_columns.cu"
//@ else
//@     include "lib/finish_strip.cu"
//@ end
//@ include "lib/strips.cu"
//@ include "lib/prefetch_strip.cu"
extern "C" __global__ void __launch_bounds__(@{bounds})
redtune_reduce(const element *input, extents e, @{result.c} *output, void *scratch, u32 overlaps@{given.kernel})
{
    // What the arguments alone say is made before the kernel waits for the one before it.
    const u64 strips = e.inner / STRIP + (e.inner % STRIP > 0);
    share mine = share_of(e.outer * strips);
    strip at = strip_of(mine.set, strips, e);
//@ local prefetch = ahead and { "e.count * e.inner * e.outer", "\n        prefetch_strip(input, e" }
//@ include "lib/begin_overlap.cu"
//@ for _, line in ipairs(given.begin("input", "e.count", "output")) do
    @{line}
//@ end
//@ if vec > 1 then
    // Steps that are not used, of one outer or of one element, keep nothing from being aligned.
    const u64 steps = (e.outer > 1 ? e.outer_step : 0) | (e.count > 1 ? e.step : 0);
    const bool aligned = ((u64)input | steps * sizeof(element)) % LOAD_BYTES == 0;
//@ end
//@ if depth > 1 then
    __shared__ alignas(16) accumulator shared[SHARED];
//@ end
    for (; mine.set < mine.sets; mine.set += gridDim.x, at = strip_of(mine.set, strips, e)) {
        const u32 columns = at.columns;
        const element *from = input + at.outer * e.outer_step + at.first;
        @{result.c} *to = output + at.outer * e.inner + at.first;
//@ local kinds = vec > 1 and { "true", "false" } or { "true" }
//@ for _, whole in ipairs(kinds) do
//@     if vec > 1 then
        @{whole == "true" and "if (aligned && columns % VEC == 0)" or "else"} {
//@     else
        {
//@     end
            accumulator a[VEC];
            reduce_columns<@{whole}>(a, from, e, columns, mine@{given.argument});
//@     if depth == 1 then
            write_columns<@{whole}>(to, a, e.count, columns@{given.argument});
//@     else
            store_columns<@{whole}>(shared, a@{given.argument});
//@     end
        }
//@ end
//@ if depth > 1 then
        __syncthreads();
        finish_strip(shared, mine, scratch, to, e.count, columns@{given.argument});
        __syncthreads();
//@ end
    }
}
