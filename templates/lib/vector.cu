//@ -- Loads of VEC elements, at multiples of their bytes. `layout` says how they lie in registers, and
//@ -- `loads` is lib/load.lua.
struct vector {
    @{layout.word.c} word[@{layout.words}];
};

//@ include "lib/conversions.cu"
__device__ __forceinline__ vector load_vector(u64 from)
{
    vector v;
    @{loads.statement(layout, load, "v.word", "from")}
    return v;
}

