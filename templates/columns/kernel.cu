//@ local loads = require "lib/load"
//@ local name, formula, indexed = op.name, op.formula, op.indexed or false
//@ local op = op.make { dtype = dtype, result = result, arch = arch }
//@ local acc = op.acc
//@ local layout, single = loads.layout(dtype, vec), loads.layout(dtype, 1)
//@ op.narrow, op.word = nil, nil -- these would combine neighbours, which are of several columns
//@ local parts, held = vec, vec
//@ local depth = block // width
//@ local acc_bytes = acc.halves > 2 and 16 or 4 * acc.halves
//@ local shared = finish ~= "single"
//@ local round = vec
//@ while round > 1 and block * round * acc_bytes > 16 << 10 do round = round // 2 end
// redtune: the @{name} of @{dtype.name} into @{result.name}, by the template "columns" with
// @{config}
//
// output[o * inner + i] = @{formula}
// for each of `outer` times `inner` columns (o, i): x[e] is input[o * outer_step + e * step + i], for
// n = count elements e, wherever that is. Start it with @{block} threads per block, on any number of
//@ if finish == "single" then
// blocks.
//@ else
// blocks: strips of @{width * vec} columns are shared by as many blocks as there are for each.
//@ end

//@ include "lib/types.cu"
typedef @{dtype.c} element;  // in memory
typedef @{dtype.value} value;  // in registers
typedef @{acc.c} accumulator;

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

//@ if shared then
// Where in scratch the values of that split of the strip are that belong to this thread's columns.
__device__ __forceinline__ u32 place_of(const share &mine, u32 split)
{
    return number_of(mine, split) * STRIP + across() * VEC;
}

//@ end
// A strip is whole if each thread's columns are neighbours that all exist, or none does, and one
// load at a multiple of its bytes brings VEC of them. In other strips a thread's columns are WIDTH
// apart, so that the threads' loads of one element each lie side by side.
template <bool WHOLE>
__device__ __forceinline__ u32 column_of(u32 j)
{
    return WHOLE ? across() * VEC + j : across() + j * WIDTH;
}

//@ if vec > 1 then
__device__ __forceinline__ @{single.word.c} load_single(const element *from)
{
    @{single.word.c} word[1];
    @{loads.statement(single, load, "word", "from")}
    return word[0];
}

//@ end
// One element of each of this thread's columns of the strip that has so many; `from` is that of the
// first.
template <bool WHOLE>
__device__ __forceinline__ vector load_columns(const element *from, u32 columns)
{
//@ if vec > 1 then
    if (!WHOLE) {
        vector v = {};
//@     for j = 0, vec - 1 do
//@         local word, bit = "v.word[" .. j // layout.per_word .. "]",
//@             8 * dtype.bytes * (j % layout.per_word)
//@         local piece = ("load_single(from + column_of<false>(%d))"):format(j)
//@         if layout.per_word > 1 then
        if (column_of<false>(@{j}) < columns) @{word} |= @{piece} << @{bit};
//@         else
        if (column_of<false>(@{j}) < columns) @{word} = @{piece};
//@         end
//@     end
        return v;
    }
//@ end
    return load_vector((u64)(from + column_of<WHOLE>(0)));
}

// Combines this thread's share of its columns with a. Of the `count` elements from `from` on, tiles are
// dealt round-robin to the splits; a thread takes those DEPTH apart.
//@ if indexed then
// The first of them has the index `origin`.
//@ end
template <bool WHOLE>
__device__ __forceinline__ void reduce_share(accumulator (&a)[VEC], const element *from, u64 count,
                                             u64 step, u32 columns, const share &mine@{indexed and ", u64 origin" or ""})
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
    for (; e + (LOADS - 1) * DEPTH < count; e += next) {
        // All loads before the first use.
        vector v[LOADS];
#pragma unroll
        for (u32 i = 0; i < LOADS; i++, at += stride) v[i] = load_columns<WHOLE>(at, columns);
        at += skip;
#pragma unroll
        for (u32 i = 0; i < LOADS; i++) take(part, v[i]@{indexed and ", load + i" or ""});
//@ if indexed then
        load += LOADS;
//@ end
    }
    if (e < count) {
        // What is left of a tile. The first element stands in for those that are not there: loads under
        // conditions would take twice the registers.
        const u32 left = count - e;
        vector v[LOADS];
#pragma unroll
        for (u32 i = 0; i < LOADS; i++, at += stride)
            v[i] = load_columns<WHOLE>(i * DEPTH < left ? at : from, columns);
#pragma unroll
        for (u32 i = 0; i < LOADS; i++)
            if (i * DEPTH < left) take(part, v[i]@{indexed and ", load + i" or ""});
    }
//@ if indexed then
    // Where no value went before the last one there is, it is the first load's. A thread that had
    // none names an element behind all that there are, and so before none of them.
#pragma unroll
    for (u32 j = 0; j < VEC; j++) {
        const u64 tiles = part[j].load / LOADS, i = part[j].load % LOADS;
        const u64 index = origin + first + tiles * next + i * DEPTH;
        a[j] = combine(a[j], candidate(part[j].x, index));
    }
