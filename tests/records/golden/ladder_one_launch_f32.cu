// The ladder, step 10: one_launch.
//
// The block that draws the last ticket adds up the blocks' sums: no second launch.
//
// total = input[0] + ... + input[count-1], on blocks of 256 threads.

typedef unsigned int u32;
typedef unsigned long long u64;

constexpr u32 BLOCK = 256;  // threads per block, a power of two

// Lane 0 returns the sum of the warp's.
__device__ float warp_sum(float sum)
{
    for (u32 s = 16; s > 0; s /= 2) sum += __shfl_down_sync(0xffffffff, sum, s);
    return sum;
}

// Thread 0 returns the sum of the block's.
__device__ float block_sum(float sum)
{
    __shared__ float of_warp[BLOCK / 32];
    const u32 warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    sum = warp_sum(sum);
    if (lane == 0) of_warp[warp] = sum;
    __syncthreads();
    if (warp == 0) sum = warp_sum(lane < BLOCK / 32 ? of_warp[lane] : 0.0f);
    return sum;
}

extern "C" __global__ void __launch_bounds__(256)
redtune_reduce(const float *input, u64 count, float *total, char *scratch)
{
    const u32 thread = threadIdx.x;
    const u64 first = (u64)blockIdx.x * BLOCK + thread, stride = (u64)gridDim.x * BLOCK;
    float sum = 0.0f;
    // input must be aligned to 16 bytes, as the start of every allocation is.
    const float4 *vectors = (const float4 *)input;
    for (u64 i = first; i < count / 4; i += stride) {
        const float4 v = vectors[i];
        sum += v.x;
        sum += v.y;
        sum += v.z;
        sum += v.w;
    }
    // What is left does not fill a vector.
    const u64 rest = count / 4 * 4 + first;
    if (rest < count) sum += input[rest];

    // Every block leaves its sum in partial and draws a ticket. Who draws the last one finds all
    // sums there: the fences order a sum before its block's ticket. The counter wraps to zero.
    float *partial = (float *)(scratch + 524544);
    u32 *tickets = (u32 *)scratch;
    __shared__ bool last;
    sum = block_sum(sum);
    if (thread == 0) {
        partial[blockIdx.x] = sum;
        __threadfence();
        last = atomicInc(tickets, gridDim.x - 1) == gridDim.x - 1;
        __threadfence();
    }
    __syncthreads();
    if (!last) return;
    sum = 0.0f;
    for (u32 b = thread; b < gridDim.x; b += BLOCK) sum += __ldcg(partial + b);  // past L1
    sum = block_sum(sum);
    if (thread == 0) *total = sum;
}
