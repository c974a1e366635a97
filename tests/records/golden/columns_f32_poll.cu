// redtune: the sum of f32 into f32, by the template "columns" with
// block=256,width=4,vec=4,unroll=8,load=no_allocate,finish=poll
//
// output[o * inner + i] = x[0] + ... + x[n-1]
// for each of `outer` times `inner` columns (o, i): x[e] is input[o * outer_step + e * step + i],
// for n = count elements e, wherever that is.
// Start it with 256 threads per block, on any number of blocks.
// There are as many blocks for each of the strips of 16 columns as share it.

typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;
typedef float element;  // in memory
typedef float value;  // in registers
typedef float accumulator;

constexpr u32 BLOCK = 256;  // threads per block
constexpr u32 WIDTH = 4;  // threads side by side, over neighbouring columns
constexpr u32 DEPTH = BLOCK / WIDTH;  // threads along the reduced axis
constexpr u32 VEC = 4;  // elements per load
constexpr u32 STRIP = WIDTH * VEC;  // results whose elements the loads of a block side by side bring
constexpr u32 UNROLL = 8;  // independent loads in flight per thread
constexpr u32 LANES = VEC;  // accumulators per thread
constexpr u64 LOAD_BYTES = VEC * 4;

static_assert(sizeof(element) == 4 && sizeof(accumulator) == 4, "");
static_assert(LOAD_BYTES <= 16 && BLOCK % 32 == 0 && BLOCK % WIDTH == 0, "");

// As model/launch.h has it. Of rows inner and step are 1.
struct extents {
    u64 count, outer, inner, outer_step, step;
};

static_assert(sizeof(extents) == 40, "");

struct vector {
    float word[4];
};

__device__ __forceinline__ vector load_vector(u64 from)
{
    vector v;
    asm volatile("ld.global.nc.L1::no_allocate.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(v.word[0]), "=f"(v.word[1]), "=f"(v.word[2]), "=f"(v.word[3])
                 : "l"(from));
    return v;
}

__device__ __forceinline__ accumulator combine(accumulator a, accumulator b)
{
    return a + b;
}

__device__ __forceinline__ accumulator map(value x)
{
    return x;
}

__device__ __forceinline__ void take(accumulator (&part)[LANES], const vector &v)
{
    part[0] = combine(part[0], map(v.word[0]));
    part[1] = combine(part[1], map(v.word[1]));
    part[2] = combine(part[2], map(v.word[2]));
    part[3] = combine(part[3], map(v.word[3]));
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

constexpr u32 AT_ONCE = 8;  // values that a thread asks for at a time

// A block hands over its value in words of 32 bits of it and, above them, a flag. A word is one
// store, so that whoever sees the flag has the bits: no fence, no atomic operation. Words are zero
// before and after. Every access is relaxed, the clearing too: a plain store would race.
constexpr u32 WORDS = 1;

__device__ __forceinline__ u64 *words_of(void *scratch, u32 block)
{
    return (u64 *)((char *)scratch + 256) + block * WORDS;
}

__device__ __forceinline__ void store_word(u64 *to, u64 word)
{
    asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" : : "l"(to), "l"(word) : "memory");
}

__device__ __forceinline__ u64 load_word(const u64 *from)
{
    u64 word;
    asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(word) : "l"(from) : "memory");
    return word;
}

__device__ __forceinline__ void publish(u64 *to, accumulator a)
{
    store_word(to + 0, 1ull << 32 | __float_as_uint(a));
}

// A thread hands over a value, which is the one of that number of its launch.
__device__ __forceinline__ void leave(void *scratch, u32 number, accumulator a)
{
    publish(words_of(scratch, number), a);
}

