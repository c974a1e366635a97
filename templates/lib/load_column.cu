//@ -- A column's value of a block, from those that its rows of threads have in shared memory.
//@ -- `looped`: a row at a time, which is less code of what is long to combine.
//@ takes acc, given, looped?
// The combination of all rows' values of that column, in the order of the rows.
__device__ __forceinline__ accumulator load_column(const accumulator *shared, u32 column@{given.parameter})
{
    accumulator a = @{acc.copy("shared[column]")};
//@ include("lib/combine_shared.cu", { many = "ROWS", first = "column", looped = looped })
    return a;
}

