/* Buffer: device and pinned host memory, and copies between them. */
#include "gpu/buffer.h"
#include "gpu/stream.h"

redtune_status rdt_buffer_create(const rdt_driver *driver, size_t bytes, rdt_buffer *out,
                                 redtune_error *err) {
    rdt_buffer buffer = {.driver = driver, .bytes = bytes};
    if (bytes) {
        CUresult rc = driver->mem_alloc(&buffer.address, bytes);
        if (rc)
            return rdt_driver_check(driver, rc, err, "allocate %zu bytes of device memory", bytes);
    }
    *out = buffer;
    return REDTUNE_OK;
}

void rdt_buffer_destroy(rdt_buffer *buffer) {
    if (buffer->address) buffer->driver->mem_free(buffer->address);
    *buffer = (rdt_buffer){0};
}

redtune_status rdt_buffer_create_pinned(const rdt_driver *driver, size_t bytes, rdt_pinned *out,
                                        redtune_error *err) {
    rdt_pinned pinned = {.driver = driver, .bytes = bytes};
    CUresult rc = driver->mem_host_alloc(&pinned.data, bytes, 0);
    if (rc) return rdt_driver_check(driver, rc, err, "allocate %zu bytes of pinned memory", bytes);
    *out = pinned;
    return REDTUNE_OK;
}

void rdt_buffer_destroy_pinned(rdt_pinned *pinned) {
    if (pinned->data) pinned->driver->mem_free_host(pinned->data);
    *pinned = (rdt_pinned){0};
}

redtune_status rdt_buffer_write(const rdt_driver *driver, CUdeviceptr to, const void *from,
                                size_t bytes, CUstream stream, redtune_error *err) {
    if (!bytes) return REDTUNE_OK;
    CUresult rc = driver->memcpy_htod_async(to, from, bytes, stream);
    if (rc) return rdt_driver_check(driver, rc, err, "copy %zu bytes to the GPU", bytes);
    return rdt_stream_wait(driver, stream, err);
}

redtune_status rdt_buffer_read(const rdt_driver *driver, void *to, CUdeviceptr from, size_t bytes,
                               CUstream stream, redtune_error *err) {
    if (!bytes) return REDTUNE_OK;
    CUresult rc = driver->memcpy_dtoh_async(to, from, bytes, stream);
    if (rc) return rdt_driver_check(driver, rc, err, "copy %zu bytes from the GPU", bytes);
    return rdt_stream_wait(driver, stream, err);
}

redtune_status rdt_buffer_create_with(const rdt_driver *driver, const void *from, size_t bytes,
                                      CUstream stream, rdt_buffer *out, redtune_error *err) {
    redtune_status status = rdt_buffer_create(driver, bytes, out, err);
    return status ? status : rdt_buffer_write(driver, out->address, from, bytes, stream, err);
}

redtune_status rdt_buffer_repeat(const rdt_driver *driver, CUdeviceptr to, size_t pattern_bytes,
                                 size_t bytes, CUstream stream, redtune_error *err) {
    /* The filled part stays a whole number of patterns until the last step. */
    for (size_t filled = pattern_bytes; filled < bytes;) {
        size_t step = filled < bytes - filled ? filled : bytes - filled;
        CUresult rc = driver->memcpy_dtod_async(to + filled, to, step, stream);
        if (rc) return rdt_driver_check(driver, rc, err, "copy %zu bytes on the GPU", step);
        filled += step;
    }
    return REDTUNE_OK;
}
