/* Floor_kernels: the kernels that sum within each block and never combine the blocks. */
#pragma once

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { BENCH_VECTOR_BYTES = 16 };

typedef struct bench_floor_launch {
    uint64_t vectors; /* of BENCH_VECTOR_BYTES, below 2^32 */
    unsigned blocks;
    bool overlap; /* as redtune's launches do from sm_90 on: begins while the kernel before ends */
} bench_floor_launch;

/* Sums the vectors at in; block i writes its sum, of redtune's usual dtype for it, into the 8 bytes
 * at partials + 8 i. */
typedef cudaError_t bench_floor_run(const bench_floor_launch *launch, const void *in,
                                    void *partials, cudaStream_t stream);

/* The kernel for a dtype's name, a number of threads per block (32, 64, ..., 1024) and of loads in
 * flight per thread (1, 2, 4, 8); NULL if there is none. */
bench_floor_run *bench_floor_find(const char *dtype, int threads, int unroll);

#ifdef __cplusplus
}
#endif
