//@ -- Writes the result of a segment.
//@ takes op, given, result, order
__device__ __forceinline__ void finish(@{result.c} *output, u64 segment, accumulator a, u64 count@{given.parameter})
{
//@ if order == "fixed" then
    a = combine(@{op.identity}, a@{given.argument});
//@ end
    @{given.write("output[segment]", "a", "count")}
}

