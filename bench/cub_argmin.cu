/* Cub_argmin: the index of the smallest element by CUB, the first of equals. */
#include <cub/device/device_reduce.cuh>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "bench/cub.h"

/* CUB gives the element too: behind the index. */
template <class Element>
static cudaError_t argmin(void *scratch, size_t *scratch_bytes, const void *in, uint64_t count,
                          void *out, cudaStream_t stream) {
    int64_t *index = static_cast<int64_t *>(out);
    Element *element = reinterpret_cast<Element *>(index + 1);
    return cub::DeviceReduce::ArgMin(scratch, *scratch_bytes, static_cast<const Element *>(in),
                                     element, index, static_cast<int64_t>(count), stream);
}

const bench_cub_call bench_cub_argmin[] = {
    {"i8", "i64", argmin<int8_t>},   {"u8", "i64", argmin<uint8_t>},
    {"i16", "i64", argmin<int16_t>}, {"u16", "i64", argmin<uint16_t>},
    {"i32", "i64", argmin<int32_t>}, {"u32", "i64", argmin<uint32_t>},
    {"i64", "i64", argmin<int64_t>}, {"u64", "i64", argmin<uint64_t>},
    {"f16", "i64", argmin<__half>},  {"bf16", "i64", argmin<__nv_bfloat16>},
    {"f32", "i64", argmin<float>},   {"f64", "i64", argmin<double>},
    {nullptr, nullptr, nullptr},
};
