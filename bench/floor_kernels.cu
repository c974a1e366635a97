/* Floor_kernels: the kernels that sum within each block and never combine the blocks. */
#include "bench/floor_kernels.h"

#include <cstring>
#include <cuda_fp16.h>

static_assert(sizeof(uint4) == BENCH_VECTOR_BYTES, "");

static constexpr unsigned warp_threads = 32;

/* ---- elements -------------------------------------------------------------------------------- */

/* How the elements in a word are added: a thread and a block hold a `sum`, and what a thread loads
 * at a time fits a `part`. */
template <class Word, class Sum, class Part = Sum> struct elements {
    using word = Word;
    using sum = Sum;
    using part = Part;
};

struct of_i8 : elements<uint32_t, int64_t, int32_t> {
    static __device__ part add(part a, word w) {
        return __dp4a(static_cast<int>(w), 0x01010101, a);
    }
};

struct of_u8 : elements<uint32_t, uint64_t, uint32_t> {
    static __device__ part add(part a, word w) { return __dp4a(w, 0x01010101u, a); }
};

struct of_i16 : elements<uint32_t, int64_t, int32_t> {
    static __device__ part add(part a, word w) {
        return a + static_cast<int16_t>(w) + (static_cast<int32_t>(w) >> 16);
    }
};

struct of_u16 : elements<uint32_t, uint64_t, uint32_t> {
    static __device__ part add(part a, word w) { return a + (w & 0xffff) + (w >> 16); }
};

struct of_i32 : elements<uint32_t, int64_t> {
    static __device__ part add(part a, word w) { return a + static_cast<int32_t>(w); }
};

struct of_u32 : elements<uint32_t, uint64_t> {
    static __device__ part add(part a, word w) { return a + w; }
};

/* Of u64 as well: the bits are the same. */
struct of_i64 : elements<uint64_t, uint64_t> {
    static __device__ part add(part a, word w) { return a + w; }
};

struct of_f16 : elements<uint32_t, float> {
    static __device__ part add(part a, word w) {
        __half2 pair;
        memcpy(&pair, &w, sizeof pair);
        float2 both = __half22float2(pair);
        return a + (both.x + both.y);
    }
};

struct of_bf16 : elements<uint32_t, float> {
    static __device__ part add(part a, word w) {
        return a + (__uint_as_float(w << 16) + __uint_as_float(w & 0xffff0000u));
    }
};

struct of_f32 : elements<uint32_t, float> {
    static __device__ part add(part a, word w) { return a + __uint_as_float(w); }
};

struct of_f64 : elements<uint64_t, double> {
    static __device__ part add(part a, word w) {
        return a + __longlong_as_double(static_cast<long long>(w));
    }
};

/* ---- the kernel ------------------------------------------------------------------------------ */

/* The load that redtune's kernels make. */
static __device__ uint4 load(const uint4 *from) {
    uint4 v;
    asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "l"(from));
    return v;
}

template <class Sum> static __device__ Sum sum_warp(Sum a) {
    for (unsigned step = warp_threads / 2; step; step /= 2)
        a += __shfl_down_sync(0xffffffff, a, step);
    return a;
}

/* Thread 0 returns the sum. */
template <class Sum, int THREADS> static __device__ Sum sum_block(Sum a) {
    constexpr unsigned warps = THREADS / warp_threads;
    a = sum_warp(a);
    if constexpr (warps > 1) {
        __shared__ Sum of_warp[warps];
        unsigned warp = threadIdx.x / warp_threads, lane = threadIdx.x % warp_threads;
        if (lane == 0) of_warp[warp] = a;
        __syncthreads();
        if (warp > 0) return a;
        a = lane < warps ? of_warp[lane] : Sum{};
#pragma unroll
        for (unsigned step = warps / 2; step; step /= 2) a += __shfl_down_sync(0xffffffff, a, step);
    }
    return a;
}

/* What a thread holds: a sum per word of a vector, so that additions need not wait for each other.
 */
template <class Elements> struct held {
    static constexpr int words = BENCH_VECTOR_BYTES / sizeof(typename Elements::word);
    typename Elements::sum of_word[words] = {};

    template <int UNROLL> __device__ void add(const uint4 (&vectors)[UNROLL]) {
#pragma unroll
        for (int j = 0; j < words; j++) {
            constexpr bool narrow = sizeof(typename Elements::part) < sizeof of_word[0];
            typename Elements::part part = narrow ? 0 : of_word[j];
#pragma unroll
            for (int u = 0; u < UNROLL; u++) {
                typename Elements::word word[words];
                memcpy(word, &vectors[u], sizeof word);
                part = Elements::add(part, word[j]);
            }
            of_word[j] = narrow ? of_word[j] + part : part;
        }
    }
};

