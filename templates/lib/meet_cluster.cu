//@ -- Blocks that are one cluster, and hand the values of their warps to block 0 in shared memory.
//@ takes op, acc, given, block, cluster_blocks
// A warp hands over its value in words of 32 bits of it and, above them, a flag: whoever sees the
// flag has the bits. The words are in the shared memory of block 0, which is a fraction of the way
// to L2. They are zero before a warp writes, since block 0 clears them before all blocks meet.
// That is also when all of them have started. Block 0 waits for the words, so it ends last.
constexpr u32 BLOCKS = @{cluster_blocks};  // of the cluster, which is the grid
constexpr u32 WARPS = BLOCK / 32;
constexpr u32 VALUES = BLOCKS * WARPS;
constexpr u32 WORDS = @{acc.halves};  // of a value

// All threads call it, before they do anything that takes time.
__device__ __forceinline__ void begin_meeting(u64 *words)
{
    if (blockIdx.x == 0) {
//@ local words = cluster_blocks * block // 32 * acc.halves
//@ if words <= block then
        if (threadIdx.x < @{words}) words[threadIdx.x] = 0;
//@ else
        for (u32 i = threadIdx.x; i < @{words}; i += BLOCK) words[i] = 0;
//@ end
        asm volatile("barrier.cluster.arrive.release.aligned;" : : : "memory");
    } else {
        // There is nothing to release, and a fence would take time.
        asm volatile("barrier.cluster.arrive.relaxed.aligned;" : : : "memory");
    }
}

// The first lane of each warp has the warp's value. All threads call it.
__device__ __forceinline__ void hand_over(u64 *words, accumulator a)
{
    const u32 value = blockIdx.x * WARPS + threadIdx.x / 32;
    const u32 place = (u32)__cvta_generic_to_shared(words + value * WORDS);
    u32 to;
    asm("mapa.shared::cluster.u32 %0, %1, 0;" : "=r"(to) : "r"(place));
    asm volatile("barrier.cluster.wait.acquire.aligned;" : : : "memory");
    if (threadIdx.x % 32 > 0) return;
//@ for i = 0, acc.halves - 1 do
    asm volatile("st.relaxed.cluster.shared::cluster.u64 [%0], %1;" : : "r"(to + @{8 * i}), "l"(1ull << 32 | @{acc.half("a", i)}) : "memory");
//@ end
}

// Waits for a value.
__device__ __forceinline__ accumulator collect(const u64 *from)
{
    const u32 place = (u32)__cvta_generic_to_shared(from);
    u64 word[WORDS];
    u64 flags;
    do {
#pragma unroll
        for (u32 i = 0; i < WORDS; i++)
            asm volatile("ld.relaxed.cluster.shared::cta.u64 %0, [%1];" : "=l"(word[i]) : "r"(place + 8 * i) : "memory");
        flags = word[0];
#pragma unroll
        for (u32 i = 1; i < WORDS; i++) flags &= word[i];
    } while (flags >> 32 == 0);
//@ for i = 0, acc.halves - 1 do
    const u32 half@{i} = (u32)word[@{i}];
//@ end
    return @{acc.join("half")};
}

// Thread 0 of block 0 returns the combination of all values. The first warp of block 0 calls it.
__device__ __forceinline__ accumulator end_meeting(const u64 *words@{given.parameter})
{
    accumulator a = @{op.identity};
//@ if block < 128 then
    if (threadIdx.x < VALUES) a = collect(words + threadIdx.x * WORDS);
//@ else
#pragma unroll
    for (u32 i = 0; i < VALUES; i += 32) a = combine(a, collect(words + (i + threadIdx.x) * WORDS)@{given.argument});
//@ end
    __syncwarp();
    return reduce_warp(a@{given.argument});
}

