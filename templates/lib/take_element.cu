//@ -- Elements that a thread takes one by one into a part of its own.
//@ takes op, given, indexed, place
//@ local two = given.inputs > 1
// Combines a part with the element of that index.
__device__ __forceinline__ @{given.part} take_element(@{given.part} a, value x@{two and ", value y" or ""}@{place}@{given.parameter})
{
//@ if indexed then
    return combine(a, candidate(x, index)@{given.argument});
//@ elseif op.part then
    return @{op.part.take("a", "x", "y")};
//@ else
    return combine(a, map(x@{two and ", y" or ""}@{given.argument})@{given.argument});
//@ end
}

