/* Gpu: the stream, the events and the memory that contestants are timed with. */
#include "bench/gpu.h"

#include "bench/device.h"

enum {
    ROTATED = 4, /* inputs of the largest size */
    WARM_UP_READS = 1000,
};

#define POOL_BYTES  ((size_t)1 << 30)   /* at the least */
#define SPARE_BYTES ((size_t)768 << 20) /* left to contestants and others */
#define HOLD_NS     100000.0

redtune_status bench_gpu_check(cudaError_t rc, redtune_error *err, const char *what) {
    if (rc == cudaSuccess) return REDTUNE_OK;
    return rdt_fail(err, REDTUNE_DEVICE, (long)rc, "cannot %s: %s", what, cudaGetErrorString(rc));
}

static redtune_status allocate_device(char **out, size_t bytes, redtune_error *err) {
    void *memory = NULL;
    cudaError_t rc = cudaMalloc(&memory, bytes);
    if (rc)
        return rdt_fail(err, REDTUNE_DEVICE, (long)rc, "cannot allocate %zu bytes: %s", bytes,
                        cudaGetErrorString(rc));
    *out = memory;
    return REDTUNE_OK;
}

/* Bytes of the pool: several of the largest inputs if there is room, one if there is little. */
static redtune_status choose_pool(bench_gpu *gpu, size_t bytes_max, redtune_error *err) {
    size_t free_bytes = 0, total_bytes = 0;
    redtune_status status = bench_gpu_check(cudaMemGetInfo(&free_bytes, &total_bytes), err,
                                            "ask for free device memory");
    if (status) return status;
    size_t taken = gpu->flush_bytes + SPARE_BYTES;
    size_t room = free_bytes > taken ? (free_bytes - taken) / 256 * 256 : 0;
    if (!room)
        return rdt_fail(err, REDTUNE_DEVICE, 0, "cannot run with %zu MiB of free device memory",
                        free_bytes >> 20);
    size_t input = (bytes_max + 255) / 256 * 256;
    size_t wanted = input * ROTATED > POOL_BYTES ? input * ROTATED : POOL_BYTES;
    gpu->pool_bytes = wanted < room ? wanted : room;
    return REDTUNE_OK;
}

static redtune_status create(bench_gpu *gpu, size_t bytes_max, redtune_error *err) {
    redtune_status status = choose_pool(gpu, bytes_max, err);
    if (!status) status = allocate_device(&gpu->pool, gpu->pool_bytes, err);
    if (!status) status = allocate_device(&gpu->flush, gpu->flush_bytes, err);
    if (!status) status = allocate_device(&gpu->output, BENCH_OUTPUT_BYTES, err);
    if (!status)
        status = bench_gpu_check(cudaStreamCreateWithFlags(&gpu->stream, cudaStreamNonBlocking),
                                 err, "create a stream");
    if (!status) status = bench_gpu_check(cudaEventCreate(&gpu->start), err, "create an event");
    if (!status) status = bench_gpu_check(cudaEventCreate(&gpu->stop), err, "create an event");
    return status;
}

/* Fills the flush buffer and reads it until the GPU has woken up. Every kernel runs once, since
 * loading it might not be legal while a graph is captured. */
static redtune_status warm_up(const bench_gpu *gpu, redtune_error *err) {
    redtune_status status = bench_gpu_check(
        bench_device_fill(gpu->flush, 8, gpu->flush_bytes / 8, UINT64_MAX, 0, gpu->stream), err,
        "fill memory");
    for (int i = 0; !status && i < WARM_UP_READS; i++) status = bench_gpu_flush(gpu, err);
    if (!status) status = bench_gpu_idle(gpu, err);
    if (!status) status = bench_gpu_hold(gpu, err);
    if (!status) status = bench_gpu_wait(gpu, err);
    return status;
}

redtune_status bench_gpu_open(size_t bytes_max, const redtune_device_info *device,
                              bool flush_writes, bench_gpu *out, redtune_error *err) {
    bench_gpu gpu = {.flush_writes = flush_writes,
                     .sm_count = device->sm_count,
                     .overlaps = device->major >= 9,
                     .peak_gbps = device->peak_gbps,
                     .hold_ns = HOLD_NS};
    gpu.flush_bytes = 2 * (device->l2_bytes > 4 << 20 ? (size_t)device->l2_bytes : 4 << 20);
    redtune_status status = create(&gpu, bytes_max, err);
    if (!status) status = warm_up(&gpu, err);
    if (status)
        bench_gpu_close(&gpu);
    else
        *out = gpu;
    return status;
}

void bench_gpu_close(bench_gpu *gpu) {
    cudaFree(gpu->pool);
    cudaFree(gpu->flush);
    cudaFree(gpu->output);
    if (gpu->start) cudaEventDestroy(gpu->start);
    if (gpu->stop) cudaEventDestroy(gpu->stop);
    if (gpu->stream) cudaStreamDestroy(gpu->stream);
    *gpu = (bench_gpu){0};
}

redtune_status bench_gpu_fill(const bench_gpu *gpu, const bench_dtype *dtype, redtune_error *err) {
    return bench_gpu_check(bench_device_fill(gpu->pool, dtype->bytes,
                                             gpu->pool_bytes / dtype->bytes, dtype->random_bits,
                                             dtype->fixed_bits, gpu->stream),
                           err, "fill memory");
}

redtune_status bench_gpu_flush(const bench_gpu *gpu, redtune_error *err) {
    if (gpu->flush_writes)
        return bench_gpu_check(cudaMemsetAsync(gpu->flush, 0, gpu->flush_bytes, gpu->stream), err,
                               "flush L2");
    return bench_gpu_check(
        bench_device_read(gpu->flush, gpu->flush_bytes, gpu->output, gpu->stream), err, "flush L2");
}

redtune_status bench_gpu_idle(const bench_gpu *gpu, redtune_error *err) {
    return bench_gpu_check(bench_device_idle(gpu->stream), err, "run an empty kernel");
}

redtune_status bench_gpu_hold(const bench_gpu *gpu, redtune_error *err) {
    return bench_gpu_check(bench_device_hold(gpu->hold_ns, gpu->stream), err, "occupy the GPU");
}

redtune_status bench_gpu_wait(const bench_gpu *gpu, redtune_error *err) {
    return bench_gpu_check(cudaStreamSynchronize(gpu->stream), err, "wait for the GPU");
}
