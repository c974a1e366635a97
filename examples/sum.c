/* Sums floats on the GPU through the CUDA driver API, and checks the sum against the host's.
 *
 * Usage: sum [COUNT]
 *
 * redtune takes the context that is current, any stream, and device memory as it comes. After
 * `redtune --device 0` it runs the kernel that won on this GPU at the nearest size; before, its
 * built-in default. */
#include <cuda.h>
#include <math.h>
#include <redtune/redtune.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { TIMED_CALLS = 20 };

static int cuda_failed(CUresult rc, const char *call) {
    const char *reason = "unknown error";
    if (rc == CUDA_SUCCESS) return 0;
    cuGetErrorString(rc, &reason);
    fprintf(stderr, "sum: %s: %s\n", call, reason);
    return 1;
}

#define TRY_CUDA(call)                                                                             \
    do {                                                                                           \
        if (cuda_failed(call, #call)) return 1;                                                    \
    } while (0)
#define TRY_REDTUNE(call)                                                                          \
    do {                                                                                           \
        if (call) {                                                                                \
            fprintf(stderr, "sum: %s\n", err.message);                                             \
            return 1;                                                                              \
        }                                                                                          \
    } while (0)

/* Numbers between 0 and 1 (xorshift, Marsaglia 2003). Returns their sum. */
static double fill(float *numbers, uint64_t count) {
    uint32_t state = 2463534242u;
    double sum = 0;
    for (uint64_t i = 0; i < count; i++) {
        state ^= state << 13, state ^= state >> 17, state ^= state << 5;
        numbers[i] = (float)(state >> 8) / 16777216.0f;
        sum += numbers[i];
    }
    return sum;
}

/* Where a program that uses CUDA already has its context, stream and memory. */
typedef struct device {
    CUcontext context;
    CUstream stream;
    CUevent begin, end;
    CUdeviceptr in, out;
} device;

static int prepare(device *gpu, const float *numbers, size_t bytes) {
    CUdevice first;
    TRY_CUDA(cuInit(0));
    TRY_CUDA(cuDeviceGet(&first, 0));
    TRY_CUDA(cuDevicePrimaryCtxRetain(&gpu->context, first));
    TRY_CUDA(cuCtxSetCurrent(gpu->context));
    TRY_CUDA(cuStreamCreate(&gpu->stream, CU_STREAM_NON_BLOCKING));
    TRY_CUDA(cuEventCreate(&gpu->begin, CU_EVENT_DEFAULT));
    TRY_CUDA(cuEventCreate(&gpu->end, CU_EVENT_DEFAULT));
    TRY_CUDA(cuMemAlloc(&gpu->in, bytes));
    TRY_CUDA(cuMemAlloc(&gpu->out, sizeof(float)));
    TRY_CUDA(cuMemcpyHtoD(gpu->in, numbers, bytes));
    return 0;
}

/* Runs the plan once, then for the clock. The first call on a stream sets up its scratch; those
 * that follow only launch. */
static int run(redtune_plan *plan, const device *gpu, uint64_t count, float *sum,
               float *milliseconds) {
    void *in = (void *)gpu->in, *out = (void *)gpu->out;
    redtune_error err;
    for (int i = 0; i <= TIMED_CALLS; i++) {
        if (i == 1) TRY_CUDA(cuEventRecord(gpu->begin, gpu->stream));
        TRY_REDTUNE(redtune_plan_reduce(plan, in, count, out, gpu->stream, &err));
    }
    TRY_CUDA(cuEventRecord(gpu->end, gpu->stream));
    TRY_CUDA(cuStreamSynchronize(gpu->stream));
    TRY_CUDA(cuEventElapsedTime(milliseconds, gpu->begin, gpu->end));
    TRY_CUDA(cuMemcpyDtoH(sum, gpu->out, sizeof *sum));
    return 0;
}

static int sum_numbers(const float *numbers, uint64_t count, double wanted) {
    redtune_problem problem = redtune_problem_whole(REDTUNE_SUM, REDTUNE_F32, count);
    redtune_error err;
    redtune_info info;
    redtune *rt;
    redtune_plan *plan;
    device gpu;
    float sum, milliseconds;
    if (prepare(&gpu, numbers, count * sizeof *numbers)) return 1;
    TRY_REDTUNE(redtune_open(NULL, &rt, &err));
    TRY_REDTUNE(redtune_plan_create(rt, &problem, &plan, &err));
    if (run(plan, &gpu, count, &sum, &milliseconds)) return 1;

    redtune_plan_info(plan, &info);
    printf("sum of %llu f32: %.9g, on the host %.9g\n", (unsigned long long)count, sum, wanted);
    printf("config: %s %s (%s)\n", info.family, info.config, redtune_match_name(info.match));
    printf("time: %.2f us per call, the caches warm\n", 1e3 * milliseconds / TIMED_CALLS);
    redtune_plan_destroy(plan);
    redtune_close(rt);

    /* The numbers are positive: a hundred roundings of float, far more than the kernel's tree is
     * deep, are 6e-6 of the sum. */
    if (fabs(sum - wanted) <= 6e-6 * wanted) return 0;
    fprintf(stderr, "sum: the GPU's sum is wrong\n");
    return 1;
}

int main(int argc, char **argv) {
    uint64_t count = argc > 1 ? strtoull(argv[1], NULL, 10) : UINT64_C(1) << 24;
    float *numbers = count < SIZE_MAX / sizeof *numbers ? malloc(count * sizeof *numbers) : NULL;
    if (!count || !numbers) {
        fprintf(stderr, "sum: COUNT is a number of floats that fit in memory, from 1 on\n");
        free(numbers);
        return EXIT_FAILURE;
    }
    double wanted = fill(numbers, count);
    /* On failure the process ends at once, and with it what it holds of the GPU. */
    int failed = sum_numbers(numbers, count, wanted);
    free(numbers);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
