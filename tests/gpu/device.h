/* Device: what the GPU tests share: the first GPU opened, or the reason why the tests are skipped.
 */
#pragma once

#include <stdlib.h>
#include <string.h>
#include "gpu/buffer.h"
#include "gpu/context.h"
#include "gpu/stream.h"

typedef struct device {
    rdt_context *context;
    const rdt_driver *driver;
    CUstream stream;
} device;

/* Opens GPU 0, or the device that REDTUNE_TEST_DEVICE names ("sim"), and makes its context current.
 * REDTUNE_LIBRARY or REDTUNE_DEVICE: there is none. */
static inline redtune_status device_open(device *out, redtune_error *err) {
    bool entered;
    const char *name = getenv("REDTUNE_TEST_DEVICE");
    redtune_status status = rdt_context_open(name ? name : "0", &out->context, err);
    if (status) return status;
    out->driver = out->context->driver;
    status = rdt_context_enter(out->context, &entered, err);
    if (!status) status = rdt_stream_create(out->driver, &out->stream, err);
    return status;
}

/* Whether it is the driver in software, where each element costs. */
static inline bool device_is_simulated(const device *gpu) {
    return strstr(gpu->context->facts.name, "simulated") != NULL;
}

/* Makes a buffer of so many f32 that are 1. */
static inline redtune_status device_ones(const device *gpu, size_t count, rdt_buffer *out,
                                         redtune_error *err) {
    const size_t bytes = count * sizeof(float);
    float *host = malloc(bytes);
    if (!host) return rdt_fail_memory(err, bytes);
    for (size_t i = 0; i < count; i++) host[i] = 1;
    redtune_status status = rdt_buffer_create(gpu->driver, bytes, out, err);
    if (!status)
        status = rdt_buffer_write(gpu->driver, out->address, host, bytes, gpu->stream, err);
    free(host);
    return status;
}

static inline void device_close(device *gpu) {
    if (!gpu->context) return;
    rdt_stream_destroy(gpu->driver, gpu->stream);
    rdt_context_leave(gpu->context, true);
    rdt_context_close(gpu->context);
}
