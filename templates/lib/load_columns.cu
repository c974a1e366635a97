//@ -- A thread's columns of a strip, and loads of an element of each: `single` is the layout of
//@ -- one.
//@ takes given, dtype, layout, load, vec
//@ local loads = require "lib/load"
//@ local single = loads.layout(dtype, 1)
// A strip is whole if each thread's columns are neighbours that all exist, or none does, and one
// load at a multiple of its bytes brings VEC of them. In other strips a thread's columns are WIDTH
// apart, so that the threads' loads of one element each lie side by side.
template <bool WHOLE>
__device__ __forceinline__ u32 column_of(u32 j)
{
    return WHOLE ? across() * VEC + j : across() + j * WIDTH;
}

//@ if vec > 1 then
__device__ __forceinline__ @{single.word.c} load_single(const element *from)
{
    @{single.word.c} word[1];
    @{loads.statement(single, load, "word", "from")}
    return word[0];
}

//@ end
// One element of each of this thread's columns, of a strip of `columns` columns; `from` is that of
// the first.
template <bool WHOLE>
__device__ __forceinline__ vector load_columns(const element *from, u32 columns@{given.parameter})
{
//@ if vec > 1 then
    if (!WHOLE) {
        vector v = {};
//@     for i = 1, given.inputs do
//@         if i > 1 and given.masked then
        const unsigned char *mask = second_of(from, given);
//@         elseif i > 1 then
        from = second_of(from, given);
//@         end
//@         local of = i == 1 and layout or given.other_layout(vec)
//@         local bytes, from = (i == 1 and dtype or given.other).bytes, i > 1 and given.masked and "mask" or "from"
//@         local single = from == "mask" and "load_other(%s + column_of<false>(%d))" or "load_single(%s + column_of<false>(%d))"
//@         for j = 0, vec - 1 do
//@             local word = (i == 1 and "v.word[" or "v.other[") .. j // of.per_word .. "]"
//@             local bit = 8 * bytes * (j % of.per_word)
//@             local piece = single:format(from, j)
//@             if of.per_word > 1 then
        if (column_of<false>(@{j}) < columns) @{word} |= @{piece} << @{bit};
//@             else
        if (column_of<false>(@{j}) < columns) @{word} = @{piece};
//@             end
//@         end
//@     end
        return v;
    }
//@ end
    return load_vector((u64)(from + column_of<WHOLE>(0))@{given.argument});
}

