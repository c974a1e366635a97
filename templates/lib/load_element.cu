//@ -- Loads of one element, for those that stand before or behind whole vectors: with vec == 1, none.
//@ takes dtype, loads, load, vec
//@ if vec > 1 then
//@     local single = loads.layout(dtype, 1)
__device__ __forceinline__ value load_element(const element *from)
{
    @{single.word.c} word[1];
    @{loads.statement(single, load, "word", "from")}
    return @{dtype.unpack("word[0]", 0)};
}

//@ end
