// The ladder, step 11: poll.
//
// A block hands its sum over in words that hold 4 bytes of it and a flag, each in one store,
// and the first block waits for the words: no fence, no atomic operation.
//
// total = input[0] + ... + input[count-1], on blocks of 256 threads.

typedef unsigned int u32;
typedef unsigned long long u64;

constexpr u32 BLOCK = 256;  // threads per block, a power of two

// Lane 0 returns the sum of the warp's.
__device__ double warp_sum(double sum)
{
    for (u32 s = 16; s > 0; s /= 2) sum += __shfl_down_sync(0xffffffff, sum, s);
    return sum;
}

// Thread 0 returns the sum of the block's.
__device__ double block_sum(double sum)
{
    __shared__ double of_warp[BLOCK / 32];
    const u32 warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    sum = warp_sum(sum);
    if (lane == 0) of_warp[warp] = sum;
    __syncthreads();
    if (warp == 0) sum = warp_sum(lane < BLOCK / 32 ? of_warp[lane] : 0.0);
    return sum;
}

// A sum is handed over in words of 32 bits of it and, above them, a flag. They are zero before
// and after. volatile: each access is one, made now, of the memory that all blocks share.
constexpr u32 WORDS = 2;

__device__ void give(volatile u64 *word, double sum)
{
    word[0] = 1ull << 32 | (u32)__double2loint(sum);
    word[1] = 1ull << 32 | (u32)__double2hiint(sum);
}

__device__ double take(volatile u64 *word)
{
    u64 word0;
    do word0 = word[0]; while (word0 >> 32 == 0);
    word[0] = 0;
    const u32 half0 = (u32)word0;
    u64 word1;
    do word1 = word[1]; while (word1 >> 32 == 0);
    word[1] = 0;
    const u32 half1 = (u32)word1;
    return __hiloint2double((int)half1, (int)half0);
}

extern "C" __global__ void __launch_bounds__(256)
redtune_reduce(const double *input, u64 count, double *total, char *scratch)
{
    const u32 thread = threadIdx.x;
    const u64 first = (u64)blockIdx.x * BLOCK + thread, stride = (u64)gridDim.x * BLOCK;
    double sum = 0.0;
    // input must be aligned to 16 bytes, as the start of every allocation is.
    const double2 *vectors = (const double2 *)input;
    for (u64 i = first; i < count / 2; i += stride) {
        const double2 v = vectors[i];
        sum += v.x;
        sum += v.y;
    }
    // What is left does not fill a vector.
    const u64 rest = count / 2 * 2 + first;
    if (rest < count) sum += input[rest];

    // Block 0 waits for all others, which wait for nobody: no deadlock, even where they do not all
    // run at once.
    u64 *words = (u64 *)(scratch + 256);
    sum = block_sum(sum);
    if (blockIdx.x > 0) {
        if (thread == 0) give(words + blockIdx.x * WORDS, sum);
        return;
    }
    if (thread > 0) sum = 0.0;  // thread 0 has block 0's sum
    for (u32 b = thread; b < gridDim.x; b += BLOCK)
        if (b > 0) sum += take(words + b * WORDS);
    __syncthreads();
    sum = block_sum(sum);
    if (thread == 0) *total = sum;
}
