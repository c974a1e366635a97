/* Cub_fixed: sums by CUB whose bits are the same on every GPU (gpu_to_gpu), in CCCL 3.6 and later.
 *
 * CUB takes scratch from a memory resource there: it gets one that hands out what was allocated
 * beforehand, as in the other contests. */
#include <cub/device/device_reduce.cuh>
#include <cub/version.cuh>
#include <cuda/functional>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "bench/cub.h"
#include "bench/cub_offset.cuh"

#if CUB_VERSION >= 300600
#include <cuda/__execution/determinism.h>
#include <cuda/__execution/require.h>
#include <cuda/iterator>
#include <cuda/memory_resource>
#include <cuda/stream>

static constexpr size_t scratch_bytes_max = 4 << 20; /* more than any count takes */

struct scratch_resource {
    void *scratch;

    void *allocate(cuda::stream_ref, size_t bytes, size_t = 256) {
        if (bytes > scratch_bytes_max) throw std::bad_alloc();
        return scratch;
    }
    void deallocate(cuda::stream_ref, void *, size_t, size_t = 256) noexcept {}
    void *allocate_sync(size_t bytes, size_t = 256) {
        if (bytes > scratch_bytes_max) throw std::bad_alloc();
        return scratch;
    }
    void deallocate_sync(void *, size_t, size_t = 256) noexcept {}
    bool operator==(const scratch_resource &other) const { return scratch == other.scratch; }
    bool operator!=(const scratch_resource &other) const { return scratch != other.scratch; }
    friend constexpr void get_property(const scratch_resource &,
                                       cuda::mr::device_accessible) noexcept {}
};

/* CUB adds its own dtypes only: narrower elements are converted on the way. */
template <class Element, class Sum> struct widen {
    __device__ Sum operator()(Element x) const { return static_cast<Sum>(x); }
};

template <class Element, class Sum> static auto elements_of(const void *in) {
    const auto from = static_cast<const Element *>(in);
    if constexpr (cuda::std::is_same_v<Element, Sum>)
        return from;
    else
        return cuda::make_transform_iterator(from, widen<Element, Sum>{});
}

template <class Element, class Sum>
static cudaError_t sum(void *scratch, size_t *scratch_bytes, const void *in, uint64_t count,
                       void *out, cudaStream_t stream) {
    *scratch_bytes = scratch_bytes_max;
    if (!scratch) return cudaSuccess;
    scratch_resource resource{scratch};
    const auto environment = cuda::std::execution::env{
        cuda::std::execution::prop{cuda::mr::get_memory_resource_t{}, resource},
        cuda::stream_ref{stream},
        cuda::execution::require(cuda::execution::determinism::gpu_to_gpu)};
    return bench_cub_with_offset<Element>(count, [&](auto n) {
        return cub::DeviceReduce::Reduce(elements_of<Element, Sum>(in), static_cast<Sum *>(out), n,
                                         cuda::std::plus<Sum>{}, Sum{}, environment);
    });
}
#endif

const bench_cub_call bench_cub_sum_fixed[] = {
#if CUB_VERSION >= 300600
    {"f16", "f32", sum<__half, float>}, {"bf16", "f32", sum<__nv_bfloat16, float>},
    {"f32", "f32", sum<float, float>},  {"f64", "f64", sum<double, double>},
#endif
    {nullptr, nullptr, nullptr},
};
