//@ -- Loads of one element, for those that stand before or behind whole vectors: with vec == 1,
//@ -- none, unless the function has a `name` of its own.
//@ takes dtype, load, vec, name?
//@ local loads = require "lib/load"
//@ if name or vec > 1 then
//@     local single = loads.layout(dtype, 1)
__device__ __forceinline__ value @{name or "load_element"}(const element *from)
{
    @{single.word.c} word[1];
    @{loads.statement(single, load, "word", "from")}
    return @{dtype.unpack("word[0]", 0)};
}

//@ end
