/* Stream: an order of work on the GPU. */
#pragma once

#include "gpu/driver.h"

/* A stream of the caller's current context that does not wait for the default stream. */
redtune_status rdt_stream_create(const rdt_driver *driver, CUstream *out, redtune_error *err);
void rdt_stream_destroy(const rdt_driver *driver, CUstream stream);
/* Waits; a kernel's failure surfaces here. */
redtune_status rdt_stream_wait(const rdt_driver *driver, CUstream stream, redtune_error *err);
