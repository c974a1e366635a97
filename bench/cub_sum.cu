/* Cub_sum: sums by CUB, into the dtype that redtune sums into. */
#include <cub/device/device_reduce.cuh>
#include <cub/version.cuh>
#include <cuda/functional>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "bench/cub.h"
#include "bench/cub_offset.cuh"

const int bench_cub_version = CUB_VERSION;

/* CUB adds in the dtype of the initial value, and loads the elements in their own: this is its
 * fastest formulation, since a transforming iterator would cost it the loads of whole vectors. */
template <class Element, class Sum>
static cudaError_t sum(void *scratch, size_t *scratch_bytes, const void *in, uint64_t count,
                       void *out, cudaStream_t stream) {
    return bench_cub_with_offset<Element>(count, [&](auto n) {
        return cub::DeviceReduce::Reduce(scratch, *scratch_bytes, static_cast<const Element *>(in),
                                         static_cast<Sum *>(out), n, cuda::std::plus<Sum>{}, Sum{},
                                         stream);
    });
}

const bench_cub_call bench_cub_sum[] = {
    {"i8", "i64", sum<int8_t, int64_t>},   {"u8", "u64", sum<uint8_t, uint64_t>},
    {"i16", "i64", sum<int16_t, int64_t>}, {"u16", "u64", sum<uint16_t, uint64_t>},
    {"i32", "i64", sum<int32_t, int64_t>}, {"u32", "u64", sum<uint32_t, uint64_t>},
    {"i64", "i64", sum<int64_t, int64_t>}, {"u64", "u64", sum<uint64_t, uint64_t>},
    {"f16", "f32", sum<__half, float>},    {"bf16", "f32", sum<__nv_bfloat16, float>},
    {"f32", "f32", sum<float, float>},     {"f64", "f64", sum<double, double>},
    {nullptr, nullptr, nullptr},
};
