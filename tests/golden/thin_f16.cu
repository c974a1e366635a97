// redtune: the mean of f16 into f32, by the template "thin" with
// block=256,vec=8,strips=4,unroll=1,load=no_allocate
//
// output[o * inner + i] = (x[0] + ... + x[n-1]) / n
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
constexpr u32 VEC = 8;  // columns per load
constexpr u32 STRIPS = 4;  // strips at once
constexpr u32 UNROLL = 1;  // elements of each column in flight per thread
constexpr u32 STRIP = BLOCK * VEC;  // columns
constexpr u32 SET = STRIPS * STRIP;  // columns that a block takes at a time
constexpr u32 LANES = VEC;

constexpr u64 LOAD_BYTES = VEC * 2;

static_assert(sizeof(element) == 2 && LOAD_BYTES <= 16, "");

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

__device__ __forceinline__ value load_element(const element *from)
{
    u32 word[1];
    asm volatile("ld.global.nc.L1::no_allocate.u16 %0, [%1];"
                 : "=r"(word[0])
                 : "l"(from));
    return half_to_float(word[0]);
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

// Combines a column's value with the element of that index.
__device__ __forceinline__ accumulator take_element(accumulator a, value x, u64 index)
{
    return combine(a, map(x));
}

__device__ __forceinline__ void take_vector(accumulator (&a)[VEC], const vector &v, u64 index)
{
    a[0] = take_element(a[0], half_to_float(v.word[0]), index);
    a[1] = take_element(a[1], half_to_float(v.word[0] >> 16), index);
    a[2] = take_element(a[2], half_to_float(v.word[1]), index);
    a[3] = take_element(a[3], half_to_float(v.word[1] >> 16), index);
    a[4] = take_element(a[4], half_to_float(v.word[2]), index);
    a[5] = take_element(a[5], half_to_float(v.word[2] >> 16), index);
    a[6] = take_element(a[6], half_to_float(v.word[3]), index);
    a[7] = take_element(a[7], half_to_float(v.word[3] >> 16), index);
}

// Results that are written together.
struct alignas(16) stored {
    float value[4];
};

// Makes the results of VEC neighbouring columns of each of N strips. Loads and results are aligned.
template <u32 N>
__device__ __forceinline__ void reduce_vectors(const element *from, const extents &e,
                                               float *output)
{
    accumulator a[N][VEC];
#pragma unroll
    for (u32 s = 0; s < N; s++)
#pragma unroll
        for (u32 j = 0; j < VEC; j++) a[s][j] = 0.0f;
#pragma unroll 1
    for (u64 i = 0; i < e.count; i += UNROLL, from += UNROLL * e.step) {
        // All loads before the first use. Of rows that are not there nothing is read.
        const u64 left = e.count - i;
        vector v[UNROLL][N];
#pragma unroll
        for (u32 u = 0; u < UNROLL; u++)
#pragma unroll
            for (u32 s = 0; s < N; s++)
                v[u][s] = load_vector_if(u < left, (u64)(from + u * e.step + s * STRIP));
#pragma unroll
        for (u32 u = 0; u < UNROLL; u++)
#pragma unroll
            for (u32 s = 0; s < N; s++)
                if (u < left) take_vector(a[s], v[u][s], i + u);
    }
#pragma unroll
    for (u32 s = 0; s < N; s++)
#pragma unroll
        for (u32 j = 0; j < VEC; j += 4) {
            stored r;
#pragma unroll
            for (u32 k = 0; k < 4; k++)
                r.value[k] = (float)((double)a[s][j + k] / (double)e.count);
            *(stored *)(output + s * STRIP + j) = r;
        }
}

// Makes the result of one column.
__device__ __forceinline__ void reduce_column(const element *from, const extents &e,
                                              float *output)
{
    accumulator a = 0.0f;
#pragma unroll 1
    for (u64 i = 0; i < e.count; i++, from += e.step) a = take_element(a, load_element(from), i);
    *output = (float)((double)a / (double)e.count);
}

extern "C" __global__ void __launch_bounds__(256)
redtune_reduce(const element *input, extents e, float *output, void *scratch, u32 overlaps)
{
    // Steps that are not used, of one outer or of one element, keep nothing from being aligned.
    const u64 steps = (e.outer > 1 ? e.outer_step : 0) | (e.count > 1 ? e.step : 0);
    const bool aligned = ((u64)input | steps * sizeof(element)) % LOAD_BYTES == 0;
    const u64 sets = e.inner / SET + (e.inner % SET > 0);
    for (u64 set = blockIdx.x; set < e.outer * sets; set += gridDim.x) {
        const u64 o = e.outer > 1 ? set / sets : 0, first = (set - o * sets) * SET;
        const u64 left = e.inner - first;
        const element *from = input + o * e.outer_step + first;
        float *to = output + o * e.inner + first;
        const bool whole = aligned && (u64)to % sizeof(stored) == 0;
        const u32 place = threadIdx.x * VEC;
        if (whole && left >= SET) {
            reduce_vectors<STRIPS>(from + place, e, to + place);
            continue;
        }
        // The last columns, or such as are not aligned. Loads of one element lie side by side.
        const u32 columns = left < SET ? left : SET, body = whole ? columns / VEC * VEC : 0;
        for (u32 c = place; c < body; c += STRIP) reduce_vectors<1>(from + c, e, to + c);
        for (u32 c = body + threadIdx.x; c < columns; c += BLOCK)
            reduce_column(from + c, e, to + c);
    }
}
