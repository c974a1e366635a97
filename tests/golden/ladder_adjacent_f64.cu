// The ladder, step 4b: adjacent.
//
// Each thread adds two elements that lie side by side: a warp's loads are no longer
// neighbouring words, so that each of the two fetches every sector that both need.
//
// partial[b] = the sum of what block b takes of input[0], ..., input[count-1], on blocks of
// 256 threads. No block can wait for all others, so the kernel is launched again over the
// partial sums, with an element of type double, until one is left.

typedef unsigned int u32;
typedef unsigned long long u64;

constexpr u32 BLOCK = 256;  // threads per block, a power of two

extern "C" __global__ void __launch_bounds__(256)
redtune_reduce(const double *input, u64 count, double *partial)
{
    __shared__ double sums[BLOCK];
    const u32 thread = threadIdx.x;
    const u64 i = 2 * ((u64)blockIdx.x * BLOCK + thread);

    // Threads behind the end bring zero. They must not leave, for all must reach the barriers.
    double sum = i < count ? input[i] : 0.0;
    if (i + 1 < count) sum += input[i + 1];
    sums[thread] = sum;
    __syncthreads();

    for (u32 s = blockDim.x / 2; s > 0; s /= 2) {
        if (thread < s) sums[thread] += sums[thread + s];
        __syncthreads();
    }
    if (thread == 0) partial[blockIdx.x] = sums[0];
}
