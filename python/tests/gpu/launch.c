/* Launch: how long the driver's cuLaunchKernel takes for a kernel that does nothing, which is what
 * calls.py holds redtune's calls against. Built with: cc -O2 -shared -fPIC launch.c -lcuda */
#include <cuda.h>
#include <time.h>

static const char ptx[] = ".version 7.5\n.target sm_75\n.address_size 64\n"
                          ".visible .entry nothing(.param .u64 a, .param .u64 b) { ret; }\n";
static CUfunction function;

/* Nonzero: the driver's error. A context is current. */
int launch_open(void) {
    CUmodule module;
    CUresult rc = cuModuleLoadData(&module, ptx);
    return rc ? rc : cuModuleGetFunction(&function, module, "nothing");
}

static double now_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

/* Nanoseconds per launch of `count`, without those that the GPU takes afterwards. */
double launch_time(int count, CUstream stream) {
    CUdeviceptr a = 0, b = 0;
    void *parameters[] = {&a, &b};
    double start = now_ns();
    for (int i = 0; i < count; i++)
        cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, stream, parameters, NULL);
    double end = now_ns();
    cuStreamSynchronize(stream);
    return (end - start) / count;
}
