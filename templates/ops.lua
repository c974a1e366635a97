-- The ops: what a reduction computes, in expressions of CUDA text. docs/ops.md specifies them.
--
-- The files in ops/ hold an entry for each; lib/sums.lua, lib/extremes.lua and lib/difference.lua
-- hold what they have in common. An entry is all that redtune knows of an op. It holds
--   name, formula   for people
--   number          its enumerator in redtune.h; an op that has none is found by its name
--   result          the class of the result's dtype, where s is the usual dtype of sums:
--                   "sum" (s; f64 or the input's own, if asked for), "mean" (likewise, of integers
--                   f64), "same" (the input's), "abs" (the same, unsigned), "index" (i64), "truth"
--                   (u8), "count" (u64), "bits" (the input's, integers only), or a dtype's name
--   combines        how elements make the result, for which test data are made that show every one:
--                   "sum", "product", "least", "greatest", "magnitude", "least_magnitude", "any",
--                   "all", "count",
--                   "and", "or", "xor", "extremes" (the least and the greatest, both),
--                   "exponentials" (the sum of e^x), "nonfinite" (how many are NaN or infinite),
--                   "any_nonfinite"; of two inputs it is about what map makes of x and y
-- and, where they differ from 0 and false:
--   power           of a sum: what is added is at most this power of an element's magnitude, of two
--                   inputs that of |x| + |y|; or 1
--   f64_from        of a mean: integers of so many bytes and more accumulate in f64; or 1
--   lost_bits       of a mean or a logarithm: bits of the accumulator that the result may not show
--   inputs          2: map(x, y) takes an element of each; or 1
--   outputs         of several results, in place of result: a list of { name, result }; finalize
--                   then gives an expression for each
--   parameters      a list of { name, usual }: doubles that a run gives, `given.NAME` in expressions
--   dtypes          a list of the names of those that the op is for; or all
--   accumulator_bytes  of an accumulator; or as result and values say
--   range_bytes     the result is right wherever it is representable (lib/range.lua): of an accumulator
--                   of f64; one of bf16 and f32 has values of f64; or 0
--   values          how many values of the accumulator's dtype an accumulator has; or 1
--   tolerance       results may differ, by the order in which elements are combined even of exact
--                   data, by this many units in the last place of the accumulator at the result's
--                   magnitude, or at 1 where that is larger; or 0. Test data have no sign then
--   compensated     make gives accumulators of two terms, where t.accuracy asks for them
--   exact           likewise accumulators that lose nothing
--   resumes         its results say what the accumulator was, so that a run can go on from what
--                   d_out holds
--   indexed         looks for an element's place
--   ignores_nan     a NaN among the elements changes nothing
--   bools           takes bools, stored as u8, for what they are
-- and make(t), which is given the dtype, the result's dtype, the GPU architecture (90 is sm_90), the
-- accuracy ("plain", "compensated", "exact") and whether the kernel is the one that others are held against
-- (exact), and returns:
--   acc                 the accumulator (lib/accumulator.lua)
--   identity            combines with any a to a
--   map(x), map(x, y)   an element's value as an accumulator; of two inputs those of both
--   combine(a, b)       associative and commutative
--   finalize(a, count)  the accumulator as an element of the result's dtype; of two results, both
--   resume(r), resume(r, s)   of an op that resumes: the accumulator of a result whose value is r,
--                       or of both, r and s
--   functions           CUDA text that these call; may be missing
-- and, where combine costs more than a sum, or whole words of several elements go faster than
-- elements, one of:
--   part = { c, declare, halves, zero, take(p, x), widen(p) }   what a thread takes its elements
--                                      into, of so many 32 bits; widen makes an accumulator of it.
--                                      One with shared_bytes keeps as many of each thread in shared
--                                      memory, by its functions: a thread has one at a time.
--                                      tile = { take(s, x), good(s), add(p, s, n), only } may lose elements:
--                                      a tile's n of them are taken into sums s of f32, which add
--                                      takes up where all are good; else they are taken one by one
--   narrow = { c, zero, step(n, w, per_word, v) }   a small sum that takes up words (of the second
--                                      input v) for the length of a tile, and is then mapped to an
--                                      accumulator by widen(n)
--   several(a, x)                      the accumulator a, or identity for nil, with the elements of
--                                      the array x taken into it, which is faster than one by one
--   word(a, w), fold(a)                takes a word into an accumulator of as many lanes; fold
--                                      combines the lanes at the end
-- append(a, x), of an op whose accumulators are wide: the statement that brings an element into the
-- accumulator a, where no part does.
-- of_some = { functions, map(x, there), combine(a, b), elements(a) }, of an op whose combination branches: the same
-- numbers without a branch, of elements that may be absent, in place of map and combine (lib/mask.lua).
-- elements(a), of an op whose accumulators know it: how many elements a is made of.
-- slot_bytes = 32, of an op whose accumulator has at most 16 bytes, but more where it is exact.
-- alone = true, of an op with fields or a part: all elements of a thread share one, where combining
-- two costs more than to wait for the element before.
-- costly = true, where map or combine takes a hundred instructions: kernels that have either in dozens of
-- places have it in a function that these call.
-- lanes(a, n), of an op whose lanes combine faster all at once than two by two: the accumulator of
-- a group of n lanes, a power of two, where a is a lane's own. All lanes of a warp ask for it.
-- An indexed op has before(a, b) on values that are no NaN, last, a value that goes before none,
-- and key_of among its functions, in place of map; ahead(a, b), if it likes, which is before(a, b) and holds of NaN, too;
-- skips_nan where before(a, b) holds of any number a and a NaN b. Its table `measured` is what is compared of a value:
-- of(x), of the C type c; before(a, b) likewise; and combine(a, b), by `functions`, which keeps a NaN; without it values are. If
-- it has a result beside the index, found(x, index, count) are its results where x is found there, of count elements.
local groups = {
    "ops/sums", "ops/moments", "ops/logs", "ops/extremes", "ops/places", "ops/truth", "ops/bits",
    "ops/distances",
}

local ops = {}
for _, group in ipairs(groups) do
    for _, op in ipairs(require(group)) do ops[op.name] = op end
end

return ops
