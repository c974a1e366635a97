// redtune: the argmax of i8 into i64, by the template "columns" with
// block=128,width=8,vec=4,unroll=2,load=plain,finish=ticket
//
// output[o * inner + i] = the first index of the greatest of x[0] ... x[n-1]
// for each of `outer` times `inner` columns (o, i): x[e] is input[o * outer_step + e * step + i],
// for n = count elements e, wherever that is. Start it with 128 threads per block, on any
// number of blocks:
// strips of 32 columns are shared by as many as there are for each.

typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;
struct arg {
    u32 key;  // the least wins
    u64 index;
};
typedef signed char element;  // in memory
typedef int value;  // in registers
typedef arg accumulator;

constexpr u32 BLOCK = 128;  // threads per block
constexpr u32 WIDTH = 8;  // threads side by side, over neighbouring columns
constexpr u32 DEPTH = BLOCK / WIDTH;  // threads along the reduced axis
constexpr u32 VEC = 4;  // columns per thread
constexpr u32 STRIP = WIDTH * VEC;  // columns that a block takes at a time
constexpr u32 UNROLL = 2;  // elements of each column in flight per thread
constexpr u32 LANES = VEC;  // accumulators per thread

constexpr u64 LOAD_BYTES = VEC * 1;

static_assert(sizeof(element) == 1 && sizeof(accumulator) == 16, "");
static_assert(LOAD_BYTES <= 16 && BLOCK % 32 == 0 && BLOCK % WIDTH == 0, "");

// As model/launch.h has it.
struct extents {
    u64 count, outer, inner, outer_step, step;
};

static_assert(sizeof(extents) == 40, "");

struct vector {
    u32 word[1];
};

__device__ __forceinline__ vector load_vector(u64 from)
{
    vector v;
    asm volatile("ld.global.u32 %0, [%1];"
                 : "=r"(v.word[0])
                 : "l"(from));
    return v;
}

__device__ __forceinline__ u32 key_of(int x)
{
    return ~((u32)x ^ 0x80000000u);
}

__device__ __forceinline__ arg first_least(arg a, arg b)
{
    return b.key < a.key || (b.key == a.key && b.index < a.index) ? b : a;
}

__device__ __forceinline__ u32 least_of_warp(u32 x)
{
    u32 least;
    asm volatile("redux.sync.min.u32 %0, %1, 0xffffffff;" : "=r"(least) : "r"(x));
    return least;
}

__device__ __forceinline__ arg first_of_warp(arg a)
{
    const u32 key = least_of_warp(a.key);
    const u32 high = least_of_warp(a.key == key ? (u32)(a.index >> 32) : ~0u);
    const bool is_first = a.key == key && a.index >> 32 == high;
    return arg{key, (u64)high << 32 | least_of_warp(is_first ? (u32)a.index : ~0u)};
}

template <u32 N>
__device__ __forceinline__ arg first_of_lanes(arg a)
{
#pragma unroll
    for (u32 step = N / 2; step > 0; step /= 2)
        a = first_least(a, arg{__shfl_down_sync(0xffffffff, a.key, step),
                               __shfl_down_sync(0xffffffff, a.index, step)});
    return a;
}

__device__ __forceinline__ accumulator combine(accumulator a, accumulator b)
{
    return first_least(a, b);
}

// A thread counts its loads; the first value of a lane that no other goes before is remembered with
// the load that brought it. Lane j holds element j of each load, in ascending order of the index.
struct best {
    value x;
    u32 load;
};

__device__ __forceinline__ accumulator candidate(value x, u64 index)
{
    return arg{key_of(x), index};
}

__device__ __forceinline__ void take(best (&part)[LANES], const vector &v, u32 load)
{
    const value x0 = (int)(signed char)v.word[0];
    const value x1 = (int)(signed char)(v.word[0] >> 8);
    const value x2 = (int)(signed char)(v.word[0] >> 16);
    const value x3 = (int)(signed char)(v.word[0] >> 24);
    if (x0 > part[0].x) part[0] = best{x0, load};
    if (x1 > part[1].x) part[1] = best{x1, load};
    if (x2 > part[2].x) part[2] = best{x2, load};
    if (x3 > part[3].x) part[3] = best{x3, load};
}

