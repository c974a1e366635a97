//@ -- Elements of the fixed order, one by one: the leaf of one, and its load. `single` and `byte` are the layouts of
//@ -- such loads.
//@ takes op, given, dtype
//@ local loads = require "lib/load"
//@ local single, byte = loads.layout(dtype, 1), given.other_layout(1)
__device__ __forceinline__ accumulator map(value x@{given.inputs > 1 and ", " .. given.other_value .. " y" or ""}@{given.parameter})
{
    return @{op.map("x", "y")};
}

__device__ __forceinline__ @{single.word.c} load_element_word(u64 from)
{
    @{single.word.c} word[1];
    @{loads.statement(single, "plain", "word", "from")}
    return word[0];
}

//@ if given.masked then
__device__ __forceinline__ @{byte.word.c} load_other_word(u64 from)
{
    @{byte.word.c} word[1];
    @{given.load_other(1, "plain", "word", "from")}
    return word[0];
}

//@ end
