// The ladder, step 9: vector.
//
// 16 bytes per load: a quarter of the loads for elements of 4 bytes, half of them for those of
// 8, and more bytes on the way at any time.
//
// partial[b] = the sum of what block b takes of input[0], ..., input[count-1], on blocks of
// 256 threads. No block can wait for all others, so the kernel is launched again over the
// partial sums, with an element of type i64, until one is left.

typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;

constexpr u32 BLOCK = 256;  // threads per block, a power of two

// Lane 0 returns the sum of the warp's.
__device__ i64 warp_sum(i64 sum)
{
    for (u32 s = 16; s > 0; s /= 2) sum += __shfl_down_sync(0xffffffff, sum, s);
    return sum;
}

// Thread 0 returns the sum of the block's.
__device__ i64 block_sum(i64 sum)
{
    __shared__ i64 of_warp[BLOCK / 32];
    const u32 warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    sum = warp_sum(sum);
    if (lane == 0) of_warp[warp] = sum;
    __syncthreads();
    if (warp == 0) sum = warp_sum(lane < BLOCK / 32 ? of_warp[lane] : 0ll);
    return sum;
}

extern "C" __global__ void __launch_bounds__(256)
redtune_reduce(const int *input, u64 count, i64 *partial)
{
    const u32 thread = threadIdx.x;
    const u64 first = (u64)blockIdx.x * BLOCK + thread, stride = (u64)gridDim.x * BLOCK;
    i64 sum = 0ll;
    // input must be aligned to 16 bytes, as the start of every allocation is.
    const int4 *vectors = (const int4 *)input;
    for (u64 i = first; i < count / 4; i += stride) {
        const int4 v = vectors[i];
        sum += v.x;
        sum += v.y;
        sum += v.z;
        sum += v.w;
    }
    // What is left does not fill a vector.
    const u64 rest = count / 4 * 4 + first;
    if (rest < count) sum += input[rest];

    sum = block_sum(sum);
    if (thread == 0) partial[blockIdx.x] = sum;
}
