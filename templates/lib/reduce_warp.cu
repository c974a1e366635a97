//@ -- Combines the values of a warp.
//@ takes op, acc, given
// Lane 0 returns the combination of the warp's values.
__device__ __forceinline__ accumulator reduce_warp(accumulator a@{given.parameter})
{
//@ if op.lanes then
    return @{op.lanes("a", 32)};
//@ else
//@ for _, step in ipairs { 16, 8, 4, 2, 1 } do
    a = combine(a, @{acc.shuffle("a", step)}@{given.argument});
//@ end
    return a;
//@ end
}

