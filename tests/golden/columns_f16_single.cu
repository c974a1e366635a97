// redtune: the max of f16 into f16, by the template "columns" with
// block=256,width=256,vec=8,unroll=8,load=no_allocate,finish=single
//
// output[o * inner + i] = the greatest of x[0] ... x[n-1]; NaN if one is
// for each of `outer` times `inner` columns (o, i): x[e] is input[o * outer_step + e * step + i],
// for n = count elements e, wherever that is. Start it with 256 threads per block, on any
// number of blocks.

typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;
typedef unsigned short element;  // in memory
typedef float value;  // in registers
typedef float accumulator;

constexpr u32 BLOCK = 256;  // threads per block
constexpr u32 WIDTH = 256;  // threads side by side, over neighbouring columns
constexpr u32 DEPTH = BLOCK / WIDTH;  // threads along the reduced axis
constexpr u32 VEC = 8;  // columns per thread
constexpr u32 STRIP = WIDTH * VEC;  // columns that a block takes at a time
constexpr u32 UNROLL = 8;  // elements of each column in flight per thread
constexpr u32 LANES = VEC;  // accumulators per thread

constexpr u64 LOAD_BYTES = VEC * 2;

static_assert(sizeof(element) == 2 && sizeof(accumulator) == 4, "");
static_assert(LOAD_BYTES <= 16 && BLOCK % 32 == 0 && BLOCK % WIDTH == 0, "");

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

__device__ __forceinline__ unsigned short float_to_half(float x)
{
    unsigned short bits;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x));
    return bits;
}

__device__ __forceinline__ vector load_vector(u64 from)
{
    vector v;
    asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.word[0]), "=r"(v.word[1]), "=r"(v.word[2]), "=r"(v.word[3])
                 : "l"(from));
    return v;
}

__device__ __forceinline__ float nan_max(float a, float b)
{
    asm("max.NaN.f32 %0, %0, %1;" : "+f"(a) : "f"(b));
    return a;
}

__device__ __forceinline__ accumulator combine(accumulator a, accumulator b)
{
    return nan_max(a, b);
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
    return share{sets, blockIdx.x, 1, 0};
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
    asm volatile("ld.global.nc.L1::no_allocate.u16 %0, [%1];"
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
        if (column_of<false>(1) < columns) v.word[0] |= load_single(from + column_of<false>(1)) << 16;
        if (column_of<false>(2) < columns) v.word[1] |= load_single(from + column_of<false>(2)) << 0;
        if (column_of<false>(3) < columns) v.word[1] |= load_single(from + column_of<false>(3)) << 16;
        if (column_of<false>(4) < columns) v.word[2] |= load_single(from + column_of<false>(4)) << 0;
        if (column_of<false>(5) < columns) v.word[2] |= load_single(from + column_of<false>(5)) << 16;
        if (column_of<false>(6) < columns) v.word[3] |= load_single(from + column_of<false>(6)) << 0;
        if (column_of<false>(7) < columns) v.word[3] |= load_single(from + column_of<false>(7)) << 16;
        return v;
    }
    return load_vector((u64)(from + column_of<WHOLE>(0)));
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

__device__ __forceinline__ u32 load_single_if(bool there, const element *from)
{
    u32 word[1] = {0};
    asm volatile("{ .reg .pred p; setp.ne.u32 p, %2, 0; @p ld.global.nc.L1::no_allocate.u16 %0, [%1]; }"
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
        v.word[0] |= load_single_if(there && column_of<false>(1) < columns, from + column_of<false>(1)) << 16;
        v.word[1] |= load_single_if(there && column_of<false>(2) < columns, from + column_of<false>(2)) << 0;
        v.word[1] |= load_single_if(there && column_of<false>(3) < columns, from + column_of<false>(3)) << 16;
        v.word[2] |= load_single_if(there && column_of<false>(4) < columns, from + column_of<false>(4)) << 0;
        v.word[2] |= load_single_if(there && column_of<false>(5) < columns, from + column_of<false>(5)) << 16;
        v.word[3] |= load_single_if(there && column_of<false>(6) < columns, from + column_of<false>(6)) << 0;
        v.word[3] |= load_single_if(there && column_of<false>(7) < columns, from + column_of<false>(7)) << 16;
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
    constexpr u64 next = TILE;
    const u64 first = along();
    const u64 stride = DEPTH * step, skip = (next - TILE) * step;
    const element *at = from + first * step;
    accumulator part[LANES];
#pragma unroll
    for (u32 j = 0; j < LANES; j++) part[j] = __int_as_float(0xff800000);
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
        for (u32 i = 0; i < LOADS; i++) take(part, v[i]);
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
            if (i * DEPTH < left) take(part, v[i]);
    }
#pragma unroll
    for (u32 j = 0; j < VEC; j++) a[j] = combine(a[j], part[j]);
}

// This thread's share of a strip of `columns` columns, from element 0 of the first on.
template <bool WHOLE>
__device__ __forceinline__ void reduce_columns(accumulator (&a)[VEC], const element *from,
                                               const extents &e, u32 columns, const share &mine)
{
#pragma unroll
    for (u32 j = 0; j < VEC; j++) a[j] = __int_as_float(0xff800000);
    reduce_share<WHOLE>(a, from, e.count, e.step, columns, mine);
}

struct alignas(16) stored {
    unsigned short value[8];
};

// Writes this thread's results: neighbours together, where that is aligned.
template <bool WHOLE>
__device__ __forceinline__ void write_columns(unsigned short *output, const accumulator (&a)[VEC],
                                              u64 count, u32 columns)
{
    if (WHOLE && (u64)output % sizeof(stored) == 0) {
        if (column_of<WHOLE>(0) >= columns) return;
#pragma unroll
        for (u32 j = 0; j < VEC; j += 8) {
            stored s;
#pragma unroll
            for (u32 i = 0; i < 8; i++) s.value[i] = float_to_half(a[j + i]);
            *(stored *)(output + column_of<WHOLE>(j)) = s;
        }
    } else {
#pragma unroll
        for (u32 j = 0; j < VEC; j++) {
            const u32 column = column_of<WHOLE>(j);
            if (column < columns) output[column] = float_to_half(a[j]);
        }
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
redtune_reduce(const element *input, extents e, unsigned short *output, void *scratch, u32 overlaps)
{
    // What the arguments alone say is made before the kernel waits for the one before it.
    const u64 strips = e.inner / STRIP + (e.inner % STRIP > 0);
    share mine = share_of(e.outer * strips);
    strip at = strip_of(mine.set, strips, e);
    // Steps that are not used, of one outer or of one element, keep nothing from being aligned.
    const u64 steps = (e.outer > 1 ? e.outer_step : 0) | (e.count > 1 ? e.step : 0);
    const bool aligned = ((u64)input | steps * sizeof(element)) % LOAD_BYTES == 0;
    for (; mine.set < mine.sets; mine.set += gridDim.x, at = strip_of(mine.set, strips, e)) {
        const u32 columns = at.columns;
        const element *from = input + at.outer * e.outer_step + at.first;
        unsigned short *to = output + at.outer * e.inner + at.first;
        if (aligned && columns % VEC == 0) {
            accumulator a[VEC];
            reduce_columns<true>(a, from, e, columns, mine);
            write_columns<true>(to, a, e.count, columns);
        }
        else {
            accumulator a[VEC];
            reduce_columns<false>(a, from, e, columns, mine);
            write_columns<false>(to, a, e.count, columns);
        }
    }
}
