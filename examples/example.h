/* What every program that uses CUDA has already: a context, a stream, memory, and an answer to
 * errors. Here the answer is to say what failed and end the process, and with it what it holds. */
#ifndef REDTUNE_EXAMPLES_EXAMPLE_H
#define REDTUNE_EXAMPLES_EXAMPLE_H

#include <cuda.h>
#include <redtune/redtune.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define TRY_CUDA(call)                                                                             \
    do {                                                                                           \
        CUresult rc_ = (call);                                                                     \
        const char *reason_ = "unknown error";                                                     \
        if (rc_ == CUDA_SUCCESS) break;                                                            \
        cuGetErrorString(rc_, &reason_);                                                           \
        fprintf(stderr, "%s: %s\n", #call, reason_);                                               \
        exit(EXIT_FAILURE);                                                                        \
    } while (0)

/* err is the redtune_error that the call fills. */
#define TRY_REDTUNE(call)                                                                          \
    do {                                                                                           \
        if (!(call)) break;                                                                        \
        fprintf(stderr, "%s\n", err.message);                                                      \
        exit(EXIT_FAILURE);                                                                        \
    } while (0)

/* Makes the first GPU's context current on this thread. */
static inline void start_cuda(void) {
    CUdevice first;
    CUcontext context;
    TRY_CUDA(cuInit(0));
    TRY_CUDA(cuDeviceGet(&first, 0));
    TRY_CUDA(cuDevicePrimaryCtxRetain(&context, first));
    TRY_CUDA(cuCtxSetCurrent(context));
}

static inline CUstream make_stream(void) {
    CUstream stream;
    TRY_CUDA(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    return stream;
}

/* Device memory, with a copy of what is at host unless that is NULL. */
static inline void *upload(const void *host, size_t bytes) {
    CUdeviceptr memory;
    TRY_CUDA(cuMemAlloc(&memory, bytes));
    if (host) TRY_CUDA(cuMemcpyHtoD(memory, host, bytes));
    return (void *)(uintptr_t)memory;
}

/* Waits for the stream and copies from the device. */
static inline void download(void *host, const void *device, size_t bytes, CUstream stream) {
    TRY_CUDA(cuStreamSynchronize(stream));
    TRY_CUDA(cuMemcpyDtoH(host, (CUdeviceptr)(uintptr_t)device, bytes));
}

/* Ends the program with a failure where what the GPU gave is not what it should be. */
static inline void expect(int right, const char *what) {
    if (right) return;
    fprintf(stderr, "%s is wrong\n", what);
    exit(EXIT_FAILURE);
}

#endif
