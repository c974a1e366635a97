/* Gpu: the stream, the events and the memory that contestants are timed with, by the CUDA runtime.
 */
#pragma once

#include <cuda_runtime_api.h>
#include "bench/dtype.h"
#include "base/fail.h"

enum { BENCH_OUTPUT_BYTES = 16 }; /* of one contestant's result */

typedef struct bench_gpu {
    cudaStream_t stream;
    cudaEvent_t start, stop;
    char *pool; /* test data; calls are dealt different parts of it */
    size_t pool_bytes;
    char *flush; /* read to push everything else out of L2; written, it would leave L2 full of data
                  * that the timed kernel has to wait for until it is in memory */
    size_t flush_bytes;
    bool flush_writes; /* all the same: others' figures are made that way */
    char *output;
    int sm_count;
    bool overlaps;    /* launches may begin while the kernel before ends */
    double peak_gbps; /* of the memory bus; 0 if unknown */
    double hold_ns;   /* how long the GPU is kept busy while the host queues what is timed */
} bench_gpu;

/* Records what a call of the CUDA runtime failed with. */
redtune_status bench_gpu_check(cudaError_t rc, redtune_error *err, const char *what);

/* Takes the current device's memory for inputs of up to bytes_max, less if there is less. device is
 * what redtune tells of it. */
redtune_status bench_gpu_open(size_t bytes_max, const redtune_device_info *device,
                              bool flush_writes, bench_gpu *out, redtune_error *err);
void bench_gpu_close(bench_gpu *gpu);

/* Fills the pool with test data. */
redtune_status bench_gpu_fill(const bench_gpu *gpu, const bench_dtype *dtype, redtune_error *err);
/* Each queues work on the stream. */
redtune_status bench_gpu_flush(const bench_gpu *gpu, redtune_error *err);
/* An ordinary kernel that does nothing. */
redtune_status bench_gpu_idle(const bench_gpu *gpu, redtune_error *err);
redtune_status bench_gpu_hold(const bench_gpu *gpu, redtune_error *err);
redtune_status bench_gpu_wait(const bench_gpu *gpu, redtune_error *err);
