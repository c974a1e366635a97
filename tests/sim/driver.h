/* A CUDA driver by its file, the simulated one or a real one, and how to run PTX snippets on it. */
#pragma once

/* Every version of an entry point under its own name, whatever the age of the header. */
#define __CUDA_API_VERSION_INTERNAL
#include "driver/compat.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim.h"

#define DRIVER_LIST(X)                                                                             \
    X(cuInit)                                                                                      \
    X(cuGetErrorName)                                                                              \
    X(cuDeviceGet)                                                                                 \
    X(cuDeviceGetName)                                                                             \
    X(cuDevicePrimaryCtxRetain)                                                                    \
    X(cuDevicePrimaryCtxRelease_v2)                                                                \
    X(cuCtxPushCurrent_v2)                                                                         \
    X(cuCtxSynchronize)                                                                            \
    X(cuMemAlloc_v2)                                                                               \
    X(cuMemFree_v2)                                                                                \
    X(cuMemcpyHtoD_v2)                                                                             \
    X(cuMemcpyDtoH_v2)                                                                             \
    X(cuMemsetD8_v2)                                                                               \
    X(cuModuleLoadDataEx)                                                                          \
    X(cuModuleUnload)                                                                              \
    X(cuModuleGetFunction)                                                                         \
    X(cuLaunchKernel)

struct driver {
#define X(name) __typeof__(&name) name;
    DRIVER_LIST(X)
#undef X
    void *library;
};

/* false: there is none, or no device; *why says so. */
bool driver_open(struct driver *driver, const char *file, const char **why);

/* Room for a snippet's inputs and outputs: words of 64 bits. */
enum { SNIPPET_SOURCES = 3 };

/* One instruction or a few of them, with $d for the result and $a, $b, $c for the sources. The
   letters of pattern are the result's and the sources' kinds: i, f 32 bits, l, e 64, h, g, k 16,
   y, z 32; P is a predicate result. */
struct snippet {
    const char *name;
    const char *pattern;
    const char *text;
};

/* The PTX of an entry "snippet" that runs it once per thread: parameters are the result's, then
   the sources' arrays of 64-bit words. Caller frees. */
char *snippet_ptx(const struct snippet *snippet, unsigned int target);

/* Runs it on count threads, whole warps of them. false: *why says why not. */
bool snippet_run(const struct driver *driver, const struct snippet *snippet, size_t count,
                 const uint64_t *const sources[SNIPPET_SOURCES], uint64_t *results,
                 const char **why);
