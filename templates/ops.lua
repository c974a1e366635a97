-- The ops. An entry says what a reduction computes, in expressions of CUDA text:
--   formula            for people
--   identity(acc)      combines with any a to a; what an empty input gives
--   map(acc, x)        an element as an accumulator
--   combine(acc, a, b) associative and commutative
--   finalize(acc, a)   the accumulator as the result
-- acc is the accumulator's entry in dtypes.lua.
return {
    sum = {
        name = "sum",
        formula = "input[0] + input[1] + ... + input[count - 1]",
        identity = function(acc) return acc.zero end,
        map = function(acc, x) return x end,
        combine = function(acc, a, b) return a .. " + " .. b end,
        finalize = function(acc, a) return a end,
    },
}
