/* Cub_min: the smallest element by CUB. */
#include <cub/device/device_reduce.cuh>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "bench/cub.h"
#include "bench/cub_offset.cuh"

template <class Element>
static cudaError_t min(void *scratch, size_t *scratch_bytes, const void *in, uint64_t count,
                       void *out, cudaStream_t stream) {
    return bench_cub_with_offset<Element>(count, [&](auto n) {
        return cub::DeviceReduce::Min(scratch, *scratch_bytes, static_cast<const Element *>(in),
                                      static_cast<Element *>(out), n, stream);
    });
}

const bench_cub_call bench_cub_min[] = {
    {"i8", "i8", min<int8_t>},    {"u8", "u8", min<uint8_t>},
    {"i16", "i16", min<int16_t>}, {"u16", "u16", min<uint16_t>},
    {"i32", "i32", min<int32_t>}, {"u32", "u32", min<uint32_t>},
    {"i64", "i64", min<int64_t>}, {"u64", "u64", min<uint64_t>},
    {"f16", "f16", min<__half>},  {"bf16", "bf16", min<__nv_bfloat16>},
    {"f32", "f32", min<float>},   {"f64", "f64", min<double>},
    {nullptr, nullptr, nullptr},
};
