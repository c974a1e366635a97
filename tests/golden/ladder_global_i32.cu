// The ladder, step 0: global.
//
// Neighbours are added, then neighbours of neighbours, in place in global memory: the
// textbook's tree as one first writes it. It overwrites what it adds, so it needs a copy of the
// input, and every round reads and writes memory that all blocks share.
//
// partial[b] = the sum of what block b takes of input[0], ..., input[count-1], on blocks of
// 256 threads. No block can wait for all others, so the kernel is launched again over the
// partial sums, with an element of type i64, until one is left.
// work has room for a sum of every thread.

typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;

constexpr u32 BLOCK = 256;  // threads per block, a power of two

extern "C" __global__ void __launch_bounds__(256)
redtune_reduce(const int *input, u64 count, i64 *partial, i64 *work)
{
    // The tree overwrites what it adds, and the input is not this kernel's to overwrite.
    i64 *sums = work + (u64)blockIdx.x * BLOCK;
    const u32 thread = threadIdx.x;
    const u64 i = (u64)blockIdx.x * BLOCK + thread;

    // Threads behind the end bring zero. They must not leave, for all must reach the barriers.
    sums[thread] = i < count ? input[i] : 0;
    __syncthreads();

    for (u32 s = 1; s < blockDim.x; s *= 2) {
        if (thread % (2 * s) == 0) sums[thread] += sums[thread + s];
        __syncthreads();
    }
    if (thread == 0) partial[blockIdx.x] = sums[0];
}
