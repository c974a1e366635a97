//@ -- Partial results in scratch, which blocks leave for one of them, or for a second launch.
// The partial results of the blocks, in the order of their indices.
__device__ __forceinline__ accumulator *partials(void *scratch)
{
    return (accumulator *)((char *)scratch + @{scratch.slots_offset});
}

// Thread 0 returns the combination of the partial results of all blocks.
__device__ __forceinline__ accumulator reduce_partials(void *scratch, u32 blocks)
{
    accumulator a = @{op.identity};
    for (u32 i = threadIdx.x; i < blocks; i += BLOCK)
        a = combine(a, @{acc.reload("partials(scratch) + i")});
    return reduce_block(a);
}

