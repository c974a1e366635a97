/* One hot: neutral elements on the GPU with deciders so far apart that no window of a given length
 * holds two. */
#include "tuner/measure/one_hot.h"

enum { ALIGNMENT_BYTES = 16 };

/* A window's length, the decider, another length for each decider that follows, and a last one. The
 * window is a multiple of 16 bytes, so that each decider is one element further from such a
 * boundary than the one before. */
static rdt_one_hot shape(redtune_dtype dtype, size_t window_bytes) {
    size_t element = redtune_dtype_bytes(dtype);
    size_t rounded = (window_bytes + ALIGNMENT_BYTES - 1) / ALIGNMENT_BYTES * ALIGNMENT_BYTES;
    return (rdt_one_hot){
        .element_bytes = element,
        .window = rounded / element,
        .alignments = ALIGNMENT_BYTES / element,
    };
}

static size_t bytes_of(const rdt_one_hot *one_hot) {
    return (one_hot->window + one_hot->alignments * (one_hot->window + 1)) * one_hot->element_bytes;
}

static CUdeviceptr decider_at(const rdt_one_hot *one_hot, uint64_t index) {
    return one_hot->buffer.address +
           (one_hot->window + index * (one_hot->window + 1)) * one_hot->element_bytes;
}

size_t rdt_one_hot_bytes(redtune_dtype dtype, size_t window_bytes) {
    rdt_one_hot one_hot = shape(dtype, window_bytes);
    return bytes_of(&one_hot);
}

redtune_status rdt_one_hot_create(const rdt_driver *driver, redtune_dtype dtype,
                                  size_t window_bytes, rdt_one_hot *out, redtune_error *err) {
    rdt_one_hot one_hot = shape(dtype, window_bytes);
    redtune_status status = rdt_buffer_create(driver, bytes_of(&one_hot), &one_hot.buffer, err);
    if (!status) *out = one_hot;
    return status;
}

void rdt_one_hot_destroy(rdt_one_hot *one_hot) { rdt_buffer_destroy(&one_hot->buffer); }

redtune_status rdt_one_hot_fill(const rdt_one_hot *one_hot, const redtune_value *neutral,
                                const redtune_value *decider, CUstream stream, redtune_error *err) {
    const rdt_buffer *buffer = &one_hot->buffer;
    size_t element = one_hot->element_bytes;
    redtune_status status =
        rdt_buffer_write(buffer->driver, buffer->address, neutral, element, stream, err);
    if (!status)
        status =
            rdt_buffer_repeat(buffer->driver, buffer->address, element, buffer->bytes, stream, err);
    for (uint64_t i = 0; !status && i < one_hot->alignments; i++)
        status =
            rdt_buffer_write(buffer->driver, decider_at(one_hot, i), decider, element, stream, err);
    return status;
}

CUdeviceptr rdt_one_hot_window(const rdt_one_hot *one_hot, int64_t at, uint64_t offset) {
    uint64_t index = (offset + (uint64_t)at) % one_hot->alignments;
    return decider_at(one_hot, index) - (uint64_t)at * one_hot->element_bytes;
}
