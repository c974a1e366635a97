//@ -- Combines the values of a warp.
//@ takes op, acc, given
// Lane 0 returns the combination of the warp's values.
__device__ __forceinline__ accumulator reduce_warp(accumulator a@{given.parameter})
{
//@ if op.lanes then
    return @{op.lanes("a", 32)};
//@ else
//@ include("lib/fold_lanes.cu", { lanes = 32 })
    return a;
//@ end
}

