/* Cub_extreme: the smallest and the largest element by CUB, and their indices, the first of equals.
 */
#include <cub/device/device_reduce.cuh>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "bench/cub.h"
#include "bench/cub_offset.cuh"

template <bool LARGEST, class Element>
static cudaError_t find_value(void *scratch, size_t *scratch_bytes, const void *in, uint64_t count,
                              void *out, cudaStream_t stream) {
    const Element *from = static_cast<const Element *>(in);
    Element *to = static_cast<Element *>(out);
    return bench_cub_with_offset<Element>(count, [&](auto n) {
        if constexpr (LARGEST)
            return cub::DeviceReduce::Max(scratch, *scratch_bytes, from, to, n, stream);
        else
            return cub::DeviceReduce::Min(scratch, *scratch_bytes, from, to, n, stream);
    });
}

/* CUB gives the element too: behind the index. */
template <bool LARGEST, class Element>
static cudaError_t find_index(void *scratch, size_t *scratch_bytes, const void *in, uint64_t count,
                              void *out, cudaStream_t stream) {
    const Element *from = static_cast<const Element *>(in);
    int64_t *index = static_cast<int64_t *>(out), n = static_cast<int64_t>(count);
    Element *to = reinterpret_cast<Element *>(index + 1);
    if constexpr (LARGEST)
        return cub::DeviceReduce::ArgMax(scratch, *scratch_bytes, from, to, index, n, stream);
    else
        return cub::DeviceReduce::ArgMin(scratch, *scratch_bytes, from, to, index, n, stream);
}

/* name, type */
#define ELEMENTS(X)                                                                                \
    X("i8", int8_t)                                                                                \
    X("u8", uint8_t)                                                                               \
    X("i16", int16_t) X("u16", uint16_t) X("i32", int32_t) X("u32", uint32_t) X("i64", int64_t)    \
        X("u64", uint64_t) X("f16", __half) X("bf16", __nv_bfloat16) X("f32", float)               \
            X("f64", double)
#define MIN(name, Element)    {name, name, find_value<false, Element>},
#define MAX(name, Element)    {name, name, find_value<true, Element>},
#define ARGMIN(name, Element) {name, "i64", find_index<false, Element>},
#define ARGMAX(name, Element) {name, "i64", find_index<true, Element>},

const bench_cub_call bench_cub_min[] = {ELEMENTS(MIN){}};
const bench_cub_call bench_cub_max[] = {ELEMENTS(MAX){}};
const bench_cub_call bench_cub_argmin[] = {ELEMENTS(ARGMIN){}};
const bench_cub_call bench_cub_argmax[] = {ELEMENTS(ARGMAX){}};
