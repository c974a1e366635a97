//@ -- Within reduce_all(): the last block goes on, if one saw that offsets `decrease`. `thread` is
//@ -- the thread's number.
//@ takes thread
    // Blocks count themselves, and in the upper half those that saw offsets decrease.
    __shared__ bool redoes;
    __threadfence();
    __syncthreads();
    if (@{thread} == 0) {
        const u32 one = decrease ? 0x10001 : 1, sum = atomicAdd((u32 *)scratch, one) + one;
        const bool all = (sum & 0xffff) == blocks;
        if (all) *(u32 *)scratch = 0;
        redoes = all && sum > 0xffff;
        __threadfence();
    }
    __syncthreads();
    if (!redoes) return;
