// redtune: the var of f32 into f32, by the template "short" with
// block=128,row=4,vec=4,unroll=2,load=no_allocate
//
// output[r] = ((x[0] - mean)^2 + ... + (x[n-1] - mean)^2) / (n - ddof)
// for each of `outer` rows r: n = count elements side by side from input[r * outer_step] on,
// wherever that is. Start it with 128 threads per block, on any number of blocks.

typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;
struct record {
    float from;
    float off;
    float m2;
    float n;
};
struct portion {
    float from, sum, squares;
    u32 n;
    bool begun;
};
typedef float element;  // in memory
typedef float value;  // in registers
typedef record accumulator;

// As model/launch.h has it.
struct arguments {
    u64 input, output;
    double scalar[2];
    u64 scalars, count, resumes;
};

static_assert(sizeof(arguments) == 56, "");

struct values {
    double ddof;  // a parameter of the op
};

__device__ __forceinline__ values values_of(const arguments &rest, const void *input,
                                            float *output)
{
    values given;
    given.ddof = rest.scalars ? ((const double *)rest.scalars)[0] : rest.scalar[0];
    return given;
}

constexpr u32 BLOCK = 128;  // threads per block
constexpr u32 ROW = 4;  // elements of a row that is loaded as a whole
constexpr u32 VEC = 4;  // elements per load
constexpr u32 EACH = VEC / ROW;  // rows per load
constexpr u32 UNROLL = 2;  // independent loads in flight per thread
constexpr u32 STRIP = BLOCK * EACH;  // rows of a block's loads that lie side by side
constexpr u32 SET = UNROLL * STRIP;  // rows that a block takes at a time
constexpr u32 LANES = VEC;

constexpr u64 LOAD_BYTES = VEC * 4;

static_assert(sizeof(element) == 4 && LOAD_BYTES <= 16 && VEC % ROW == 0, "");

// As model/launch.h has it. Here inner and step are 1.
struct extents {
    u64 count, outer, inner, outer_step, step;
};

static_assert(sizeof(extents) == 40, "");

struct vector {
    float word[4];
};

__device__ __forceinline__ vector load_vector(u64 from, const values &given)
{
    vector v;
    asm volatile("ld.global.nc.L1::no_allocate.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(v.word[0]), "=f"(v.word[1]), "=f"(v.word[2]), "=f"(v.word[3])
                 : "l"(from));
    return v;
}

__device__ __forceinline__ value load_element(const element *from)
{
    float word[1];
    asm volatile("ld.global.nc.L1::no_allocate.f32 %0, [%1];"
                 : "=f"(word[0])
                 : "l"(from));
    return word[0];
}

__device__ __forceinline__ float reciprocal(float n)
{
    float part;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(part) : "f"(n));
    return part;
}

__device__ __forceinline__ record join_moments(record a, record b)
{
    if (a.n == 0 || b.n == 0) return a.n == 0 ? b : a;
    const float n = a.n + b.n, share = b.n * reciprocal(n);
    const float apart = b.from - a.from, delta = apart + (b.off - a.off);
    const bool finite = delta - delta == 0;
    return record{a.from, finite ? a.off + delta * share : a.off + b.off + apart * 0,
                  a.m2 + b.m2 + delta * delta * (share * a.n), n};
}

// The lanes of a group of N, which all get the same, at once: first their mean, then their squares
// about that. Distances are from where one of them has its mean, so that they have all their digits.
template <u32 N>
__device__ __forceinline__ record join_lanes(record a)
{
    const u32 first = threadIdx.x % 32 / N * N;
    const u32 filled = __ballot_sync(0xffffffff, a.n > 0) >> first & (0xffffffff >> (32 - N));
    const float from = __shfl_sync(0xffffffff, a.from, filled ? first + __ffs(filled) - 1 : first);
    const float near = (a.from - from) + a.off;
    float n = a.n, sum = a.n * near;
#pragma unroll
    for (u32 step = N / 2; step > 0; step /= 2) {
        n += __shfl_xor_sync(0xffffffff, n, step);
        sum += __shfl_xor_sync(0xffffffff, sum, step);
    }
    const float off = sum * reciprocal(fmaxf(n, 1)), apart = near - off;
    float m2 = a.m2 + a.n * apart * apart;
#pragma unroll
    for (u32 step = N / 2; step > 0; step /= 2) m2 += __shfl_xor_sync(0xffffffff, m2, step);
    return record{from, off, m2, n};
}

__device__ __forceinline__ portion add_to_portion(portion p, float x)
{
    if (!p.begun) p.from = x - x == 0 ? x : 0;
    const float distance = x - p.from;
    return portion{p.from, p.sum + distance, p.squares + distance * distance, p.n + 1, true};
}

__device__ __forceinline__ record moments_of(portion p)
{
    const float n = (float)p.n;
    const float share = reciprocal(fmaxf(n, 1));
    const float near = p.sum * share, left = fmaf(-near, n, p.sum);
    const float off = near + (left == left ? left * share : 0);  // NaN of infinities
    const float m2 = fmaf(-near, p.sum + left, p.squares);
    return record{p.from, off, m2 < 0 ? 0 : m2, n};
}

__device__ __forceinline__ accumulator combine(accumulator a, accumulator b, const values &given)
{
    return join_moments(a, b);
}

__device__ __forceinline__ accumulator map(value x, const values &given)
{
    return moments_of(add_to_portion(portion{0, 0, 0, 0, false}, x));
}

__device__ __forceinline__ void take(portion (&part)[LANES], const vector &v, const values &given)
{
    part[0] = add_to_portion(part[0], v.word[0]);
    part[1] = add_to_portion(part[1], v.word[1]);
    part[2] = add_to_portion(part[2], v.word[2]);
    part[3] = add_to_portion(part[3], v.word[3]);
}

__device__ __forceinline__ portion take_element(portion a, value x, const values &given)
{
    return add_to_portion(a, x);
}

// Results that are written together.
struct alignas(4) stored {
    float value[1];
};

// Makes the results of the rows of a load.
__device__ __forceinline__ void reduce_vector(const vector &v, const extents &e,
                                              float *output, const values &given)
{
    stored r0;
    {
        portion a = portion{0, 0, 0, 0, false};
        a = take_element(a, v.word[0], given);
        a = take_element(a, v.word[1], given);
        a = take_element(a, v.word[2], given);
        a = take_element(a, v.word[3], given);
        const accumulator whole = moments_of(a);
        r0.value[0] = (whole.m2 * reciprocal((float)fmax((double)e.count - given.ddof, 0.0)));
    }
    *(stored *)(output + 0) = r0;
}

// Makes the results of the rows of N loads of a thread, those of a block side by side. Loads and
// results are aligned.
template <u32 N>
__device__ __forceinline__ void reduce_vectors(const element *from, const extents &e,
                                               float *output, const values &given)
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
                                           float *output, const values &given)
{
    portion a = portion{0, 0, 0, 0, false};
    for (u64 i = 0; i < e.count; i++) {
        a = take_element(a, load_element(from + i), given);
    }
    *output = (moments_of(a).m2 * reciprocal((float)fmax((double)e.count - given.ddof, 0.0)));
}

extern "C" __global__ void __launch_bounds__(128)
redtune_reduce(const element *input, extents e, float *output, void *scratch, u32 overlaps, arguments rest)
{
    const values given = values_of(rest, input, output);
    bool packed = e.count == ROW && (e.outer_step == ROW || e.outer == 1);
    packed = packed && (u64)input % LOAD_BYTES == 0;
    packed = packed && (u64)output % sizeof(stored) == 0;
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
