-- The ops that tell what elements there are, and how many. ops.lua says what an entry holds.
local accumulator = require "lib/accumulator"
local floats = require "lib/floats"
local sums = require "lib/sums"
local words = require "lib/words"

-- Accumulates whether an element passes the test against 0.
local function truth(test, word)
    return {
        acc = accumulator.u32, identity = "0", word = word,
        map = function(x) return ("(u32)(%s %s 0)"):format(x, test) end,
        combine = function(a, b) return a .. " | " .. b end,
        finalize = function(a) return ("(unsigned char)(%s %s 0)"):format(a, test) end,
        resume = function(r) return ("(u32)(%s %s 0)"):format(r, test) end,
    }
end

return {
    {
        name = "any", number = 13, formula = "1 if one of x[0] ... x[n-1] is not zero, else 0",
        result = "truth", combines = "any", bools = true, resumes = true,
        make = function(t) return truth("!=", words.any(t.dtype)) end,
    },
    {
        name = "all", number = 14, formula = "1 if none of x[0] ... x[n-1] is zero, else 0",
        result = "truth", combines = "all", bools = true, resumes = true,
        make = function(t) return truth("==", words.zero(t.dtype)) end,
    },
    {
        name = "nonzeros", number = 15, formula = "how many of x[0] ... x[n-1] are not zero",
        result = "count", combines = "count", bools = true, resumes = true,
        make = function(t)
            return sums.like(t, {
                acc = accumulator.u64, narrow = words.nonzeros(t.dtype),
                map = function(x) return ("(u64)(%s != 0)"):format(x) end,
            })
        end,
    },
    {
        name = "nans", number = 19, formula = "how many of x[0] ... x[n-1] are NaN",
        result = "count", combines = "nonfinite", dtypes = floats, resumes = true,
        make = function(t)
            return sums.like(t, {
                acc = accumulator.u64, narrow = words.nans(t.dtype),
                map = function(x) return ("(u64)(%s != %s)"):format(x, x) end,
            })
        end,
    },
    {
        name = "nonfinite", number = 20,
        formula = "1 if one of x[0] ... x[n-1] is infinite or NaN, else 0",
        result = "truth", combines = "any_nonfinite", dtypes = floats, resumes = true,
        make = function(t)
            local op = truth("!=", words.nonfinite(t.dtype))
            op.map = function(x) return ("(u32)(%s - %s != 0)"):format(x, x) end
            return op
        end,
    },
}
