//@ -- take() brings a vector into a thread's LANES parts: accumulators, or, where the op is indexed,
//@ -- the best values so far. `parts` is LANES: one per word where the op takes whole words, else one
//@ -- per element.
//@ if indexed then
// A thread counts its loads; the first value of a lane that no other goes before is remembered with
// the load that brought it. Lane j holds element j of each load, in ascending order of the index.
struct best {
    value x;
    u32 load;
};

__device__ __forceinline__ accumulator candidate(value x, u64 index)
{
    return arg{key_of(x), index};
}

__device__ __forceinline__ void take(best (&part)[LANES], const vector &v, u32 load)
{
//@     for j = 0, vec - 1 do
//@         local word = "v.word[" .. j // layout.per_word .. "]"
    const value x@{j} = @{dtype.unpack(word, j % layout.per_word)};
//@     end
//@     if dtype.kind == "float" then
//@         local nan = {}
//@         for j = 0, vec - 1 do nan[#nan + 1] = ("x%d != x%d"):format(j, j) end
    // A NaN goes before all but another NaN. There is hardly ever one.
    if (@{table.concat(nan, " || ")}) {
//@         for j = 0, vec - 1 do
        if (x@{j} != x@{j} && part[@{j}].x == part[@{j}].x) part[@{j}] = best{x@{j}, load};
//@         end
    }
//@     end
//@     for j = 0, vec - 1 do
    if (@{op.before("x" .. j, "part[" .. j .. "].x")}) part[@{j}] = best{x@{j}, load};
//@     end
}
//@ else
__device__ __forceinline__ accumulator map(value x)
{
    return @{op.map("x")};
}

//@     if op.narrow then
typedef @{op.narrow.c} narrow;  // holds the sum of a word's elements over one tile

__device__ __forceinline__ void take(narrow (&part)[LANES], const vector &v)
//@     else
__device__ __forceinline__ void take(accumulator (&part)[LANES], const vector &v)
//@     end
{
//@     for j = 0, parts - 1 do
//@         local lane, word = "part[" .. j .. "]", "v.word[" .. j // (parts // layout.words) .. "]"
//@         if op.narrow then
    @{lane} = @{op.narrow.step(lane, word, layout.per_word)};
//@         elseif op.word then
    @{lane} = @{op.word(lane, word, layout.per_word)};
//@         else
    @{lane} = combine(@{lane}, map(@{dtype.unpack(word, j % layout.per_word)}));
//@         end
//@     end
}
//@ end

