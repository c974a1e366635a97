-- The ops of bits. ops.lua says what an entry holds.
local accumulator = require "lib/accumulator"
local words = require "lib/words"

local function bitwise(t, operator, identity)
    local acc = accumulator[t.dtype.bytes == 8 and "u64" or "u32"]
    return {
        acc = acc, identity = identity == 0 and "0" or ("~(%s)0"):format(acc.c),
        map = function(x) return ("(%s)%s"):format(acc.c, x) end,
        combine = function(a, b) return ("%s %s %s"):format(a, operator, b) end,
        word = words.bits(t.dtype, operator), fold = words.fold_bits(t.dtype, operator),
        finalize = function(a) return ("(%s)%s"):format(t.result.c, a) end,
        resume = function(r) return ("(%s)%s"):format(acc.c, r) end,
    }
end

return {
    {
        name = "and", number = 16, formula = "x[0] & ... & x[n-1]",
        result = "bits", combines = "and", bools = true, resumes = true,
        make = function(t) return bitwise(t, "&", 1) end,
    },
    {
        name = "or", number = 17, formula = "x[0] | ... | x[n-1]",
        result = "bits", combines = "or", bools = true, resumes = true,
        make = function(t) return bitwise(t, "|", 0) end,
    },
    {
        name = "xor", number = 18, formula = "x[0] ^ ... ^ x[n-1]",
        result = "bits", combines = "xor", bools = true, resumes = true,
        make = function(t) return bitwise(t, "^", 0) end,
    },
}
