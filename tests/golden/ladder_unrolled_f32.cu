// The ladder, step 6: unrolled.
//
// The block's size is known when the kernel is made, so the loop is written out: no counter, no
// test, no branch back.
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
    const u64 i = (u64)blockIdx.x * 2 * BLOCK + thread;

    // Threads behind the end bring zero. They must not leave, for all must reach the barriers.
    float sum = i < count ? input[i] : 0.0f;
    if (i + BLOCK < count) sum += input[i + BLOCK];
    sums[thread] = sum;
    __syncthreads();

    if (thread < 128) sums[thread] += sums[thread + 128];
    __syncthreads();
    if (thread < 64) sums[thread] += sums[thread + 64];
    __syncthreads();
    // One warp is left. Its lanes do not run in step by themselves, not since Volta: between
    // writing a sum and reading it stands __syncwarp. And no lane reads what another writes.
    if (thread < 32) {
        sums[thread] += sums[thread + 32];
        __syncwarp();
        if (thread < 16) sums[thread] += sums[thread + 16];
        __syncwarp();
        if (thread < 8) sums[thread] += sums[thread + 8];
        __syncwarp();
        if (thread < 4) sums[thread] += sums[thread + 4];
        __syncwarp();
        if (thread < 2) sums[thread] += sums[thread + 2];
        __syncwarp();
        if (thread < 1) sums[thread] += sums[thread + 1];
        __syncwarp();
    }
    if (thread == 0) partial[blockIdx.x] = sums[0];
}
