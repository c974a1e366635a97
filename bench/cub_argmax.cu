/* Cub_argmax: the index of the largest element by CUB, the first of equals. */
#include <cub/device/device_reduce.cuh>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "bench/cub.h"

/* CUB gives the element too: behind the index. */
template <class Element>
static cudaError_t argmax(void *scratch, size_t *scratch_bytes, const void *in, uint64_t count,
                          void *out, cudaStream_t stream) {
    int64_t *index = static_cast<int64_t *>(out);
    Element *element = reinterpret_cast<Element *>(index + 1);
    return cub::DeviceReduce::ArgMax(scratch, *scratch_bytes, static_cast<const Element *>(in),
                                     element, index, static_cast<int64_t>(count), stream);
}

const bench_cub_call bench_cub_argmax[] = {
    {"i8", "i64", argmax<int8_t>},   {"u8", "i64", argmax<uint8_t>},
    {"i16", "i64", argmax<int16_t>}, {"u16", "i64", argmax<uint16_t>},
    {"i32", "i64", argmax<int32_t>}, {"u32", "i64", argmax<uint32_t>},
    {"i64", "i64", argmax<int64_t>}, {"u64", "i64", argmax<uint64_t>},
    {"f16", "i64", argmax<__half>},  {"bf16", "i64", argmax<__nv_bfloat16>},
    {"f32", "i64", argmax<float>},   {"f64", "i64", argmax<double>},
    {nullptr, nullptr, nullptr},
};
