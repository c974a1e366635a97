-- The ops of two inputs. ops.lua says what an entry holds.
local accumulator = require "lib/accumulator"
local convert = require "lib/convert"
local difference = require "lib/difference"
local extremes = require "lib/extremes"
local range = require "lib/range"
local sums = require "lib/sums"
local words = require "lib/words"

local function factors(acc, t)
    return function(x, y)
        return convert.value(t.dtype, acc.dtype, x), convert.value(t.dtype, acc.dtype, y)
    end
end

local function product(acc, t)
    local of = factors(acc, t)
    return function(x, y) return ("%s * %s"):format(of(x, y)) end
end

-- The root, or mean, of the sum of squared differences: those of integers up to 16 bits are exact in
-- u64, those of others are added in f64.
local function squares(t, mean)
    local small = t.dtype.kind ~= "float" and t.dtype.bytes <= 2
    local f64 = t.dtype.kind ~= "float" or t.result.name == "f64" or range.widens(t)
    local acc = accumulator[small and "u64" or f64 and "f64" or t.dtype.accumulator]
    return sums.of_squares(t, {
        acc = acc, narrow = small and words.sum_of_squared_differences(t.dtype) or nil,
        map = function(x, y) return difference.square(t, acc, x, y) end,
    }, function(x, y) return ("(%s - %s)"):format(x, y) end, mean)
end

-- Sums of several values, in the accumulator of means: f64 of integers, and if asked for.
local function several(t, of)
    local wide = t.dtype.kind ~= "float" or t.result.name == "f64"
    local acc = accumulator[wide and "f64" or t.dtype.accumulator]
    local function value(x) return convert.value(t.dtype, acc.dtype, x) end
    local fields = {}
    for i, field in ipairs(of(product(acc, t), value)) do
        fields[i] = { acc.name, field[1], field[2] }
    end
    return sums.of_fields(fields)
end

-- Infinities that are equal have no difference. A float's is compared as it is, in f32 or f64.
local function differs(t, x, y)
    if t.dtype.kind ~= "float" then
        return ("((double)%s > given.tolerance)"):format(difference.of(t.dtype, x, y))
    end
    local limit = t.dtype.value == "double" and "given.tolerance"
        or "__double2float_rd(given.tolerance)"
    return ("!(%s == %s || %s <= %s)"):format(x, y, difference.of(t.dtype, x, y), limit)
end

return {
    {
        name = "dot", number = 33, formula = "x[0] * y[0] + ... + x[n-1] * y[n-1]",
        inputs = 2, result = "sum", combines = "sum", power = 2, resumes = true,
        compensated = true,
        make = function(t)
            return sums.like(t, {
                factors = factors(sums.accumulator(t), t), narrow = words.sum_of_products(t.dtype),
            })
        end,
    },
    {
        name = "sqeuclidean", number = 34, formula = "(x[0] - y[0])^2 + ... + (x[n-1] - y[n-1])^2",
        inputs = 2, result = "sum", combines = "sum", power = 2, resumes = true,
        make = function(t)
            local acc = sums.accumulator(t)
            return sums.like(t, {
                map = function(x, y) return difference.square(t, acc, x, y) end,
                narrow = words.sum_of_squared_differences(t.dtype),
            })
        end,
    },
    {
        name = "euclidean", number = 35,
        formula = "sqrt((x[0] - y[0])^2 + ... + (x[n-1] - y[n-1])^2)",
        inputs = 2, result = "mean", combines = "sum", power = 2, f64_from = 4, lost_bits = 2,
        range_bytes = 24,
        make = function(t)
            return squares(t)
        end,
    },
    {
        name = "cityblock", number = 36, formula = "|x[0] - y[0]| + ... + |x[n-1] - y[n-1]|",
        inputs = 2, result = "sum", combines = "sum", resumes = true,
        make = function(t)
            local acc = sums.accumulator(t)
            return sums.like(t, {
                map = function(x, y) return difference.wide(t, acc, x, y) end,
                narrow = words.sum_of_differences(t.dtype),
            })
        end,
    },
    {
        name = "chebyshev", number = 37,
        formula = "the greatest of |x[0] - y[0]| ... |x[n-1] - y[n-1]|; NaN if one is",
        inputs = 2, result = "abs", combines = "magnitude", resumes = true,
        make = function(t)
            return extremes.magnitude(t, "max", "zero", function(x, y)
                return difference.of(t.dtype, x, y)
            end)
        end,
    },
    {
        name = "cosine", number = 38, formula = "x . y / (|x| |y|), the cosine of their angle",
        inputs = 2, result = "mean", combines = "sum", power = 2, values = 3, lost_bits = 4,
        make = function(t)
            local op = several(t, function(product)
                return {
                    { "xy", product },
                    { "xx", function(x) return product(x, x) end },
                    { "yy", function(_, y) return product(y, y) end },
                }
            end)
            op.finalize = function(a)
                local lengths = ("(sqrt((double)%s.xx) * sqrt((double)%s.yy))"):format(a, a)
                return sums.quotient(t, a .. ".xy", lengths)
            end
            return op
        end,
    },
    {
        name = "wmean", number = 39,
        formula = "(y[0] * x[0] + ... + y[n-1] * x[n-1]) / (y[0] + ... + y[n-1])",
        inputs = 2, result = "mean", combines = "sum", power = 2, values = 2, lost_bits = 2,
        make = function(t)
            local op = several(t, function(product, value)
                return {
                    { "weighted", product },
                    { "weights", function(_, y) return value(y) end },
                }
            end)
            op.finalize = function(a)
                return sums.quotient(t, a .. ".weighted", ("(double)%s.weights"):format(a))
            end
            return op
        end,
    },
    {
        name = "mismatches", number = 40,
        formula = "how many of |x[0] - y[0]| ... |x[n-1] - y[n-1]| are not at most tolerance",
        inputs = 2, result = "count", combines = "count", resumes = true,
        parameters = { { name = "tolerance", usual = 0 } },
        make = function(t)
            return sums.like(t, {
                acc = accumulator.u64, narrow = words.sum_of_pairs(t.dtype, function(x, y)
                    return ("(u32)(%s)"):format(differs(t, x, y))
                end),
                map = function(x, y) return ("(u64)(%s)"):format(differs(t, x, y)) end,
            })
        end,
    },
    {
        name = "mse", number = 41, formula = "((x[0] - y[0])^2 + ... + (x[n-1] - y[n-1])^2) / n",
        inputs = 2, result = "mean", combines = "sum", power = 2, f64_from = 4, lost_bits = 1,
        range_bytes = 24,
        make = function(t)
            return squares(t, true)
        end,
    },
}
