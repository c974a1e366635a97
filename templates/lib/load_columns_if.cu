//@ -- As load_columns.cu, of a row that may not be there.
//@ takes given, dtype, layout, load, vec
//@ local loads = require "lib/load"
//@ local single = loads.layout(dtype, 1)
//@ include "lib/load_if.cu"
//@ if vec > 1 then
__device__ __forceinline__ @{single.word.c} load_single_if(bool there, const element *from)
{
    @{single.word.c} word[1] = {0};
    @{loads.guarded(single, load, "word", "from", "there")}
    return word[0];
}

//@ end
//@ if given.masked and vec > 1 then
//@     local byte = given.other_layout(1)
__device__ __forceinline__ u32 load_other_if(bool there, const unsigned char *from)
{
    @{byte.word.c} word[1] = {0};
    @{given.load_other_if(1, load, "word", "from", "there")}
    return word[0];
}

//@ end
// One element of each of this thread's columns, if the row is there: else nothing is read.
template <bool WHOLE>
__device__ __forceinline__ vector load_columns_if(bool there, const element *from, u32 columns@{given.parameter})
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
//@         local single = from == "mask" and "load_other_if" or "load_single_if"
//@         for j = 0, vec - 1 do
//@             local word = (i == 1 and "v.word[" or "v.other[") .. j // of.per_word .. "]"
//@             local bit = 8 * bytes * (j % of.per_word)
//@             local at = ("column_of<false>(%d)"):format(j)
//@             local piece = ("%s(there && %s < columns, %s + %s)"):format(single, at, from, at)
//@             if of.per_word > 1 then
        @{word} |= @{piece} << @{bit};
//@             else
        @{word} = @{piece};
//@             end
//@         end
//@     end
        return v;
    }
//@ end
    return load_vector_if(there, (u64)(from + column_of<WHOLE>(0))@{given.argument});
}

