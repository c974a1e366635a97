//@ -- take() brings a vector into a thread's LANES parts: accumulators, or, where the op is
//@ -- indexed, the best values so far. `parts` is LANES: one per word where the op takes whole
//@ -- words, else one per element, or fewer, which elements share.
//@ takes op, given, indexed, dtype, layout, vec, parts
//@ local two, other = given.inputs > 1, given.other_layout(vec)
//@ -- Element j of the second input, or of the mask, in a vector's words.
//@ local function other_of(j)
//@     return given.other.unpack("v.other[" .. j // other.per_word .. "]", j % other.per_word)
//@ end
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

__device__ __forceinline__ void take(best (&part)[LANES], const vector &v, u32 load@{given.parameter})
{
//@     for j = 0, vec - 1 do
//@         local word = "v.word[" .. j // layout.per_word .. "]"
    const value x@{j} = @{dtype.unpack(word, j % layout.per_word)};
//@     end
//@     -- Where a thread has one lane, each comparison waits for the one before: then two are longer than one.
//@     local nan = dtype.kind == "float" and not op.skips_nan
//@     local ahead = nan and vec > 1 and op.ahead
//@     for j = 0, vec - 1 do
//@         local x, first = "x" .. j, "part[" .. j .. "].x"
//@         local last = ("%s == %s"):format(first, first)
//@         local goes = ahead and op.ahead(x, first) .. " && " .. last or op.before(x, first)
//@         if given.masked then
//@             local none, there = ("part[%d].load == ~0u || "):format(j), other_of(j)
//@             goes, last = ("%s && (%s%s)"):format(there, none, goes), ("%s && (%s%s)"):format(there, none, last)
//@         end
//@         if nan and j == 0 then
    // A NaN goes before all but another NaN.@{ahead and "" or " There is hardly ever one."}
//@         end
//@         if nan and not ahead then
    if (@{x} != @{x} && @{last}) part[@{j}] = best{@{x}, load};
//@         end
    if (@{goes}) part[@{j}] = best{@{x}, load};
//@     end
}
//@ else
//@     local of_load = op.part and op.part.at_once
//@     local at_once = not two and parts == 1 and vec > 1 and (op.several or of_load and of_load.take)
//@     if op.part and op.part.functions then
@{op.part.functions}
//@     end
//@     if at_once and of_load then
@{of_load.functions}
//@     end
__device__ __forceinline__ accumulator map(value x@{two and ", " .. given.other_value .. " y" or ""}@{given.parameter})
{
    return @{op.map("x", "y")};
}

//@     if two == given.paired then
//@         if op.narrow then
typedef @{op.narrow.c} narrow;  // holds the sum of a word's elements over one tile

__device__ __forceinline__ void take(narrow (&part)[LANES], const vector &v@{given.parameter})
//@         else
__device__ __forceinline__ void take(@{given.part} (&part)[LANES], const vector &v@{given.parameter})
//@         end
{
//@         local whole = op.narrow or op.word
//@         if at_once then
//@             local x = {}
//@             for j = 0, vec - 1 do
//@                 x[j] = dtype.unpack("v.word[" .. j // layout.per_word .. "]", j % layout.per_word)
//@             end
    const value x[VEC] = {@{table.concat(x, ", ", 0, vec - 1)}};
    part[0] = @{at_once("part[0]", "x")};
//@         end
//@         for j = 0, (at_once and 0 or whole and layout.words or vec) - 1 do
//@             local lane, at = "part[" .. j % parts .. "]", whole and j or j // layout.per_word
//@             local word, beside = "v.word[" .. at .. "]", two and "v.other[" .. at .. "]" or nil
//@             local x = dtype.unpack(word, j % layout.per_word)
//@             local y = two and not whole and other_of(j) or nil
//@             if op.narrow then
    @{lane} = @{op.narrow.step(lane, word, layout.per_word, beside)};
//@             elseif op.word then
    @{lane} = @{op.word(lane, word, layout.per_word, beside)};
//@             elseif op.part then
    @{lane} = @{op.part.take(lane, x, y)};
//@             else
    @{lane} = combine(@{lane}, map(@{x}@{y and ", " .. y or ""}@{given.argument})@{given.argument});
//@             end
//@         end
}
//@         local tile = op.part and op.part.tile
//@         if tile then

// Adds a vector's elements to those of a tile.
__device__ __forceinline__ void add_vector(float (&sum)[LANES], const vector &v@{given.parameter})
{
//@             for j = 0, vec - 1 do
//@                 local word = "v.word[" .. j // layout.per_word .. "]"
    sum[@{j % parts}] = @{tile.take("sum[" .. j % parts .. "]", dtype.unpack(word, j % layout.per_word), two and other_of(j) or nil)};
//@             end
}

// Adds the sums of a tile of so many loads; false, and nothing is added, if one of them is out of range.
__device__ __forceinline__ bool add_tile(@{given.part} (&part)[LANES], const float (&sum)[LANES], u32 loads)
{
    bool good = true;
#pragma unroll
    for (u32 j = 0; j < LANES; j++) good = good && @{tile.good("sum[j]")};
    if (!good) return false;
#pragma unroll
    for (u32 j = 0; j < LANES; j++) part[j] = @{tile.add("part[j]", "sum[j]", "loads * (VEC / LANES)")};
    return true;
}
//@         end
//@     end
//@ end

