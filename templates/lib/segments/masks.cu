//@ -- Masks of their own, of the arrays of a list.
//@ takes given
//@ if given.listed then
// What segment i is given: where its mask is, from its array.
__device__ __forceinline__ values values_in(const segments &s, values given, u64 i)
{
    given.to_second = ((const u64 *)given.masks)[i] - ((const u64 *)s.arrays)[i] / sizeof(element);
    return given;
}

//@ end
