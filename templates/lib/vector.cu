//@ -- Loads of VEC elements, at multiples of their bytes. `layout` says how they lie in registers,
//@ -- and `loads` is lib/load.lua.
//@ takes given, dtype, layout, load, vec
//@ local loads = require "lib/load"
struct vector {
    @{layout.word.c} word[@{layout.words}];
//@ if given.paired then
    @{layout.word.c} other[@{layout.words}];  // of the second input
//@ end
};

//@ include "lib/conversions.cu"
//@ if given.paired and vec > 1 then
//@     local single = loads.layout(dtype, 1)
__device__ __forceinline__ @{single.word.c} load_piece(u64 from)
{
    @{single.word.c} word[1];
    @{loads.statement(single, load, "word", "from")}
    return word[0];
}

//@ end
__device__ __forceinline__ vector load_vector(u64 from@{given.parameter})
{
    vector v;
    @{loads.statement(layout, load, "v.word", "from")}
//@ if given.paired then
    const u64 second = from + given.to_second;
//@     if vec > 1 then
    if (given.to_second % LOAD_BYTES > 0) {
        // Nothing but its elements may be read, and one may lie anywhere.
//@         for i = 0, layout.words - 1 do
//@             local pieces = {}
//@             for k = 0, layout.per_word - 1 do
//@                 local at = (i * layout.per_word + k) * dtype.bytes
//@                 pieces[k + 1] = ("load_piece(second + %d)"):format(at)
//@                     .. (k > 0 and (" << %d"):format(8 * dtype.bytes * k) or "")
//@             end
        v.other[@{i}] = @{table.concat(pieces, " | ")};
//@         end
        return v;
    }
//@     end
    @{loads.statement(layout, load, "v.other", "second")}
//@ end
    return v;
}

