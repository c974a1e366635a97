/* Cub: CUB's DeviceReduce behind plain functions, one per op and dtype. */
#pragma once

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Reduces count elements at in into out, on stream. scratch NULL: only says how many bytes of
 * scratch that takes. out has room for 16 bytes; the result comes first. */
typedef cudaError_t bench_cub_run(void *scratch, size_t *scratch_bytes, const void *in,
                                  uint64_t count, void *out, cudaStream_t stream);

typedef struct bench_cub_call {
    const char *dtype;
    const char *result; /* its dtype */
    bench_cub_run *run;
} bench_cub_call;

/* Each ends with an entry whose dtype is NULL. */
extern const bench_cub_call bench_cub_sum[], bench_cub_sum_fixed[], bench_cub_min[],
    bench_cub_max[], bench_cub_argmin[], bench_cub_argmax[];

extern const int bench_cub_version; /* CUB_VERSION: 300001 is 3.0.1 */

/* CUB's call for an op and dtype, by redtune's names; NULL if it has none. fixed: whose bits are
 * the same on every GPU. */
const bench_cub_call *bench_cub_find(const char *op, const char *dtype, bool fixed);

#ifdef __cplusplus
}
#endif
