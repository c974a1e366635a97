//@ -- What is done where offsets decrease. `value` is the value of segment `one`, an expression
//@ -- without its last argument, which the first lane of a warp needs.
//@ takes given, value
// Makes results of every step-th of the segments from i on, by a warp: offsets decrease, and what was
// dealt does not hold.
__device__ __forceinline__ void reduce_slowly(const element *input, const segments &s, u64 i, u64 step,
                                              @{given.output})
{
#pragma unroll 1
    for (; i < s.count; i += step) {
        const segment one = segment_of(s, i);
        const accumulator a = @{value}@{given.argument});
        if (threadIdx.x % 32 == 0) finish(output, i, a, one.count@{given.argument});
    }
}

