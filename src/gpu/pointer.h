/* Pointer: whether kernels reach the memory behind a caller's pointer. */
#pragma once

#include "gpu/context.h"

/* Whether kernels in the context, which is current, reach `bytes` bytes from the address on.
 * REDTUNE_INVALID: they do not; the error has the pointer by this name, and what it points to. Asks
 * the driver, and takes about a microsecond. */
redtune_status rdt_pointer_check(const rdt_context *context, const char *name, CUdeviceptr at,
                                 size_t bytes, redtune_error *err);
