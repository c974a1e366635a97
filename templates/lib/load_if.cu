//@ -- Loads of VEC elements that may not be there, as those behind the last one.
//@ takes given, layout, load
//@ local loads = require "lib/load"
// Loads a vector that is there. Of one that is not, nothing is read, and nothing is to be taken.
__device__ __forceinline__ vector load_vector_if(bool there, u64 from@{given.parameter})
{
    vector v = {};
//@ if given.paired then
    if (there) v = load_vector(from@{given.argument});
//@ else
    @{loads.guarded(layout, load, "v.word", "from", "there")}
//@ end
    return v;
}

