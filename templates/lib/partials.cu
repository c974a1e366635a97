//@ -- Partial results in scratch, and their combination by one block, or by a second launch.
//@ takes op, acc, given, scratch
//@ include "lib/slots.cu"
// Thread 0 returns the combination of the partial results of all blocks.
__device__ __forceinline__ accumulator reduce_partials(void *scratch, u32 blocks@{given.parameter})
{
    accumulator a = @{op.identity};
    for (u32 i = threadIdx.x; i < blocks; i += BLOCK)
        a = combine(a, @{acc.reload("partials(scratch) + i")}@{given.argument});
    return reduce_block(a@{given.argument});
}

