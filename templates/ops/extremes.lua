-- The ops that find the least or the greatest. ops.lua says what an entry holds.
local accumulator = require "lib/accumulator"
local convert = require "lib/convert"
local extremes = require "lib/extremes"
local magnitude = require "lib/magnitude"

-- NaN is ignored: it is the identity of fmin and fmax.
local function number_extreme(t, name, edge)
    local kind = extremes.compared(t.dtype)
    local op = extremes.like(t, name, edge)
    if kind.kind ~= "float" then return op end
    op.identity, op.functions = kind.nan, nil
    op.combine = function(a, b)
        return ("f%s%s(%s, %s)"):format(name, kind.name == "f32" and "f" or "", a, b)
    end
    return op
end

return {
    {
        name = "min", number = 2, formula = "the least of x[0] ... x[n-1]; NaN if one is",
        result = "same", combines = "least", resumes = true,
        make = function(t) return extremes.like(t, "min", "greatest") end,
    },
    {
        name = "max", number = 3, formula = "the greatest of x[0] ... x[n-1]; NaN if one is",
        result = "same", combines = "greatest", resumes = true,
        make = function(t) return extremes.like(t, "max", "least") end,
    },
    {
        name = "fmin", number = 4, formula = "the least number of x[0] ... x[n-1]",
        result = "same", combines = "least", ignores_nan = true, resumes = true,
        make = function(t) return number_extreme(t, "min", "greatest") end,
    },
    {
        name = "fmax", number = 5, formula = "the greatest number of x[0] ... x[n-1]",
        result = "same", combines = "greatest", ignores_nan = true, resumes = true,
        make = function(t) return number_extreme(t, "max", "least") end,
    },
    {
        name = "maxabs", number = 11,
        formula = "the greatest of |x[0]| ... |x[n-1]|; NaN if one is",
        result = "abs", combines = "magnitude", resumes = true,
        make = function(t)
            if t.dtype.kind == "float" then
                local op = extremes.like(t, "max", "zero", function(x)
                    return magnitude(t.dtype, x)
                end)
                op.identity = extremes.compared(t.dtype).zero
                return op
            end
            local acc = accumulator[t.dtype.bytes == 8 and "u64" or "u32"]
            return {
                acc = acc, identity = "0",
                map = function(x)
                    if t.dtype.kind == "unsigned" then return x end
                    return ("(%s < 0 ? 0 - (%s)%s : (%s)%s)"):format(x, acc.c, x, acc.c, x)
                end,
                combine = function(a, b) return ("max(%s, %s)"):format(a, b) end,
                finalize = function(a) return convert.store(t.result, a) end,
                resume = function(r) return r end,
            }
        end,
    },
}
