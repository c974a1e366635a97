// The ladder, step 1: modulo.
//
// The same tree in shared memory, which lies beside the block's own threads. The threads that
// add lie scattered: every warp takes part in most rounds, with ever fewer of its lanes.
//
// partial[b] = the sum of what block b takes of input[0], ..., input[count-1], on blocks of
// 256 threads. No block can wait for all others, so the kernel is launched again over the
// partial sums, with an element of type float, until one is left.

typedef unsigned int u32;
typedef unsigned long long u64;

constexpr u32 BLOCK = 256;  // threads per block, a power of two

extern "C" __global__ void __launch_bounds__(256)
redtune_reduce(const float *input, u64 count, float *partial)
{
    __shared__ float sums[BLOCK];
    const u32 thread = threadIdx.x;
    const u64 i = (u64)blockIdx.x * BLOCK + thread;

    // Threads behind the end bring zero. They must not leave, for all must reach the barriers.
    sums[thread] = i < count ? input[i] : 0.0f;
    __syncthreads();

    for (u32 s = 1; s < blockDim.x; s *= 2) {
        if (thread % (2 * s) == 0) sums[thread] += sums[thread + s];
        __syncthreads();
    }
    if (thread == 0) partial[blockIdx.x] = sums[0];
}
