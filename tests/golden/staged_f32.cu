// redtune: the sum of f32 into f32, by the template "staged" with
// block=256,rows=4,room=16,load=no_allocate
//
// output[r] = x[0] + ... + x[n-1]
// for each of `outer` rows r: n = count elements side by side from input[r * outer_step] on,
// wherever that is. Start it with 256 threads per block, on any number of blocks.

typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;
typedef float element;  // in memory
typedef float value;  // in registers
typedef float accumulator;

constexpr u32 BLOCK = 256;  // threads per block
constexpr u32 ROWS = 4;  // rows per thread
constexpr u32 SET = BLOCK * ROWS;  // rows that a block takes at a time
constexpr u32 ROOM = SET * 16;  // bytes that they may have, to be staged
constexpr u32 VEC = 4;  // elements per load
constexpr u32 LANES = VEC;
constexpr u32 LOAD_BYTES = 16;
constexpr u32 UNROLL = (ROOM / LOAD_BYTES + BLOCK - 1) / BLOCK;  // loads in flight per thread

static_assert(sizeof(element) == 4 && VEC * sizeof(element) == LOAD_BYTES, "");

// As model/launch.h has it. Here inner and step are 1.
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

__device__ __forceinline__ value load_element(const element *from)
{
    float word[1];
    asm volatile("ld.global.nc.L1::no_allocate.f32 %0, [%1];"
                 : "=f"(word[0])
                 : "l"(from));
    return word[0];
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

__device__ __forceinline__ accumulator take_element(accumulator a, value x, u64 index)
{
    return combine(a, map(x));
}

// Brings elements [from, to) of the input into shared memory, as far behind its begin as the first
// is behind a multiple of LOAD_BYTES. Loads that reach out of [low, high), the rows of all blocks,
// are made element by element. All threads of the block call it.
__device__ __forceinline__ void stage(char *shared, const element *from, const element *to,
                                      const element *low, const element *high)
{
    const u64 begin = (u64)from / LOAD_BYTES * LOAD_BYTES;
    vector v[UNROLL + 1];
    bool whole[UNROLL + 1];
#pragma unroll
    for (u32 i = 0; i <= UNROLL; i++) {
        const u64 place = begin + (threadIdx.x + i * BLOCK) * LOAD_BYTES;
        whole[i] = place >= (u64)low && place + LOAD_BYTES <= (u64)high && place < (u64)to;
        if (whole[i]) v[i] = load_vector(place);
    }
#pragma unroll
    for (u32 i = 0; i <= UNROLL; i++) {
        const u32 at = threadIdx.x + i * BLOCK;
        if (whole[i]) {
            *(vector *)(shared + at * LOAD_BYTES) = v[i];
        } else {
            const element *place = (const element *)(begin + at * LOAD_BYTES);
            for (u32 j = 0; j < VEC && place + j < to; j++)
                if (place + j >= from) ((element *)(shared + at * LOAD_BYTES))[j] = place[j];
        }
    }
}

extern "C" __global__ void __launch_bounds__(256)
redtune_reduce(const element *input, extents e, float *output, void *scratch, u32 overlaps)
{
    __shared__ alignas(16) char shared[ROOM + LOAD_BYTES];
    const bool packed = e.outer_step == e.count && e.count * sizeof(element) <= 16;
    const element *end = input + e.outer * e.count;
    for (u64 first = (u64)blockIdx.x * SET; first < e.outer; first += (u64)gridDim.x * SET) {
        accumulator a[ROWS];
#pragma unroll
        for (u32 r = 0; r < ROWS; r++) a[r] = 0.0f;
        const u32 rows = e.outer - first < SET ? e.outer - first : SET;
        if (packed) {
            const element *from = input + first * e.count;
            stage(shared, from, from + rows * e.count, input, end);
            __syncthreads();
            const u32 count = e.count;
            const element *row = (const element *)(shared + (u64)from % LOAD_BYTES);
            row += threadIdx.x * count;
            for (u32 i = 0; i < count; i++) {
#pragma unroll
                for (u32 r = 0; r < ROWS; r++) {
                    if (threadIdx.x + r * BLOCK >= rows) continue;
                    const float word = (float)row[r * BLOCK * count + i];
                    a[r] = take_element(a[r], word, i);
                }
            }
            __syncthreads();
        } else {
#pragma unroll
            for (u32 r = 0; r < ROWS; r++) {
                if (threadIdx.x + r * BLOCK >= rows) continue;
                const element *row = input + (first + threadIdx.x + r * BLOCK) * e.outer_step;
                for (u64 i = 0; i < e.count; i++)
                    a[r] = take_element(a[r], load_element(row + i), i);
            }
        }
#pragma unroll
        for (u32 r = 0; r < ROWS; r++) {
            const u32 row = threadIdx.x + r * BLOCK;
            if (row < rows) output[first + row] = a[r];
        }
    }
}