// Which of the sets of results that blocks make a block makes, from which of the splits of their
// elements.
struct share {
    u64 sets, set;
    u32 splits, split;
};

// Where there are two blocks for each set, all are shared by as many. Block b takes split b /
// sets: those that read side by side start together, and those of the last split after all others.
// So these may wait for the others, which have multiprocessors already. There is no set for what
// is left over.
__device__ __forceinline__ share share_of(u64 sets)
{
    if (sets > gridDim.x / 2) return share{sets, blockIdx.x, 1, 0};
    const u32 n = sets, splits = gridDim.x / n, split = blockIdx.x / n;
    return share{sets, split < splits ? blockIdx.x - split * n : sets, splits, split};
}

// The number of the block that has that split of the same set.
__device__ __forceinline__ u32 number_of(const share &mine, u32 split)
{
    return (u32)mine.set + split * (u32)mine.sets;
}

constexpr u32 AT_ONCE = 2;  // values that a thread asks for at a time

// The partial results of the blocks, in the order of their indices.
__device__ __forceinline__ accumulator *partials(void *scratch)
{
    return (accumulator *)((char *)scratch + 524544);
}

// A thread leaves a value, which is the one of that number of its launch.
__device__ __forceinline__ void leave(void *scratch, u32 number, accumulator a)
{
    partials(scratch)[number] = a;
}

// Combines a with the values of every step-th number up to that of the end.
__device__ __forceinline__ void collect(accumulator &a, void *scratch, u32 number, u32 step,
                                        u32 end)
{
    for (; number < end; number += AT_ONCE * step) {
        accumulator value[AT_ONCE];
#pragma unroll
        for (u32 i = 0; i < AT_ONCE; i++) {
            const u32 n = number + i * step < end ? number + i * step : number;
            value[i] = arg{__ldcg(&(partials(scratch) + n)->key), __ldcg(&(partials(scratch) + n)->index)};
        }
#pragma unroll
        for (u32 i = 0; i < AT_ONCE; i++)
            if (number + i * step < end) a = combine(a, value[i]);
    }
}

// Whether all other blocks of the set have left their values. All threads of the block call it,
// after they have left theirs. A set has a counter in the place of its words, which atomicInc
// leaves at zero.
__device__ __forceinline__ bool draws_last(void *scratch, const share &mine)
{
    __shared__ bool last;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) {
        char *words = (char *)scratch + 256;
        u32 *counter = (u32 *)(words + mine.set * 32);
        last = atomicInc(counter, mine.splits - 1) == mine.splits - 1;
        __threadfence();
    }
    __syncthreads();
    return last;
}

// This thread's place among those side by side, and along the reduced axis.
__device__ __forceinline__ u32 across()
{
    return threadIdx.x % WIDTH;
}

__device__ __forceinline__ u32 along()
{
    return threadIdx.x / WIDTH;
}

// A strip is whole if each thread's columns are neighbours that all exist, or none does, and one
// load at a multiple of its bytes brings VEC of them. In other strips a thread's columns are WIDTH
// apart, so that the threads' loads of one element each lie side by side.
template <bool WHOLE>
__device__ __forceinline__ u32 column_of(u32 j)
{
    return WHOLE ? across() * VEC + j : across() + j * WIDTH;
}

__device__ __forceinline__ u32 load_single(const element *from)
{
    u32 word[1];
    asm volatile("ld.global.u8 %0, [%1];"
                 : "=r"(word[0])
                 : "l"(from));
    return word[0];
}

