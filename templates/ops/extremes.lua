-- The ops that find the least or the greatest. ops.lua says what an entry holds.
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

local function magnitude_of(t)
    return function(x)
        if t.dtype.kind ~= "signed" then return magnitude(t.dtype, x) end
        local c = t.dtype.bytes == 8 and "u64" or "u32"
        return ("(%s < 0 ? 0 - (%s)%s : (%s)%s)"):format(x, c, x, c, x)
    end
end

-- The difference of integers has no sign: it is that of their bits.
local function peak_to_peak(t, a)
    if t.dtype.kind == "float" then return ("%s.greatest - %s.least"):format(a, a) end
    local c = t.dtype.bytes == 8 and "u64" or "u32"
    return ("(%s)%s.greatest - (%s)%s.least"):format(c, a, c, a)
end

return {
    {
        name = "min", number = 2, formula = "the least of x[0] ... x[n-1]; NaN if one is",
        result = "same", combines = "least", bools = true, resumes = true,
        make = function(t) return extremes.like(t, "min", "greatest") end,
    },
    {
        name = "max", number = 3, formula = "the greatest of x[0] ... x[n-1]; NaN if one is",
        result = "same", combines = "greatest", bools = true, resumes = true,
        make = function(t) return extremes.like(t, "max", "least") end,
    },
    {
        name = "fmin", number = 4, formula = "the least number of x[0] ... x[n-1]",
        result = "same", combines = "least", bools = true, ignores_nan = true, resumes = true,
        make = function(t) return number_extreme(t, "min", "greatest") end,
    },
    {
        name = "fmax", number = 5, formula = "the greatest number of x[0] ... x[n-1]",
        result = "same", combines = "greatest", bools = true, ignores_nan = true, resumes = true,
        make = function(t) return number_extreme(t, "max", "least") end,
    },
    {
        name = "maxabs", number = 11,
        formula = "the greatest of |x[0]| ... |x[n-1]|; NaN if one is",
        result = "abs", combines = "magnitude", resumes = true,
        make = function(t) return extremes.magnitude(t, "max", "zero", magnitude_of(t)) end,
    },
    {
        name = "minabs", number = 50, formula = "the least of |x[0]| ... |x[n-1]|; NaN if one is",
        result = "abs", combines = "least_magnitude", resumes = true,
        make = function(t) return extremes.magnitude(t, "min", "greatest", magnitude_of(t)) end,
    },
    {
        name = "ptp", number = 21, formula = "the greatest of x[0] ... x[n-1] less the least",
        result = "abs", combines = "extremes", values = 2,
        make = function(t)
            return extremes.both(t, function(a, count)
                return convert.store(t.result, ("(%s ? %s : 0)"):format(count, peak_to_peak(t, a)))
            end)
        end,
    },
    {
        name = "minmax", number = 29, formula = "the least and the greatest of x[0] ... x[n-1]",
        outputs = { { name = "min", result = "same" }, { name = "max", result = "same" } },
        combines = "extremes", bools = true, values = 2, resumes = true,
        make = function(t)
            return extremes.both(t, function(a)
                return convert.store(t.result, a .. ".least"),
                    t.second and convert.store(t.second, a .. ".greatest")
            end)
        end,
    },
}
