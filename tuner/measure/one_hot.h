/* One hot: neutral elements on the GPU with deciders so far apart that no window of a given length
 * holds two. Sliding the window over one puts it wherever it should be, with no copy between
 * launches; there is one decider for each start within 16 bytes. */
#pragma once

#include "gpu/buffer.h"
#include "model/problem.h"

/* Valid when zeroed: empty. */
typedef struct rdt_one_hot {
    rdt_buffer buffer;
    size_t element_bytes;
    uint64_t window;     /* the longest, in elements */
    uint64_t alignments; /* 16 bytes, in elements */
} rdt_one_hot;

/* Bytes of a pool whose windows have up to window_bytes. */
size_t rdt_one_hot_bytes(redtune_dtype dtype, size_t window_bytes);
redtune_status rdt_one_hot_create(const rdt_driver *driver, redtune_dtype dtype,
                                  size_t window_bytes, rdt_one_hot *out, redtune_error *err);
void rdt_one_hot_destroy(rdt_one_hot *one_hot);
/* Fills the pool; over when it returns. */
redtune_status rdt_one_hot_fill(const rdt_one_hot *one_hot, const redtune_value *neutral,
                                const redtune_value *decider, CUstream stream, redtune_error *err);

/* Where a window of neutral elements starts that has the decider at index `at`; -1 and the window's
 * length put it just outside. The start is `offset` elements behind a 16-byte boundary. */
CUdeviceptr rdt_one_hot_window(const rdt_one_hot *one_hot, int64_t at, uint64_t offset);