// One element of each of this thread's columns, of a strip of `columns` columns; `from` is that of
// the first.
template <bool WHOLE>
__device__ __forceinline__ vector load_columns(const element *from, u32 columns)
{
    if (!WHOLE) {
        vector v = {};
        if (column_of<false>(0) < columns) v.word[0] |= load_single(from + column_of<false>(0)) << 0;
        if (column_of<false>(1) < columns) v.word[0] |= load_single(from + column_of<false>(1)) << 8;
        if (column_of<false>(2) < columns) v.word[0] |= load_single(from + column_of<false>(2)) << 16;
        if (column_of<false>(3) < columns) v.word[0] |= load_single(from + column_of<false>(3)) << 24;
        return v;
    }
    return load_vector((u64)(from + column_of<WHOLE>(0)));
}

// Loads a vector that is there. Of one that is not, nothing is read, and nothing is to be taken.
__device__ __forceinline__ vector load_vector_if(bool there, u64 from)
{
    vector v = {};
    asm volatile("{ .reg .pred p; setp.ne.u32 p, %2, 0; @p ld.global.u32 %0, [%1]; }"
                 : "+r"(v.word[0])
                 : "l"(from), "r"((u32)(there)));
    return v;
}

__device__ __forceinline__ u32 load_single_if(bool there, const element *from)
{
    u32 word[1] = {0};
    asm volatile("{ .reg .pred p; setp.ne.u32 p, %2, 0; @p ld.global.u8 %0, [%1]; }"
                 : "+r"(word[0])
                 : "l"(from), "r"((u32)(there)));
    return word[0];
}

// One element of each of this thread's columns, if the row is there: else nothing is read.
template <bool WHOLE>
__device__ __forceinline__ vector load_columns_if(bool there, const element *from, u32 columns)
{
    if (!WHOLE) {
        vector v = {};
        v.word[0] |= load_single_if(there && column_of<false>(0) < columns, from + column_of<false>(0)) << 0;
        v.word[0] |= load_single_if(there && column_of<false>(1) < columns, from + column_of<false>(1)) << 8;
        v.word[0] |= load_single_if(there && column_of<false>(2) < columns, from + column_of<false>(2)) << 16;
        v.word[0] |= load_single_if(there && column_of<false>(3) < columns, from + column_of<false>(3)) << 24;
        return v;
    }
    return load_vector_if(there, (u64)(from + column_of<WHOLE>(0)));
}

// Combines this thread's share of its columns with a. Of the `count` elements from `from` on,
// tiles are dealt round-robin to the splits; a thread takes those DEPTH apart.
// The first of them has the index `origin`.
template <bool WHOLE>
__device__ __forceinline__ void reduce_share(accumulator (&a)[VEC], const element *from, u64 count,
                                             u64 step, u32 columns,
                                             const share &mine, u64 origin)
{
    constexpr u32 LOADS = WHOLE ? UNROLL : UNROLL > VEC ? UNROLL / VEC : 1;
    constexpr u64 TILE = LOADS * DEPTH;
    const u64 first = mine.split * TILE + along(), next = mine.splits * TILE;
    const u64 stride = DEPTH * step, skip = (next - TILE) * step;
    const element *at = from + first * step;
    best part[LANES];
    u32 load = 0;
#pragma unroll
    for (u32 j = 0; j < LANES; j++) part[j] = best{-128, 0};
    if (column_of<WHOLE>(0) >= columns) count = 0;
    u64 e = first;
    // Whole tiles: all of the block's threads agree on which these are.
    for (; e - along() + TILE <= count; e += next) {
        // All loads before the first use.
        vector v[LOADS];
#pragma unroll
        for (u32 i = 0; i < LOADS; i++, at += stride) v[i] = load_columns<WHOLE>(at, columns);
        at += skip;
#pragma unroll
        for (u32 i = 0; i < LOADS; i++) take(part, v[i], load + i);
        load += LOADS;
    }
    if (e < count) {
        // What is left of a tile.
        const u32 left = count - e;
        vector v[LOADS];
#pragma unroll
        for (u32 i = 0; i < LOADS; i++, at += stride)
            v[i] = load_columns_if<WHOLE>(i * DEPTH < left, at, columns);
#pragma unroll
        for (u32 i = 0; i < LOADS; i++)
            if (i * DEPTH < left) take(part, v[i], load + i);
    }
    // Where no value went before the last one there is, it is the first load's. A thread that had
    // none names an element behind all that there are, and so before none of them.
#pragma unroll
    for (u32 j = 0; j < VEC; j++) {
        const u64 tiles = part[j].load / LOADS, i = part[j].load % LOADS;
        const u64 index = origin + first + tiles * next + i * DEPTH;
        a[j] = combine(a[j], candidate(part[j].x, index));
    }
}

