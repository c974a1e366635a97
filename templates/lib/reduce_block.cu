//@ -- Combines the values of a block of BLOCK threads: the parameter tail says how.
//@ takes op, acc, given, block, tail
// Thread 0 returns the combination of the block's values. All threads call it; between two calls
// stands a barrier.
__device__ __forceinline__ accumulator reduce_block(accumulator a@{given.parameter})
{
//@ if block == 32 then
    return reduce_warp(a@{given.argument});
//@ elseif tail == "shuffle" then
//@     local warps = block // 32
    __shared__ accumulator warp_value[@{warps}];
    const u32 warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    a = reduce_warp(a@{given.argument});
    if (lane == 0) warp_value[warp] = a;
    __syncthreads();
    if (warp == 0) {
        a = lane < @{warps} ? warp_value[lane] : @{op.identity};
//@     if op.lanes then
        a = @{op.lanes("a", warps)};
//@     end
//@     include("lib/fold_lanes.cu", { lanes = op.lanes and 1 or warps })
    }
    return a;
//@ else
    __shared__ accumulator shared[BLOCK];
    const u32 thread = threadIdx.x;
    shared[thread] = a;
    __syncthreads();
//@     local step = block // 2
//@     while step >= 32 do
    if (thread < @{step}) shared[thread] = combine(shared[thread], shared[thread + @{step}]@{given.argument});
    __syncthreads();
//@         step = step // 2
//@     end
    if (thread < 32) a = reduce_warp(shared[thread]@{given.argument});
    return a;
//@ end
}

