/* Stands in for -lcuda, so that the examples start on a machine without a driver and say what they
 * need, or run on the simulated GPU. A program of your own links libcuda and has no such file.
 *
 * Each function looks its namesake up in the driver: $REDTUNE_CUDA_DRIVER, else libcuda.so.1. */
#include <cuda.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Noreturn void give_up(const char *reason) {
    fprintf(stderr,
            "cannot run this example: %s. It needs an NVIDIA GPU and its driver, or the simulated "
            "GPU: REDTUNE_CUDA_DRIVER=build/release/libredtune-sim.so before the command\n",
            reason);
    exit(EXIT_FAILURE);
}

/* Gives function, a pointer to a function, the address of the driver's. */
static void find(const char *name, void *function, size_t bytes) {
    const char *chosen = getenv("REDTUNE_CUDA_DRIVER");
    void *driver = dlopen(chosen && *chosen ? chosen : "libcuda.so.1", RTLD_NOW);
    void *address = driver ? dlsym(driver, name) : NULL;
    if (!address) give_up(dlerror());
    memcpy(function, &address, bytes);
}

/* cuda.h gives some functions another name, such as cuMemAlloc_v2: the name is expanded first. */
#define TEXT(name) #name
#define FORWARD(name, parameters, arguments)                                                       \
    CUresult name parameters {                                                                     \
        CUresult(*function) parameters;                                                            \
        find(TEXT(name), &function, sizeof function);                                              \
        return function arguments;                                                                 \
    }

CUresult cuInit(unsigned flags) {
    CUresult (*function)(unsigned flags);
    find("cuInit", &function, sizeof function);
    CUresult rc = function(flags);
    if (rc == CUDA_ERROR_NO_DEVICE) give_up("the CUDA driver sees no GPU");
    return rc;
}

FORWARD(cuGetErrorString, (CUresult rc, const char **text), (rc, text))
FORWARD(cuDeviceGetCount, (int *count), (count))
FORWARD(cuDeviceGet, (CUdevice * device, int number), (device, number))
FORWARD(cuDevicePrimaryCtxRetain, (CUcontext * context, CUdevice device), (context, device))
FORWARD(cuCtxGetCurrent, (CUcontext * context), (context))
FORWARD(cuCtxSetCurrent, (CUcontext context), (context))
FORWARD(cuMemAlloc, (CUdeviceptr * memory, size_t bytes), (memory, bytes))
FORWARD(cuMemcpyHtoD, (CUdeviceptr to, const void *from, size_t bytes), (to, from, bytes))
FORWARD(cuMemcpyDtoH, (void *to, CUdeviceptr from, size_t bytes), (to, from, bytes))
FORWARD(cuMemcpyHtoDAsync, (CUdeviceptr to, const void *from, size_t bytes, CUstream stream),
        (to, from, bytes, stream))
FORWARD(cuStreamCreate, (CUstream * stream, unsigned flags), (stream, flags))
FORWARD(cuStreamSynchronize, (CUstream stream), (stream))
FORWARD(cuStreamBeginCapture, (CUstream stream, CUstreamCaptureMode mode), (stream, mode))
FORWARD(cuStreamEndCapture, (CUstream stream, CUgraph *graph), (stream, graph))
FORWARD(cuEventCreate, (CUevent * event, unsigned flags), (event, flags))
FORWARD(cuEventRecord, (CUevent event, CUstream stream), (event, stream))
FORWARD(cuEventElapsedTime, (float *milliseconds, CUevent begin, CUevent end),
        (milliseconds, begin, end))
FORWARD(cuGraphInstantiateWithFlags,
        (CUgraphExec * executable, CUgraph graph, unsigned long long flags),
        (executable, graph, flags))
FORWARD(cuGraphLaunch, (CUgraphExec executable, CUstream stream), (executable, stream))
FORWARD(cuGraphExecDestroy, (CUgraphExec executable), (executable))
FORWARD(cuGraphDestroy, (CUgraph graph), (graph))