// The threads' values meet in shared memory: of each column ROWS values, after those of a warp are
// combined.
constexpr u32 ROWS = WIDTH < 32 ? BLOCK / 32 : DEPTH;
constexpr u32 SHARED = ROWS * STRIP > BLOCK ? ROWS * STRIP : BLOCK;

static_assert(SHARED * sizeof(accumulator) <= 49152, "");

// Leaves in shared memory what this thread has of its columns.
template <bool WHOLE>
__device__ __forceinline__ void store_columns(accumulator *shared, accumulator (&a)[VEC])
{
#pragma unroll
    for (u32 j = 0; j < VEC; j++) a[j] = combine(a[j], arg{__shfl_down_sync(0xffffffff, a[j].key, 16), __shfl_down_sync(0xffffffff, a[j].index, 16)});
#pragma unroll
    for (u32 j = 0; j < VEC; j++) a[j] = combine(a[j], arg{__shfl_down_sync(0xffffffff, a[j].key, 8), __shfl_down_sync(0xffffffff, a[j].index, 8)});
    if (threadIdx.x % 32 >= WIDTH) return;
    const u32 row = threadIdx.x / 32;
#pragma unroll
    for (u32 j = 0; j < VEC; j++) shared[row * STRIP + column_of<WHOLE>(j)] = a[j];
}

// The combination of all rows' values of that column, in the order of the rows.
__device__ __forceinline__ accumulator load_column(const accumulator *shared, u32 column)
{
    accumulator a = arg{shared[column].key, shared[column].index};
#pragma unroll
    for (u32 row = 1; row < ROWS; row++) a = combine(a, shared[row * STRIP + column]);
    return a;
}

// This thread's share of a strip of `columns` columns, from element 0 of the first on.
template <bool WHOLE>
__device__ __forceinline__ void reduce_columns(accumulator (&a)[VEC], const element *from,
                                               const extents &e, u32 columns, const share &mine)
{
#pragma unroll
    for (u32 j = 0; j < VEC; j++) a[j] = arg{~(u32)0, ~0ull};
    // A thread counts its loads in 32 bits: stretches keep it from running over.
    constexpr u64 STRETCH = 1ull << 31;
    for (u64 at = 0; at < e.count; at += STRETCH) {
        const u64 left = e.count - at, count = left < STRETCH ? left : STRETCH;
        reduce_share<WHOLE>(a, from + at * e.step, count, e.step, columns, mine, at);
    }
}

constexpr u32 GROUPS = 4;  // of threads with a column each

// The first group's threads get the combinations of all groups' values. All threads of the block
// call it, behind a barrier if shared memory was in use.
__device__ __forceinline__ accumulator reduce_groups(accumulator *shared, accumulator a)
{
    const u32 group = threadIdx.x / 32, column = threadIdx.x % 32;
    if (column < STRIP) shared[group * STRIP + column] = a;
    __syncthreads();
    if (threadIdx.x < STRIP) {
#pragma unroll
        for (u32 i = 1; i < 4; i++) a = combine(a, shared[i * STRIP + threadIdx.x]);
    }
    return a;
}

