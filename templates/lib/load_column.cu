//@ -- A column's value of a block, from those that its rows of threads have in shared memory.
//@ takes acc, given
// The combination of all rows' values of that column, in the order of the rows.
__device__ __forceinline__ accumulator load_column(const accumulator *shared, u32 column@{given.parameter})
{
    accumulator a = @{acc.copy("shared[column]")};
#pragma unroll
    for (u32 row = 1; row < ROWS; row++) a = combine(a, shared[row * STRIP + column]@{given.argument});
    return a;
}

