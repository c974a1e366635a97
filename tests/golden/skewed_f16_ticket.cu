// redtune: the sum of f16 into f32, by the template "skewed" with
// block=256,width=32,vec=8,unroll=4,strips=1,load=no_allocate,finish=ticket
//
// output[o * inner + i] = x[0] + ... + x[n-1]
// for each of `outer` times `inner` columns (o, i): x[e] is input[o * outer_step + e * step + i],
// for n = count elements e, wherever that is. Start it with 256 threads per block, on any
// number of blocks:
// strips of 248 columns are shared by as many as there are for each.

typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;
typedef unsigned short element;  // in memory
typedef float value;  // in registers
typedef float accumulator;

constexpr u32 BLOCK = 256;  // threads per block
constexpr u32 WIDTH = 32;  // threads side by side, over neighbouring columns
constexpr u32 DEPTH = BLOCK / WIDTH;  // threads along the reduced axis
constexpr u32 VEC = 8;  // elements per load
constexpr u32 STRIP = WIDTH * VEC;  // columns that loads bring of each row
constexpr u32 MADE = STRIP - VEC;  // columns of a strip: these are among them in each row
constexpr u32 UNROLL = 4;  // elements of each column in flight per thread
constexpr u32 LANES = VEC;  // accumulators per thread
constexpr u32 SHARED = DEPTH * STRIP;

constexpr u64 LOAD_BYTES = VEC * 2;

static_assert(sizeof(element) == 2 && sizeof(accumulator) == 4, "");
static_assert(LOAD_BYTES <= 16 && BLOCK % 32 == 0 && BLOCK % WIDTH == 0, "");
static_assert(DEPTH % VEC == 0, "the rows of a thread have one skew");
static_assert(SHARED * sizeof(accumulator) <= 49152, "");

// As model/launch.h has it.
struct extents {
    u64 count, outer, inner, outer_step, step;
};

static_assert(sizeof(extents) == 40, "");

struct vector {
    u32 word[4];
};

__device__ __forceinline__ float half_to_float(u32 bits)
{
    float x;
    asm("{ .reg .b16 h; cvt.u16.u32 h, %1; cvt.f32.f16 %0, h; }" : "=f"(x) : "r"(bits));
    return x;
}

__device__ __forceinline__ vector load_vector(u64 from)
{
    vector v;
    asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.word[0]), "=r"(v.word[1]), "=r"(v.word[2]), "=r"(v.word[3])
                 : "l"(from));
    return v;
}

