/* Sums floats on the GPU from a program of the CUDA runtime API, and checks the sum against the
 * host's.
 *
 * Usage: sum_cudart [COUNT]
 *
 * The runtime's device pointers and streams are the driver's: they go straight to redtune. */
#include <cuda_runtime_api.h>
#include <math.h>
#include <redtune/redtune.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static int cuda_failed(cudaError_t rc, const char *call) {
    if (rc == cudaSuccess) return 0;
    fprintf(stderr, "sum_cudart: %s: %s\n", call, cudaGetErrorString(rc));
    return 1;
}

#define TRY_CUDA(call)                                                                             \
    do {                                                                                           \
        if (cuda_failed(call, #call)) return 1;                                                    \
    } while (0)

#define TRY_REDTUNE(call)                                                                          \
    do {                                                                                           \
        if (call) {                                                                                \
            fprintf(stderr, "sum_cudart: %s\n", err.message);                                      \
            return 1;                                                                              \
        }                                                                                          \
    } while (0)

static int sum_numbers(const float *numbers, uint64_t count, double wanted) {
    redtune_problem problem = redtune_problem_whole(REDTUNE_SUM, REDTUNE_F32, count);
    size_t bytes = count * sizeof *numbers;
    redtune_error err;
    redtune_info info;
    redtune *rt;
    redtune_plan *plan;
    cudaStream_t stream;
    float *in, *out, sum;
    TRY_CUDA(cudaMalloc((void **)&in, bytes));
    TRY_CUDA(cudaMalloc((void **)&out, sizeof sum));
    TRY_CUDA(cudaStreamCreate(&stream));
    TRY_CUDA(cudaMemcpyAsync(in, numbers, bytes, cudaMemcpyHostToDevice, stream));
    /* The runtime has made its context current, which is the one that redtune takes. */
    TRY_REDTUNE(redtune_open(NULL, &rt, &err));
    TRY_REDTUNE(redtune_plan_create(rt, &problem, &plan, &err));
    TRY_REDTUNE(redtune_plan_reduce(plan, in, count, out, stream, &err));
    TRY_CUDA(cudaMemcpyAsync(&sum, out, sizeof sum, cudaMemcpyDeviceToHost, stream));
    TRY_CUDA(cudaStreamSynchronize(stream));

    redtune_plan_info(plan, &info);
    printf("sum of %llu f32: %.9g, on the host %.9g\n", (unsigned long long)count, sum, wanted);
    printf("config: %s %s (%s)\n", info.family, info.config, redtune_match_name(info.match));
    redtune_plan_destroy(plan);
    redtune_close(rt);

    /* No number is negative: a hundred roundings of float, far more than the kernel's tree is
     * deep, are 6e-6 of the sum. */
    if (fabs(sum - wanted) <= 6e-6 * wanted) return 0;
    fprintf(stderr, "sum_cudart: the GPU's sum is wrong\n");
    return 1;
}

int main(int argc, char **argv) {
    uint64_t count = argc > 1 ? strtoull(argv[1], NULL, 10) : UINT64_C(1) << 24;
    float *numbers = count < SIZE_MAX / sizeof *numbers ? malloc(count * sizeof *numbers) : NULL;
    double wanted = 0;
    if (!count || !numbers) {
        fprintf(stderr, "sum_cudart: COUNT is a number of floats that fit in memory, from 1 on\n");
        free(numbers);
        return EXIT_FAILURE;
    }
    for (uint64_t i = 0; i < count; i++) {
        numbers[i] = (float)(i % 1000) / 1000.0f;
        wanted += numbers[i];
    }
    /* On failure the process ends at once, and with it what it holds of the GPU. */
    int failed = sum_numbers(numbers, count, wanted);
    free(numbers);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
