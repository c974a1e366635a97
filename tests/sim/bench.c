/* Owns what the tests of the simulated driver share. */
#include "bench.h"

enum { PTX_BYTES = 1 << 16 };

void bench_start(const char *const *settings) {
    CUdevice device;
    CUcontext context;
    redtune_sim_reset();
    for (; settings && *settings; settings++) {
        char name[128];
        snprintf(name, sizeof name, "REDTUNE_SIM_%s", *settings);
        char *equals = strchr(name, '=');
        *equals = '\0';
        CHECK(redtune_sim_set(name, equals + 1));
    }
    CHECK(cuInit(0) == CUDA_SUCCESS);
    CHECK(cuDeviceGet(&device, 0) == CUDA_SUCCESS);
    CHECK(cuDevicePrimaryCtxRetain(&context, device) == CUDA_SUCCESS);
    CHECK(cuCtxSetCurrent(context) == CUDA_SUCCESS);
}

CUdeviceptr bench_buffer(size_t bytes, const void *from) {
    CUdeviceptr at = 0;
    CHECK(cuMemAlloc_v2(&at, bytes) == CUDA_SUCCESS);
    if (from) CHECK(cuMemcpyHtoD_v2(at, from, bytes) == CUDA_SUCCESS);
    return at;
}

CUfunction bench_function(const char *ptx, const char *name) {
    char log[512] = "";
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {log, (void *)(uintptr_t)sizeof log};
    CUmodule module = NULL;
    CUfunction function = NULL;
    CUresult rc = cuModuleLoadDataEx(&module, ptx, 2, options, values);
    if (rc != CUDA_SUCCESS) fprintf(stderr, "%s\n", log);
    CHECK(rc == CUDA_SUCCESS);
    if (rc == CUDA_SUCCESS) {
        CHECK(cuModuleGetFunction(&function, module, name) == CUDA_SUCCESS);
    }
    return function;
}

CUresult bench_launch(CUfunction function, unsigned int grid, unsigned int block, void **params) {
    CUresult rc = cuLaunchKernel(function, grid, 1, 1, block, 1, 1, 0, NULL, params, NULL);
    return rc == CUDA_SUCCESS ? cuCtxSynchronize() : rc;
}

CUresult bench_limited_body(const char *limits, const char *body, unsigned int grid,
                            unsigned int block, CUdeviceptr p0, CUdeviceptr p1) {
    char *ptx = malloc(PTX_BYTES);
    if (!ptx) return CUDA_ERROR_OUT_OF_MEMORY;
    snprintf(ptx, PTX_BYTES,
             ".version 8.3\n.target sm_90\n.address_size 64\n.file 1 \"body.cu\"\n"
             ".visible .entry k(.param .u64 p0, .param .u64 p1)%s\n{\n"
             ".reg .b32 %%r<10>; .reg .b64 %%d<10>; .reg .f32 %%f<10>; .reg .b16 %%h<10>;\n"
             ".reg .pred %%p<10>; .shared .align 16 .b8 s[256];\n"
             "ld.param.u64 %%d0, [p0]; ld.param.u64 %%d1, [p1]; mov.u32 %%r0, %%tid.x;\n"
             ".loc 1 100 0\n%s\nret;\n}\n",
             limits, body);
    CUfunction function = bench_function(ptx, "k");
    free(ptx);
    void *params[] = {&p0, &p1};
    return function ? bench_launch(function, grid, block, params) : CUDA_ERROR_INVALID_PTX;
}

CUresult bench_body(const char *body, unsigned int grid, unsigned int block, CUdeviceptr p0,
                    CUdeviceptr p1) {
    return bench_limited_body("", body, grid, block, p0, p1);
}

int bench_finding(struct redtune_sim_finding *out) {
    struct redtune_sim_finding finding;
    if (redtune_sim_findings() != 1 || !redtune_sim_finding(0, &finding)) return -1;
    if (out) *out = finding;
    return finding.kind;
}
