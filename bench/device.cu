/* Device: the bench's own kernels, which prepare what is timed. */
#include "bench/device.h"

static const int threads = 256, blocks = 2048;

/* splitmix64's output function. */
static __device__ uint64_t hash(uint64_t index) {
    uint64_t bits = (index + 1) * 0x9e3779b97f4a7c15u;
    bits = (bits ^ bits >> 30) * 0xbf58476d1ce4e5b9u;
    bits = (bits ^ bits >> 27) * 0x94d049bb133111ebu;
    return bits ^ bits >> 31;
}

template <class Element>
static __global__ void fill(Element *out, uint64_t count, Element random_bits, Element fixed_bits) {
    uint64_t stride = uint64_t{gridDim.x} * blockDim.x;
    for (uint64_t i = uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += stride)
        out[i] = (static_cast<Element>(hash(i)) & random_bits) | fixed_bits;
}

template <class Element>
static cudaError_t launch_fill(void *out, uint64_t count, uint64_t random_bits, uint64_t fixed_bits,
                               cudaStream_t stream) {
    fill<<<blocks, threads, 0, stream>>>(static_cast<Element *>(out), count,
                                         static_cast<Element>(random_bits),
                                         static_cast<Element>(fixed_bits));
    return cudaGetLastError();
}

cudaError_t bench_device_fill(void *out, size_t element_bytes, uint64_t count, uint64_t random_bits,
                              uint64_t fixed_bits, cudaStream_t stream) {
    switch (element_bytes) {
    case 1: return launch_fill<uint8_t>(out, count, random_bits, fixed_bits, stream);
    case 2: return launch_fill<uint16_t>(out, count, random_bits, fixed_bits, stream);
    case 4: return launch_fill<uint32_t>(out, count, random_bits, fixed_bits, stream);
    case 8: return launch_fill<uint64_t>(out, count, random_bits, fixed_bits, stream);
    default: return cudaErrorInvalidValue;
    }
}

static __global__ void read(const uint4 *in, uint64_t count, uint4 *sink) {
    uint4 seen = {};
    uint64_t stride = uint64_t{gridDim.x} * blockDim.x;
    for (uint64_t i = uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += stride) {
        uint4 each = in[i];
        seen.x |= each.x, seen.y |= each.y, seen.z |= each.z, seen.w |= each.w;
    }
    /* Never true, since there is more than one thread; but the compiler does not know. */
    if (threadIdx.x == blockDim.x) *sink = seen;
}

cudaError_t bench_device_read(const void *in, size_t bytes, void *sink, cudaStream_t stream) {
    read<<<blocks, threads, 0, stream>>>(static_cast<const uint4 *>(in), bytes / 16,
                                         static_cast<uint4 *>(sink));
    return cudaGetLastError();
}

static __global__ void idle() {}

cudaError_t bench_device_idle(cudaStream_t stream) {
    idle<<<1, 32, 0, stream>>>();
    return cudaGetLastError();
}

static __device__ uint64_t now_ns() {
    uint64_t ns;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(ns));
    return ns;
}

static __global__ void hold(uint64_t ns) {
    uint64_t start = now_ns();
    while (now_ns() - start < ns) {
    }
}

cudaError_t bench_device_hold(double ns, cudaStream_t stream) {
    hold<<<1, 1, 0, stream>>>(static_cast<uint64_t>(ns));
    return cudaGetLastError();
}
