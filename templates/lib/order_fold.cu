//@ -- A vector of the fixed order: its elements, halved. What an op takes long to combine is a function
//@ -- of its own, called by all places that fold a vector: in each of them it would take NVRTC minutes.
//@ takes op, given, dtype, layout, vec
//@ local other = given.other_layout(vec)
//@ local folding = op.costly and "__noinline__" or "__forceinline__"
// The elements of a vector, the upper half combined into the lower until one is left.
__device__ __forceinline__ accumulator fold(accumulator (&a)[VEC]@{given.parameter})
{
//@ include("lib/fold_halves.cu", { array = "a", many = vec })
    return a[0];
}

__device__ @{folding} accumulator fold_vector(vector v@{given.parameter})
{
    accumulator a[VEC];
//@ for j = 0, vec - 1 do
//@     local at, k = j // layout.per_word, j % layout.per_word
//@     local x = dtype.unpack("v.word[" .. at .. "]", k)
//@     local word = "v.other[" .. j // other.per_word .. "]"
//@     local y = given.inputs > 1 and ", " .. given.other.unpack(word, j % other.per_word) or ""
    a[@{j}] = map(@{x}@{y}@{given.argument});
//@ end
    return fold(a@{given.argument});
}