// Combines a with the values of every step-th number up to that of the end, once they are there.
__device__ __forceinline__ void collect(accumulator &a, void *scratch, u32 number, u32 step,
                                        u32 end)
{
    for (; number < end; number += AT_ONCE * step) {
        u64 word[AT_ONCE][WORDS];
        u64 flags;
        // All words are asked for before one is looked at.
        do {
            flags = 1ull << 32;
#pragma unroll
            for (u32 i = 0; i < AT_ONCE; i++)
#pragma unroll
                for (u32 k = 0; k < WORDS; k++) {
                    word[i][k] = 1ull << 32;
                    if (i == 0 || number + i * step < end)
                        word[i][k] = load_word(words_of(scratch, number + i * step) + k);
                }
#pragma unroll
            for (u32 i = 0; i < AT_ONCE; i++)
#pragma unroll
                for (u32 k = 0; k < WORDS; k++) flags &= word[i][k];
        } while (flags >> 32 == 0);
#pragma unroll
        for (u32 i = 0; i < AT_ONCE; i++) {
            if (i > 0 && number + i * step >= end) break;
#pragma unroll
            for (u32 k = 0; k < WORDS; k++)
                store_word(words_of(scratch, number + i * step) + k, 0);
            const u32 half0 = (u32)word[i][0];
            a = combine(a, __uint_as_float(half0));
        }
    }
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

__device__ __forceinline__ float load_single(const element *from)
{
    float word[1];
    asm volatile("ld.global.nc.L1::no_allocate.f32 %0, [%1];"
                 : "=f"(word[0])
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
        if (column_of<false>(0) < columns) v.word[0] = load_single(from + column_of<false>(0));
        if (column_of<false>(1) < columns) v.word[1] = load_single(from + column_of<false>(1));
        if (column_of<false>(2) < columns) v.word[2] = load_single(from + column_of<false>(2));
        if (column_of<false>(3) < columns) v.word[3] = load_single(from + column_of<false>(3));
        return v;
    }
    return load_vector((u64)(from + column_of<WHOLE>(0)));
}

// Loads a vector that is there. Of one that is not, nothing is read, and nothing is to be taken.
__device__ __forceinline__ vector load_vector_if(bool there, u64 from)
{
    vector v = {};
    asm volatile("{ .reg .pred p; setp.ne.u32 p, %5, 0; @p ld.global.nc.L1::no_allocate.v4.f32 {%0, %1, %2, %3}, [%4]; }"
                 : "+f"(v.word[0]), "+f"(v.word[1]), "+f"(v.word[2]), "+f"(v.word[3])
                 : "l"(from), "r"((u32)(there)));
    return v;
}

__device__ __forceinline__ float load_single_if(bool there, const element *from)
{
    float word[1] = {0};
    asm volatile("{ .reg .pred p; setp.ne.u32 p, %2, 0; @p ld.global.nc.L1::no_allocate.f32 %0, [%1]; }"
                 : "+f"(word[0])
                 : "l"(from), "r"((u32)(there)));
    return word[0];
}

// One element of each of this thread's columns, if the row is there: else nothing is read.
template <bool WHOLE>
__device__ __forceinline__ vector load_columns_if(bool there, const element *from, u32 columns)
{
    if (!WHOLE) {
        vector v = {};
        v.word[0] = load_single_if(there && column_of<false>(0) < columns, from + column_of<false>(0));
        v.word[1] = load_single_if(there && column_of<false>(1) < columns, from + column_of<false>(1));
        v.word[2] = load_single_if(there && column_of<false>(2) < columns, from + column_of<false>(2));
        v.word[3] = load_single_if(there && column_of<false>(3) < columns, from + column_of<false>(3));
        return v;
    }
    return load_vector_if(there, (u64)(from + column_of<WHOLE>(0)));
}

// Combines this thread's share of its columns with a. Of the `count` elements from `from` on,
// tiles are dealt round-robin to the splits; a thread takes those DEPTH apart.
template <bool WHOLE>
__device__ __forceinline__ void reduce_share(accumulator (&a)[VEC], const element *from, u64 count,
                                             u64 step, u32 columns,
                                             const share &mine)
{
    constexpr u32 LOADS = WHOLE ? UNROLL : UNROLL > VEC ? UNROLL / VEC : 1;
    constexpr u64 TILE = LOADS * DEPTH;
    const u64 first = mine.split * TILE + along(), next = mine.splits * TILE;
    const u64 stride = DEPTH * step, skip = (next - TILE) * step;
    const element *at = from + first * step;
    accumulator part[LANES];
#pragma unroll
    for (u32 j = 0; j < LANES; j++) part[j] = 0.0f;
    if (column_of<WHOLE>(0) >= columns) count = 0;
    u64 e = first;
    // Whole tiles: all of the block's threads agree on which these are.
    for (; WHOLE && e - along() + TILE <= count; e += next) {
        // All loads before the first use.
        vector v[LOADS];
#pragma unroll
        for (u32 i = 0; i < LOADS; i++, at += stride) v[i] = load_columns<WHOLE>(at, columns);
        at += skip;
#pragma unroll
        for (u32 i = 0; i < LOADS; i++) take(part, v[i]);
    }
    // What is left of a tile, and all tiles of single loads: NVRTC takes long for a copy of its own.
    for (; e < count; e += next) {
        const u32 left = count - e < TILE ? (u32)(count - e) : (u32)TILE;
        vector v[LOADS];
#pragma unroll
        for (u32 i = 0; i < LOADS; i++, at += stride)
            v[i] = load_columns_if<WHOLE>(i * DEPTH < left, at, columns);
#pragma unroll
        for (u32 i = 0; i < LOADS; i++)
            if (i * DEPTH < left) take(part, v[i]);
        if (WHOLE) break;
        at += skip;
    }
#pragma unroll
    for (u32 j = 0; j < VEC; j++) a[j] = combine(a[j], part[j]);
}

// The threads' values meet in shared memory: of each column ROWS values, after those of a warp are
// combined.
constexpr u32 ROWS = WIDTH < 32 ? BLOCK / 32 : DEPTH;  // results that a thread, a group or a block takes at once or one after the other
constexpr u32 SHARED = ROWS * STRIP > BLOCK ? ROWS * STRIP : BLOCK;  // values of a block in shared memory

static_assert(SHARED * sizeof(accumulator) <= 49152, "");

// Leaves in shared memory what this thread has of its columns.
__device__ __forceinline__ void store_columns(accumulator *shared, accumulator (&a)[VEC], bool whole)
{
    const u32 first = whole ? across() * VEC : across(), apart = whole ? 1 : WIDTH;
#pragma unroll
    for (u32 j = 0; j < VEC; j++) a[j] = combine(a[j], __shfl_down_sync(0xffffffff, a[j], 16));
#pragma unroll
    for (u32 j = 0; j < VEC; j++) a[j] = combine(a[j], __shfl_down_sync(0xffffffff, a[j], 8));
#pragma unroll
    for (u32 j = 0; j < VEC; j++) a[j] = combine(a[j], __shfl_down_sync(0xffffffff, a[j], 4));
    if (threadIdx.x % 32 >= WIDTH) return;
    const u32 row = threadIdx.x / 32;
#pragma unroll
    for (u32 j = 0; j < VEC; j++) shared[row * STRIP + first + j * apart] = a[j];
}

// The combination of all rows' values of that column, in the order of the rows.
__device__ __forceinline__ accumulator load_column(const accumulator *shared, u32 column)
{
    accumulator a = shared[column];
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
    for (u32 j = 0; j < VEC; j++) a[j] = 0.0f;
    reduce_share<WHOLE>(a, from, e.count, e.step, columns, mine);
}

constexpr u32 GROUPS = 16;  // of threads with a column each

// The first group's threads get the combinations of all groups' values. All threads of the block
// call it, behind a barrier if shared memory was in use.
__device__ __forceinline__ accumulator reduce_groups(accumulator *shared, accumulator a)
{
    a = combine(a, __shfl_down_sync(0xffffffff, a, 16));
    const u32 group = threadIdx.x / 32, column = threadIdx.x % 32;
    if (column < STRIP) shared[group * STRIP + column] = a;
    __syncthreads();
    if (threadIdx.x < STRIP) {
#pragma unroll
        for (u32 i = 1; i < 8; i++) a = combine(a, shared[i * STRIP + threadIdx.x]);
    }
    return a;
}

// Makes the results of a strip from what its threads have in shared memory, or hands on what this
// block has of it. All threads of the block call it, behind a barrier.
__device__ __forceinline__ void finish_strip(accumulator *shared, const share &mine, void *scratch,
                                             float *output, u64 count,
                                             u32 columns)
{
    const bool leaves = mine.split < mine.splits - 1;
    const u32 apart = (u32)mine.sets * STRIP, first = (u32)mine.set * STRIP, end = first + mine.split * apart;
    const u32 group = mine.splits > 1 && !leaves ? threadIdx.x / STRIP % GROUPS : 0;
    for (u32 c = threadIdx.x - group * STRIP; c < STRIP; c += BLOCK) {
        accumulator a = 0.0f;
        if (group == 0) a = load_column(shared, c);
        if (leaves) {
            leave(scratch, end + c, a);
            continue;
        }
        if (mine.splits > 1) {
            collect(a, scratch, first + group * apart + c, GROUPS * apart, end + c);
            __syncthreads();
            a = reduce_groups(shared, a);
            if (group > 0) return;
        }
        if (c < columns) output[c] = a;
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

extern "C" __global__ void __launch_bounds__(256, 4)
redtune_reduce(const element *input, extents e, float *output, void *scratch, u32 overlaps)
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
        float *to = output + at.outer * e.inner + at.first;
        accumulator a[VEC];
        const bool whole = aligned && columns % VEC == 0;
        if (whole)
            reduce_columns<true>(a, from, e, columns, mine);
        else
            reduce_columns<false>(a, from, e, columns, mine);
        store_columns(shared, a, whole);
        __syncthreads();
        finish_strip(shared, mine, scratch, to, e.count, columns);
        __syncthreads();
    }
}
