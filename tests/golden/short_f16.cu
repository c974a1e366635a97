// redtune: the max_at of f16 into f16, by the template "short" with
// block=256,row=4,vec=8,unroll=4,load=plain
//
// output[r] = the greatest of x[0] ... x[n-1] and the first index of it
// for each of `outer` rows r: n = count elements side by side from input[r * outer_step] on,
// wherever that is. Start it with 256 threads per block, on any number of blocks.

typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;
struct arg {
    u32 key;  // the least wins
    u64 index;
};
typedef unsigned short element;  // in memory
typedef float value;  // in registers
typedef arg accumulator;

// As model/launch.h has it.
struct arguments {
    u64 input, output;
    double scalar[2];
    u64 scalars, count, resumes;
};

static_assert(sizeof(arguments) == 56, "");

struct values {
    unsigned short *first_output;
    i64 *second_output;
};

__device__ __forceinline__ values values_of(const arguments &rest, const void *input,
                                            unsigned short *output)
{
    values given;
    given.first_output = output;
    given.second_output = (i64 *)rest.output;
    return given;
}

constexpr u32 BLOCK = 256;  // threads per block
constexpr u32 ROW = 4;  // elements of a row that is loaded as a whole
constexpr u32 VEC = 8;  // elements per load
constexpr u32 EACH = VEC / ROW;  // rows per load
constexpr u32 UNROLL = 4;  // independent loads in flight per thread
constexpr u32 STRIP = BLOCK * EACH;  // rows of a block's loads that lie side by side
constexpr u32 SET = UNROLL * STRIP;  // rows that a block takes at a time
constexpr u32 LANES = VEC;

constexpr u64 LOAD_BYTES = VEC * 2;

static_assert(sizeof(element) == 2 && LOAD_BYTES <= 16 && VEC % ROW == 0, "");

// As model/launch.h has it. Here inner and step are 1.
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

__device__ __forceinline__ vector load_vector(u64 from, const values &given)
{
    vector v;
    asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.word[0]), "=r"(v.word[1]), "=r"(v.word[2]), "=r"(v.word[3])
                 : "l"(from));
    return v;
}

__device__ __forceinline__ value load_element(const element *from)
{
    u32 word[1];
    asm volatile("ld.global.u16 %0, [%1];"
                 : "=r"(word[0])
                 : "l"(from));
    return half_to_float(word[0]);
}

__device__ __forceinline__ u32 key_of(float x)
{
    const u32 bits = __float_as_uint(x + 0.0f);
    const u32 ordered = bits & 0x80000000u ? ~bits : bits | 0x80000000u;
    return x == x ? ~ordered : 0;
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

__device__ __forceinline__ float value_of(arg a)
{
    if (a.index == ~0ull) return __int_as_float(0xff800000);
    const u32 ordered = ~a.key;
    const u32 bits = ordered & 0x80000000u ? ordered ^ 0x80000000u : ~ordered;
    return __uint_as_float(bits);
}

__device__ __forceinline__ accumulator combine(accumulator a, accumulator b, const values &given)
{
    return first_least(a, b);
}

// Where the second result goes whose first goes there.
__device__ __forceinline__ i64 *second_result(unsigned short *output, const values &given)
{
    return given.second_output + (output - given.first_output);
}

__device__ __forceinline__ void write(unsigned short *output, accumulator a, u64 count,
                                      const values &given)
{
    i64 *other = second_result(output, given);
    *output = float_to_half(value_of(a));
    *other = (i64)a.index;
}

// The first value of a row that no other goes before, and where it is.
struct best {
    value x;
    u64 index;
};

__device__ __forceinline__ best take_element(best b, value x, u64 index)
{
    // A NaN goes before all but another NaN.
    const bool before = x > b.x || (x != x && b.x == b.x);
    return before ? best{x, index} : b;
}

// Results that are written together.
struct alignas(4) stored {
    unsigned short value[2];
};

struct alignas(16) other_stored {
    i64 value[2];
};

// Makes the results of the rows of a load.
__device__ __forceinline__ void reduce_vector(const vector &v, const extents &e,
                                              unsigned short *output, const values &given)
{
    stored r0;
    other_stored t0;
    {
        best a{half_to_float(v.word[0]), 0};
        a = take_element(a, half_to_float(v.word[0] >> 16), 1);
        a = take_element(a, half_to_float(v.word[1]), 2);
        a = take_element(a, half_to_float(v.word[1] >> 16), 3);
        r0.value[0] = float_to_half((a.x + 0));
        t0.value[0] = (i64)a.index;
    }
    {
        best a{half_to_float(v.word[2]), 0};
        a = take_element(a, half_to_float(v.word[2] >> 16), 1);
        a = take_element(a, half_to_float(v.word[3]), 2);
        a = take_element(a, half_to_float(v.word[3] >> 16), 3);
        r0.value[1] = float_to_half((a.x + 0));
        t0.value[1] = (i64)a.index;
    }
    *(stored *)(output + 0) = r0;
    *(other_stored *)(second_result(output, given) + 0) = t0;
}

// Makes the results of the rows of N loads of a thread, those of a block side by side. Loads and
// results are aligned.
template <u32 N>
__device__ __forceinline__ void reduce_vectors(const element *from, const extents &e,
                                               unsigned short *output, const values &given)
{
    // All loads before the first use.
    vector v[N];
#pragma unroll
    for (u32 i = 0; i < N; i++) v[i] = load_vector((u64)(from + i * BLOCK * VEC), given);
#pragma unroll
    for (u32 i = 0; i < N; i++) reduce_vector(v[i], e, output + i * STRIP, given);
}

// Makes the result of one row, wherever its elements are.
__device__ __forceinline__ void reduce_row(const element *from, const extents &e,
                                           unsigned short *output, const values &given)
{
    best a = best{__int_as_float(0xff800000), ~0ull};
    for (u64 i = 0; i < e.count; i++) {
        const value x = load_element(from + i);
        a = i == 0 ? best{x, 0} : take_element(a, x, i);
    }
    *output = float_to_half((a.x + 0));
    *second_result(output, given) = (i64)a.index;
}

extern "C" __global__ void __launch_bounds__(256)
redtune_reduce(const element *input, extents e, unsigned short *output, void *scratch, u32 overlaps, arguments rest)
{
    const values given = values_of(rest, input, output);
    bool packed = e.count == ROW && (e.outer_step == ROW || e.outer == 1);
    packed = packed && (u64)input % LOAD_BYTES == 0;
    packed = packed && (u64)output % sizeof(stored) == 0;
    packed = packed && (u64)second_result(output, given) % sizeof(other_stored) == 0;
    for (u64 first = (u64)blockIdx.x * SET; first < e.outer; first += (u64)gridDim.x * SET) {
        const u64 left = e.outer - first;
        const element *from = input + first * e.outer_step;
        const u32 place = threadIdx.x * EACH;
        if (packed && left >= SET) {
            reduce_vectors<UNROLL>(from + place * ROW, e, output + first + place, given);
            continue;
        }
        // The last rows, or such as are not packed.
        const u32 rows = left < SET ? left : SET, body = packed ? rows / EACH * EACH : 0;
        for (u32 r = place; r < body; r += STRIP)
            reduce_vectors<1>(from + r * ROW, e, output + first + r, given);
        for (u32 r = body + threadIdx.x; r < rows; r += BLOCK)
            reduce_row(from + r * e.outer_step, e, output + first + r, given);
    }
}
