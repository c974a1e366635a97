//@ -- Combines the values of a block whose warps' values fit into a thread's registers.
//@ takes given, block
// Thread 0 returns the combination of the block's values. All threads call it; between two calls
// stands a barrier. Thread 0 combines the warps' values itself, in the order in which shuffles would:
// it reads them by a few loads at once, where each shuffle waits for the one before.
__device__ __forceinline__ accumulator reduce_block(accumulator a@{given.parameter})
{
//@ local warps = block // 32
    __shared__ accumulator warp_value[@{warps}];
    a = reduce_warp(a@{given.argument});
    if (threadIdx.x % 32 == 0) warp_value[threadIdx.x / 32] = a;
    __syncthreads();
    if (threadIdx.x == 0) {
        accumulator value[@{warps}];
#pragma unroll
        for (u32 i = 0; i < @{warps}; i++) value[i] = warp_value[i];
//@ local step = warps // 2
//@ while step >= 1 do
#pragma unroll
        for (u32 i = 0; i < @{step}; i++) value[i] = combine(value[i], value[i + @{step}]@{given.argument});
//@     step = step // 2
//@ end
        a = value[0];
    }
    return a;
}

