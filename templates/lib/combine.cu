//@ -- The op's functions, and the combination of two accumulators.
//@ takes op, given, result, second
//@ if op.functions then
@{op.functions}
//@ end
__device__ __forceinline__ accumulator combine(accumulator a, accumulator b@{given.parameter})
{
    return @{op.combine("a", "b")};
}

//@ include "lib/write.cu"
