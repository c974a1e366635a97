//@ -- Loads of VEC elements, at multiples of their bytes. `layout` says how they lie in registers,
//@ -- and `loads` is lib/load.lua. `together`: who loads several vectors finds out once whether what lies beside them is
//@ -- loaded as a whole, so that no jump stands between their loads.
//@ takes given, dtype, layout, load, together?, vec
//@ local loads = require "lib/load"
//@ local other, bytes = given.other_layout(vec), given.other.bytes
//@ if given.pairs then
// An element of the second input, and whether the pair is there.
struct beside {
    value y;
    u32 there;
};

//@ end
struct vector {
    @{layout.word.c} word[@{layout.words}];
//@ if given.paired then
    @{other.word.c} other[@{other.words}];  // of @{given.masked and "the mask" or given.pairs and "the second input and the mask" or "the second input"}
//@ end
};

//@ include "lib/conversions.cu"
//@ if given.bits then
//@     include "lib/mask_bits.cu"
//@ elseif given.paired and vec > 1 and not given.pairs then
//@     local single = given.other_layout(1)
__device__ __forceinline__ @{single.word.c} load_piece(u64 from)
{
    @{single.word.c} word[1];
    @{loads.statement(single, load, "word", "from")}
    return word[0];
}

//@ end
//@ if given.flat then
// What lies beside the element at that address.
__device__ __forceinline__ beside load_beside(u64 from@{given.parameter})
{
    beside y[1];
    @{given.load_other(1, load, "y", given.other_at("from"), given.mask_at("from"))}
    return y[0];
}

__device__ __forceinline__ vector load_vector(u64 from@{given.parameter})
{
    vector v;
    @{loads.statement(layout, load, "v.word", "from")}
//@     if vec > 1 then
    if (given.to_second % LOAD_BYTES > 0@{given.bits and "" or " || (given.mask + from / sizeof(element)) % VEC > 0"}) {
        // One may lie anywhere.
#pragma unroll
        for (u32 j = 0; j < VEC; j++) v.other[j] = load_beside(from + j * sizeof(element)@{given.argument});
        return v;
    }
//@     end
    @{given.load_other(vec, load, "v.other", given.other_at("from"), given.mask_at("from"))}
    return v;
}

//@ elseif not given.pairs then
//@ if together then
// TOGETHER: the mask's bytes begin at a multiple of VEC.
template <bool TOGETHER>
//@ end
__device__ __forceinline__ vector load_vector@{together and "_as" or ""}(u64 from@{given.parameter})
{
    vector v;
    @{loads.statement(layout, load, "v.word", "from")}
//@ if given.paired then
    const u64 second = @{given.other_at("from")};
//@     if vec > 1 and not given.bits then
    if (@{together and "!TOGETHER" or given.masked and "second % VEC > 0" or "given.to_second % LOAD_BYTES > 0"}) {
        // Nothing but its elements may be read, and one may lie anywhere.
//@         for i = 0, other.words - 1 do
//@             local pieces = {}
//@             for k = 0, other.per_word - 1 do
//@                 local at = (i * other.per_word + k) * bytes
//@                 pieces[k + 1] = ("load_piece(second + %d)"):format(at)
//@                     .. (k > 0 and (" << %d"):format(8 * bytes * k) or "")
//@             end
        v.other[@{i}] = @{table.concat(pieces, " | ")};
//@         end
        return v;
    }
//@     end
    @{given.load_other(vec, load, "v.other", "second")}
//@ end
    return v;
}

//@ if together then
// Whether what lies beside that address does, and beside all multiples of a load's bytes from there.
__device__ __forceinline__ bool is_together(u64 from@{given.parameter})
{
    return (@{given.other_at("from")}) % VEC == 0;
}

__device__ __forceinline__ vector load_vector(u64 from@{given.parameter})
{
    return is_together(from@{given.argument}) ? load_vector_as<true>(from@{given.argument})
                                              : load_vector_as<false>(from@{given.argument});
}

//@ end
//@ end
//@ if given.masked then
//@     local single = given.other_layout(1)
__device__ __forceinline__ u32 load_other(const unsigned char *from)
{
    @{single.word.c} word[1];
    @{given.load_other(1, load, "word", "from")}
    return @{given.other.unpack("word[0]", 0)};
}

//@ end