// Loads a vector that is there. Of one that is not, nothing is read, and nothing is to be taken.
__device__ __forceinline__ vector load_vector_if(bool there, u64 from)
{
    vector v = {};
    asm volatile("{ .reg .pred p; setp.ne.u32 p, %5, 0; @p ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4]; }"
                 : "+r"(v.word[0]), "+r"(v.word[1]), "+r"(v.word[2]), "+r"(v.word[3])
                 : "l"(from), "r"((u32)(there)));
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
    part[0] = combine(part[0], map(half_to_float(v.word[0])));
    part[1] = combine(part[1], map(half_to_float(v.word[0] >> 16)));
    part[2] = combine(part[2], map(half_to_float(v.word[1])));
    part[3] = combine(part[3], map(half_to_float(v.word[1] >> 16)));
    part[4] = combine(part[4], map(half_to_float(v.word[2])));
    part[5] = combine(part[5], map(half_to_float(v.word[2] >> 16)));
    part[6] = combine(part[6], map(half_to_float(v.word[3])));
    part[7] = combine(part[7], map(half_to_float(v.word[3] >> 16)));
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
            value[i] = __ldcg(partials(scratch) + n);
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

// The skews of a strip: by how many elements its first column is behind a multiple of LOAD_BYTES.
struct skews {
    u32 first, step;  // in row 0, and how many more in the next one
};

__device__ __forceinline__ u32 skew_of(const skews &skew, u32 row)
{
    return (skew.first + row * skew.step) % VEC;
}

// What a thread takes of each of its rows: VEC neighbours, the first at a multiple of LOAD_BYTES.
// Those from begin up to end are columns of the problem.
struct window {
    const element *from;  // in row 0
    u32 begin, end;
    bool packed;  // neighbours that are no columns are elements of the row before or behind
};

// That of a strip from column `first` on, which is at `from` in row 0: there are `left` columns
// from there on, and the strip has `columns` of them. It is empty if it reaches none of these.
__device__ __forceinline__ window window_of(const element *from, u64 first, u64 left, u32 columns,
                                            const skews &skew, bool packed)
{
    const u32 behind = skew_of(skew, along()), place = across() * VEC;
    window w = {from + place - behind, 0, VEC, packed};
    if (first == 0 && place < behind) w.begin = behind - place;
    if (place + VEC > left + behind) w.end = left + behind - place;
    if (place >= columns + behind) w.end = w.begin;
    return w;
}

// Loads reach into the next row or the one before, and no further.
__device__ __forceinline__ bool is_packed(const extents &e)
{
    return e.step == e.inner && e.inner >= VEC;
}

// The window's elements of a row, if that is there: else nothing is read.
__device__ __forceinline__ vector load_part(bool there, const element *from, const window &w)
{
    vector v = {};
    {
        u32 word[1] = {0};
        asm volatile("{ .reg .pred p; setp.ne.u32 p, %2, 0; @p ld.global.nc.L1::no_allocate.u16 %0, [%1]; }"
                 : "+r"(word[0])
                 : "l"(from + 0), "r"((u32)(there && 0 >= w.begin && 0 < w.end)));
        v.word[0] |= word[0] << 0;
    }
    {
        u32 word[1] = {0};
        asm volatile("{ .reg .pred p; setp.ne.u32 p, %2, 0; @p ld.global.nc.L1::no_allocate.u16 %0, [%1]; }"
                 : "+r"(word[0])
                 : "l"(from + 1), "r"((u32)(there && 1 >= w.begin && 1 < w.end)));
        v.word[0] |= word[0] << 16;
    }
    {
        u32 word[1] = {0};
        asm volatile("{ .reg .pred p; setp.ne.u32 p, %2, 0; @p ld.global.nc.L1::no_allocate.u16 %0, [%1]; }"
                 : "+r"(word[0])
                 : "l"(from + 2), "r"((u32)(there && 2 >= w.begin && 2 < w.end)));
        v.word[1] |= word[0] << 0;
    }
    {
        u32 word[1] = {0};
        asm volatile("{ .reg .pred p; setp.ne.u32 p, %2, 0; @p ld.global.nc.L1::no_allocate.u16 %0, [%1]; }"
                 : "+r"(word[0])
                 : "l"(from + 3), "r"((u32)(there && 3 >= w.begin && 3 < w.end)));
        v.word[1] |= word[0] << 16;
    }
    {
        u32 word[1] = {0};
        asm volatile("{ .reg .pred p; setp.ne.u32 p, %2, 0; @p ld.global.nc.L1::no_allocate.u16 %0, [%1]; }"
                 : "+r"(word[0])
                 : "l"(from + 4), "r"((u32)(there && 4 >= w.begin && 4 < w.end)));
        v.word[2] |= word[0] << 0;
    }
    {
        u32 word[1] = {0};
        asm volatile("{ .reg .pred p; setp.ne.u32 p, %2, 0; @p ld.global.nc.L1::no_allocate.u16 %0, [%1]; }"
                 : "+r"(word[0])
                 : "l"(from + 5), "r"((u32)(there && 5 >= w.begin && 5 < w.end)));
        v.word[2] |= word[0] << 16;
    }
    {
        u32 word[1] = {0};
        asm volatile("{ .reg .pred p; setp.ne.u32 p, %2, 0; @p ld.global.nc.L1::no_allocate.u16 %0, [%1]; }"
                 : "+r"(word[0])
                 : "l"(from + 6), "r"((u32)(there && 6 >= w.begin && 6 < w.end)));
        v.word[3] |= word[0] << 0;
    }
    {
        u32 word[1] = {0};
        asm volatile("{ .reg .pred p; setp.ne.u32 p, %2, 0; @p ld.global.nc.L1::no_allocate.u16 %0, [%1]; }"
                 : "+r"(word[0])
                 : "l"(from + 7), "r"((u32)(there && 7 >= w.begin && 7 < w.end)));
        v.word[3] |= word[0] << 16;
    }
    return v;
}

// Loads of N rows, `stride` elements apart: those that are `whole` in some threads and parts in others.
// Of rows from `left` on nothing is read.
template <u32 N>
__device__ __forceinline__ void load_rows(vector (&v)[N], const element *at, u64 stride, u64 left,
                                          const window &w, bool whole)
{
    if (whole) {
#pragma unroll
        for (u32 i = 0; i < N; i++, at += stride)
            v[i] = load_vector_if(i * DEPTH < left, (u64)at);
    } else {
#pragma unroll
        for (u32 i = 0; i < N; i++, at += stride)
            v[i] = load_part(i * DEPTH < left, at, w);
    }
}

// Combines this thread's share of its columns with a. Of the `count` rows of its window tiles are
// dealt round-robin to the splits; a thread takes rows DEPTH apart.
__device__ __forceinline__ void reduce_share(accumulator (&a)[VEC], const window &w, u64 count,
                                             u64 step, const share &mine)
{
    constexpr u64 TILE = UNROLL * DEPTH;
    const u64 first = mine.split * TILE + along(), next = mine.splits * TILE;
    const u64 stride = DEPTH * step;
    const element *at = w.from + first * step;
    const bool whole = w.end - w.begin == VEC;
    accumulator part[LANES];
#pragma unroll
    for (u32 j = 0; j < LANES; j++) part[j] = 0.0f;
    if (w.begin >= w.end) count = 0;
    for (u64 e = first; e < count; e += next, at += next * step) {
        // All loads before the first use. Between rows that are packed there is nothing else.
        const bool between = w.packed && e > 0 && e + (UNROLL - 1) * DEPTH + 1 < count;
        const u64 left = count - e;
        vector v[UNROLL];
        load_rows(v, at, stride, left, w, whole || between);
#pragma unroll
        for (u32 i = 0; i < UNROLL; i++)
            if (i * DEPTH < left) take(part, v[i]);
    }
#pragma unroll
    for (u32 j = 0; j < VEC; j++) a[j] = combine(a[j], part[j]);
}

// This thread's share of the columns of its window.
__device__ __forceinline__ void reduce_window(accumulator (&a)[VEC], const window &w,
                                              const extents &e, const share &mine)
{
#pragma unroll
    for (u32 j = 0; j < VEC; j++) a[j] = 0.0f;
    reduce_share(a, w, e.count, e.step, mine);
}

// The combination of all rows' values of that column of the strip, in the order of the rows of
// threads. Columns from MADE on have values that nothing is made of.
__device__ __forceinline__ accumulator load_column(const accumulator *shared,
                                                   u32 column, const skews &skew)
{
    accumulator a = shared[(column + skew_of(skew, 0)) % STRIP];
#pragma unroll
    for (u32 row = 1; row < DEPTH; row++)
        a = combine(a, shared[row * STRIP + (column + skew_of(skew, row)) % STRIP]);
    return a;
}

__device__ __forceinline__ void store_values(accumulator *shared, const accumulator (&a)[VEC])
{
#pragma unroll
    for (u32 j = 0; j < VEC; j++) shared[threadIdx.x * VEC + j] = a[j];
}

constexpr u32 GROUPS = 1;  // of threads with a column each

// The first group's threads get the combinations of all groups' values. All threads of the block
// call it, behind a barrier if shared memory was in use.
__device__ __forceinline__ accumulator reduce_groups(accumulator *shared, accumulator a)
{
    return a;
}

// Makes the results of a strip from what its threads have in shared memory, or hands on what this
// block has of it. All threads of the block call it, behind a barrier.
__device__ __forceinline__ void finish_strip(accumulator *shared, const share &mine, void *scratch,
                                             float *output, u64 count,
                                             u32 columns, const skews &skew)
{
    if (mine.splits > 1) {
        const u32 step = (u32)mine.sets * STRIP, first = (u32)mine.set * STRIP;
        const u32 end = first + mine.splits * step;
        for (u32 c = threadIdx.x; c < STRIP; c += BLOCK)
            leave(scratch, first + mine.split * step + c, load_column(shared, c, skew));
        if (!draws_last(scratch, mine)) return;
        const u32 group = threadIdx.x / STRIP % GROUPS;
        for (u32 c = threadIdx.x - group * STRIP; c < STRIP; c += BLOCK) {
            accumulator a = 0.0f;
            collect(a, scratch, first + group * step + c, GROUPS * step, end + c);
            if (c < columns) output[c] = a;
        }
        return;
    }
    for (u32 c = threadIdx.x; c < STRIP && c < columns; c += BLOCK) {
        const accumulator a = load_column(shared, c, skew);
        output[c] = a;
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
    const u64 first = number * MADE, left = e.inner - first;
    if (strips > FEW || e.inner % MADE == 0) return strip{outer, first, left < MADE ? (u32)left : MADE};
    const u32 unit = MADE % LINE == 0 && e.step % LINE == 0       ? LINE
                     : MADE % SECTOR == 0 && e.step % SECTOR == 0 ? SECTOR
                                                                     : VEC;
    const u32 inner = e.inner, units = (inner + unit - 1) / unit, n = strips, k = number;
    const u32 begin = k * units / n * unit, end = (k + 1) * units / n * unit;
    return strip{outer, begin, (end < inner ? end : inner) - begin};
}

extern "C" __global__ void __launch_bounds__(256)
redtune_reduce(const element *input, extents e, float *output, void *scratch, u32 overlaps)
{
    __shared__ alignas(16) accumulator shared[SHARED];
    const u64 strips = e.inner / MADE + (e.inner % MADE > 0);
    for (share mine = share_of(e.outer * strips); mine.set < mine.sets; mine.set += gridDim.x) {
        const strip at = strip_of(mine.set, strips, e);
        const u64 first = at.first, left = e.inner - first;
        const u32 columns = at.columns;
        const element *from = input + at.outer * e.outer_step + first;
        const skews skew = {(u32)((u64)from / sizeof(element)), (u32)e.step};
        accumulator a[VEC];
        reduce_window(a, window_of(from, first, left, columns, skew, is_packed(e)), e, mine);
        store_values(shared, a);
        __syncthreads();
        finish_strip(shared, mine, scratch, output + at.outer * e.inner + first, e.count, columns, skew);
        __syncthreads();
    }
}
