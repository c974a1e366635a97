/* Cub_max: the largest element by CUB. */
#include <cub/device/device_reduce.cuh>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "bench/cub.h"
#include "bench/cub_offset.cuh"

template <class Element>
static cudaError_t max(void *scratch, size_t *scratch_bytes, const void *in, uint64_t count,
                       void *out, cudaStream_t stream) {
    return bench_cub_with_offset<Element>(count, [&](auto n) {
        return cub::DeviceReduce::Max(scratch, *scratch_bytes, static_cast<const Element *>(in),
                                      static_cast<Element *>(out), n, stream);
    });
}

const bench_cub_call bench_cub_max[] = {
    {"i8", "i8", max<int8_t>},    {"u8", "u8", max<uint8_t>},
    {"i16", "i16", max<int16_t>}, {"u16", "u16", max<uint16_t>},
    {"i32", "i32", max<int32_t>}, {"u32", "u32", max<uint32_t>},
    {"i64", "i64", max<int64_t>}, {"u64", "u64", max<uint64_t>},
    {"f16", "f16", max<__half>},  {"bf16", "bf16", max<__nv_bfloat16>},
    {"f32", "f32", max<float>},   {"f64", "f64", max<double>},
    {nullptr, nullptr, nullptr},
};
