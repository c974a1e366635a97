/* Device: the bench's own kernels, which prepare what is timed. Each is only queued on the stream.
 */
#pragma once

#include <cuda_runtime_api.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Fills count elements with (a hash of their index & random_bits) | fixed_bits. */
cudaError_t bench_device_fill(void *out, size_t element_bytes, uint64_t count, uint64_t random_bits,
                              uint64_t fixed_bits, cudaStream_t stream);
/* Reads the bytes, a multiple of 16. sink has room for 16 bytes and is not written. */
cudaError_t bench_device_read(const void *in, size_t bytes, void *sink, cudaStream_t stream);
/* Does nothing, in an ordinary launch. */
cudaError_t bench_device_idle(cudaStream_t stream);
/* Lasts ns. */
cudaError_t bench_device_hold(double ns, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