//@ else
#pragma unroll
    for (u32 j = 0; j < VEC; j++) a[j] = combine(a[j], part[j]);
//@ end
}

//@ if depth > 1 then
//@     local unit = math.max(32, width)
constexpr u32 ROUND = @{round};  // columns per thread that shared memory has room for

// Those threads that are first along the reduced axis get the combinations over all of them. All
// threads of the block call it.
__device__ __forceinline__ void reduce_depth(accumulator (&a)[VEC])
{
//@     for _, step in ipairs { 16, 8, 4, 2, 1 } do
//@         if step >= width then
#pragma unroll
    for (u32 j = 0; j < VEC; j++) a[j] = combine(a[j], @{acc.shuffle("a[j]", step)});
//@         end
//@     end
//@     if block > unit then
    // The upper half of the threads that are left hand theirs to the lower half. A thread does so
    // once in a round, so that one barrier per halving does, and one between rounds.
    __shared__ accumulator shared[ROUND][BLOCK];
    const u32 thread = threadIdx.x;
#pragma unroll
    for (u32 first = 0; first < VEC; first += ROUND) {
        __syncthreads();
//@         local half = block // 2
//@         while half >= unit do
        if (thread >= @{half} && thread < @{2 * half}) {
#pragma unroll
            for (u32 j = 0; j < ROUND; j++) shared[j][thread] = a[first + j];
        }
        __syncthreads();
        if (thread < @{half}) {
#pragma unroll
            for (u32 j = 0; j < ROUND; j++)
                a[first + j] = combine(a[first + j], shared[j][thread + @{half}]);
        }
//@             half = half // 2
//@         end
    }
//@     end
}

//@ end
// Makes the results of a strip of so many columns, from element 0 of the first on, or hands on what
// this block has of them.
template <bool WHOLE>
__device__ __forceinline__ void reduce_strip(const element *from, const extents &e, u32 columns,
                                             @{result.c} *output, const share &mine, void *scratch)
{
    accumulator a[VEC];
#pragma unroll
    for (u32 j = 0; j < VEC; j++) a[j] = @{op.identity};
//@ if indexed then
    // A thread counts its loads in 32 bits: stretches keep it from running over.
    constexpr u64 STRETCH = 1ull << 31;
    for (u64 at = 0; at < e.count; at += STRETCH) {
        const u64 left = e.count - at, count = left < STRETCH ? left : STRETCH;
        reduce_share<WHOLE>(a, from + at * e.step, count, e.step, columns, mine, at);
    }
//@ else
    reduce_share<WHOLE>(a, from, e.count, e.step, columns, mine);
//@ end
//@ if finish == "poll" then
    // The last split's threads take up what the others leave with their own.
    const bool last = mine.split == mine.splits - 1;
    for (u32 split = along(); last && split < mine.split; split += DEPTH)
        collect(a, scratch, place_of(mine, split));
//@ end
//@ if depth > 1 then
    reduce_depth(a);
//@ end
//@ if finish == "poll" then
    if (!last) {
        if (along() == 0) leave(scratch, place_of(mine, mine.split), a);
        return;
    }
//@ elseif finish == "ticket" then
    if (mine.splits > 1) {
        if (along() == 0) leave(scratch, place_of(mine, mine.split), a);
        if (!draws_last(scratch, mine)) return;
#pragma unroll
        for (u32 j = 0; j < VEC; j++) a[j] = @{op.identity};
        for (u32 split = along(); split < mine.splits; split += DEPTH)
            collect(a, scratch, place_of(mine, split));
//@     if depth > 1 then
        reduce_depth(a);
//@     end
    }
//@ end
    if (along() > 0) return;
#pragma unroll
    for (u32 j = 0; j < VEC; j++) {
        const u32 column = column_of<WHOLE>(j);
        if (column < columns) output[column] = @{op.finalize("a[j]", "e.count")};
    }
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
//@ if vec > 1 then
    // Steps that are not used, of one outer or of one element, keep nothing from being aligned.
    const u64 steps = (e.outer > 1 ? e.outer_step : 0) | (e.count > 1 ? e.step : 0);
    const bool aligned = ((u64)input | steps * sizeof(element)) % LOAD_BYTES == 0;
//@ end
    const u64 strips = e.inner / STRIP + (e.inner % STRIP > 0);
    for (share mine = share_of(e.outer * strips); mine.set < mine.sets; mine.set += gridDim.x) {
        const u64 o = e.outer > 1 ? mine.set / strips : 0, first = (mine.set - o * strips) * STRIP;
        const u64 left = e.inner - first;
        const u32 columns = left < STRIP ? left : STRIP;
        const element *from = input + o * e.outer_step + first;
        @{result.c} *to = output + o * e.inner + first;
//@ if vec > 1 then
        if (aligned && columns % VEC == 0)
            reduce_strip<true>(from, e, columns, to, mine, scratch);
        else
            reduce_strip<false>(from, e, columns, to, mine, scratch);
//@ else
        reduce_strip<true>(from, e, columns, to, mine, scratch);
//@ end
    }
}