/* Tiles of THREADS x UNROLL vectors are dealt round the blocks. Zero bits add nothing. */
template <class Elements, int THREADS, int UNROLL>
static __global__ __launch_bounds__(THREADS) void sum_blocks(const uint4 *in, uint32_t vectors,
                                                             uint64_t *partials) {
    constexpr uint32_t tile = THREADS * UNROLL;
#if __CUDA_ARCH__ >= 900
    /* Where launches do not overlap, these do nothing. */
    cudaTriggerProgrammaticLaunchCompletion();
    cudaGridDependencySynchronize();
#endif
    held<Elements> mine;
    for (uint64_t base = uint64_t{blockIdx.x} * tile; base < vectors;
         base += uint64_t{gridDim.x} * tile) {
        const uint4 *from = in + base + threadIdx.x;
        uint4 v[UNROLL];
        if (base + tile <= vectors) {
#pragma unroll
            for (int u = 0; u < UNROLL; u++) v[u] = load(from + u * THREADS);
        } else {
#pragma unroll
            for (int u = 0; u < UNROLL; u++)
                v[u] =
                    base + threadIdx.x + u * THREADS < vectors ? load(from + u * THREADS) : uint4{};
        }
        mine.add(v);
    }
    typename Elements::sum sum = mine.of_word[0];
#pragma unroll
    for (int j = 1; j < mine.words; j++) sum += mine.of_word[j];
    sum = sum_block<typename Elements::sum, THREADS>(sum);
    if (threadIdx.x == 0) memcpy(partials + blockIdx.x, &sum, sizeof sum);
}

/* ---- finding one ----------------------------------------------------------------------------- */

template <class Elements, int THREADS, int UNROLL>
static cudaError_t run(const bench_floor_launch *launch, const void *in, void *partials,
                       cudaStream_t stream) {
    if (launch->vectors > UINT32_MAX) return cudaErrorInvalidValue;
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = launch->blocks;
    config.blockDim = THREADS;
    config.stream = stream;
    config.attrs = &attribute;
    config.numAttrs = launch->overlap;
    return cudaLaunchKernelEx(
        &config, sum_blocks<Elements, THREADS, UNROLL>, static_cast<const uint4 *>(in),
        static_cast<uint32_t>(launch->vectors), static_cast<uint64_t *>(partials));
}

template <class Elements, int THREADS> static bench_floor_run *find_unroll(int unroll) {
    switch (unroll) {
    case 1: return run<Elements, THREADS, 1>;
    case 2: return run<Elements, THREADS, 2>;
    case 4: return run<Elements, THREADS, 4>;
    case 8: return run<Elements, THREADS, 8>;
    default: return nullptr;
    }
}

template <class Elements> static bench_floor_run *find(int threads, int unroll) {
    switch (threads) {
    case 32: return find_unroll<Elements, 32>(unroll);
    case 64: return find_unroll<Elements, 64>(unroll);
    case 128: return find_unroll<Elements, 128>(unroll);
    case 256: return find_unroll<Elements, 256>(unroll);
    case 512: return find_unroll<Elements, 512>(unroll);
    case 1024: return find_unroll<Elements, 1024>(unroll);
    default: return nullptr;
    }
}

bench_floor_run *bench_floor_find(const char *dtype, int threads, int unroll) {
    static const struct {
        const char *dtype;
        bench_floor_run *(*find)(int threads, int unroll);
    } table[] = {
        {"i8", find<of_i8>},     {"u8", find<of_u8>},   {"i16", find<of_i16>},
        {"u16", find<of_u16>},   {"i32", find<of_i32>}, {"u32", find<of_u32>},
        {"i64", find<of_i64>},   {"u64", find<of_i64>}, {"f16", find<of_f16>},
        {"bf16", find<of_bf16>}, {"f32", find<of_f32>}, {"f64", find<of_f64>},
    };
    for (const auto &row : table)
        if (!strcmp(row.dtype, dtype)) return row.find(threads, unroll);
    return nullptr;
}