// Makes the results of a strip from what its threads have in shared memory, or hands on what this
// block has of it. All threads of the block call it, behind a barrier.
__device__ __forceinline__ void finish_strip(accumulator *shared, const share &mine, void *scratch,
                                             i64 *output, u64 count,
                                             u32 columns)
{
    if (mine.splits > 1) {
        const u32 step = (u32)mine.sets * STRIP, first = (u32)mine.set * STRIP;
        const u32 end = first + mine.splits * step;
        for (u32 c = threadIdx.x; c < STRIP; c += BLOCK)
            leave(scratch, first + mine.split * step + c, load_column(shared, c));
        if (!draws_last(scratch, mine)) return;
        const u32 group = threadIdx.x / STRIP % GROUPS;
        for (u32 c = threadIdx.x - group * STRIP; c < STRIP; c += BLOCK) {
            accumulator a = arg{~(u32)0, ~0ull};
            collect(a, scratch, first + group * step + c, GROUPS * step, end + c);
            __syncthreads();
            a = reduce_groups(shared, a);
            if (group > 0) return;
            if (c < columns) output[c] = (i64)a.index;
        }
        return;
    }
    for (u32 c = threadIdx.x; c < STRIP && c < columns; c += BLOCK) {
        const accumulator a = load_column(shared, c);
        output[c] = (i64)a.index;
    }
}

struct strip {
    u64 outer, first;  // the index of all its columns, and the first of them
    u32 columns;
};

// Of a few strips all have about as many columns: the blocks that share one have as much to do as
// those of another then. A strip has whole loads, or whole lines or sectors where rows begin with one.
// Each outer index has `strips` of them.
__device__ __forceinline__ strip strip_of(u64 set, u64 strips, const extents &e)
{
    constexpr u32 FEW = 64, LINE = 64 / sizeof(element), SECTOR = 32 / sizeof(element);
    const u64 outer = e.outer > 1 ? set / strips : 0, number = set - outer * strips;
    const u64 first = number * STRIP, left = e.inner - first;
    if (strips > FEW || e.inner % STRIP == 0) return strip{outer, first, left < STRIP ? (u32)left : STRIP};
    const u32 unit = STRIP % LINE == 0 && e.step % LINE == 0       ? LINE
                     : STRIP % SECTOR == 0 && e.step % SECTOR == 0 ? SECTOR
                                                                     : VEC;
    const u32 inner = e.inner, units = (inner + unit - 1) / unit, n = strips, k = number;
    const u32 begin = k * units / n * unit, end = (k + 1) * units / n * unit;
    return strip{outer, begin, (end < inner ? end : inner) - begin};
}

extern "C" __global__ void __launch_bounds__(128)
redtune_reduce(const element *input, extents e, i64 *output, void *scratch, u32 overlaps)
{
    // What the arguments alone say is made before the kernel waits for the one before it.
    const u64 strips = e.inner / STRIP + (e.inner % STRIP > 0);
    share mine = share_of(e.outer * strips);
    strip at = strip_of(mine.set, strips, e);
    // Steps that are not used, of one outer or of one element, keep nothing from being aligned.
    const u64 steps = (e.outer > 1 ? e.outer_step : 0) | (e.count > 1 ? e.step : 0);
    const bool aligned = ((u64)input | steps * sizeof(element)) % LOAD_BYTES == 0;
    __shared__ alignas(16) accumulator shared[SHARED];
    for (; mine.set < mine.sets; mine.set += gridDim.x, at = strip_of(mine.set, strips, e)) {
        const u32 columns = at.columns;
        const element *from = input + at.outer * e.outer_step + at.first;
        i64 *to = output + at.outer * e.inner + at.first;
        if (aligned && columns % VEC == 0) {
            accumulator a[VEC];
            reduce_columns<true>(a, from, e, columns, mine);
            store_columns<true>(shared, a);
        }
        else {
            accumulator a[VEC];
            reduce_columns<false>(a, from, e, columns, mine);
            store_columns<false>(shared, a);
        }
        __syncthreads();
        finish_strip(shared, mine, scratch, to, e.count, columns);
        __syncthreads();
    }
}
