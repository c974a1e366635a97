/* Buffer: device and pinned host memory, and copies between them. All in the current context. */
#pragma once

#include "gpu/driver.h"

/* Valid when zeroed: empty. */
typedef struct rdt_buffer {
    const rdt_driver *driver;
    CUdeviceptr address;
    size_t bytes;
} rdt_buffer;

/* REDTUNE_DEVICE with the size if there is no room. A size of 0 gives an empty buffer. */
redtune_status rdt_buffer_create(const rdt_driver *driver, size_t bytes, rdt_buffer *out,
                                 redtune_error *err);
void rdt_buffer_destroy(rdt_buffer *buffer);

/* Pinned host memory, valid when zeroed. */
typedef struct rdt_pinned {
    const rdt_driver *driver;
    void *data;
    size_t bytes;
} rdt_pinned;

redtune_status rdt_buffer_create_pinned(const rdt_driver *driver, size_t bytes, rdt_pinned *out,
                                        redtune_error *err);
void rdt_buffer_destroy_pinned(rdt_pinned *pinned);

/* Copies that are over when they return. */
redtune_status rdt_buffer_write(const rdt_driver *driver, CUdeviceptr to, const void *from,
                                size_t bytes, CUstream stream, redtune_error *err);
redtune_status rdt_buffer_read(const rdt_driver *driver, void *to, CUdeviceptr from, size_t bytes,
                               CUstream stream, redtune_error *err);
/* A buffer with these bytes. */
redtune_status rdt_buffer_create_with(const rdt_driver *driver, const void *from, size_t bytes,
                                      CUstream stream, rdt_buffer *out, redtune_error *err);
/* Fills bytes at to with its own first pattern_bytes, again and again. Asynchronous. */
redtune_status rdt_buffer_repeat(const rdt_driver *driver, CUdeviceptr to, size_t pattern_bytes,
                                 size_t bytes, CUstream stream, redtune_error *err);
