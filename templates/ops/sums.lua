-- The ops that add or multiply. ops.lua says what an entry holds.
local accumulator = require "lib/accumulator"
local convert = require "lib/convert"
local dtypes = require "dtypes"
local floats = require "lib/floats"
local magnitude = require "lib/magnitude"
local superaccumulator = require "lib/superaccumulator"
local sums = require "lib/sums"
local words = require "lib/words"

-- The sum, and that of another field.
local function sum_and(t, other)
    local acc = sums.accumulator(t)
    local op = sums.of_fields {
        { acc.name, "sum", function(x) return convert.value(t.dtype, acc.dtype, x) end }, other,
    }
    op.finalize = function(a)
        return sums.to_result(acc, t)(a .. ".sum"),
            t.second and convert.store(t.second, convert.value(dtypes[other[1]], t.second,
                                                               a .. ".other"))
    end
    op.resume = function(r, second)
        return ("record{%s, %s}"):format(
            convert.value(t.result, acc.dtype, r),
            t.second and convert.value(t.second, dtypes[other[1]], second))
    end
    return op
end

-- In place of a NaN stands what changes nothing.
local function number_or(t, acc, neutral)
    return function(x)
        return ("(%s == %s ? %s : %s)"):format(x, x, convert.value(t.dtype, acc.dtype, x), neutral)
    end
end

-- A thread counts its numbers in 32 bits, of f64 in 64.
local function mean_of_numbers(t)
    local acc = sums.accumulator(t)
    local number, small = number_or(t, acc, acc.dtype.zero), acc.name == "f32"
    local op = sums.of_fields {
        { acc.name, "sum", number },
        { "u64", "numbers", function(x) return ("(u64)(%s == %s)"):format(x, x) end },
    }
    op.part = {
        c = "portion", halves = small and 2 or 4, zero = "portion{0, 0}",
        declare = ("struct portion {\n    %s sum;\n    %s numbers;\n};"):format(
            acc.c, small and "u32" or "u64"),
        take = function(p, x)
            return ("portion{%s.sum + %s, %s.numbers + (%s == %s)}"):format(p, number(x), p, x, x)
        end,
        widen = function(p) return ("record{%s.sum, %s.numbers}"):format(p, p) end,
    }
    op.finalize = function(a)
        return sums.quotient(t, a .. ".sum", ("(double)%s.numbers"):format(a))
    end
    return op
end

-- A power takes ten times as long as those that are asked for most often. pow of f64 would be a
-- call, for which a kernel saves its registers.
local norm_functions = [[
__device__ __forceinline__ @{c} power_of(@{c} x, double p)
{
    return p == 2 ? x * x : p == 1 ? x : @{power};
}

__device__ __forceinline__ double root_of(double x, double p)
{
    return p == 2 ? sqrt(x) : p == 1 ? x : exp(log(x) / p);
}
]]

local function norm(t)
    local wide = t.dtype.kind ~= "float" or t.result.name == "f64"
    local acc = accumulator[wide and "f64" or t.dtype.accumulator]
    local values = {
        c = acc.c, power = acc.name == "f64" and "exp(log(x) * p)" or "powf(x, (float)p)",
    }
    return sums.like(t, {
        acc = acc, functions = norm_functions:gsub("@{(%w+)}", values), costly = true,
        map = function(x)
            local size = magnitude(acc.dtype, convert.value(t.dtype, acc.dtype, x))
            return ("power_of(%s, given.p)"):format(size)
        end,
        finalize = function(a)
            local root = ("root_of(%s, given.p)"):format(a)
            return convert.store(t.result, convert.value(dtypes.f64, t.result, root))
        end,
    })
end

return {
    {
        name = "sum", number = 0, formula = "x[0] + ... + x[n-1]",
        result = "sum", combines = "sum", bools = true, resumes = true, compensated = true, exact = true,
        make = function(t)
            if t.accuracy == "exact" then
                return superaccumulator.sum(t, sums.accumulator(t).name)
            end
            return sums.like(t, { narrow = words.sum(t.dtype) })
        end,
    },
    {
        name = "prod", number = 1, formula = "x[0] * ... * x[n-1]",
        result = "sum", combines = "product", bools = true, resumes = true,
        make = function(t)
            return sums.like(t, {
                identity = sums.accumulator(t).dtype.one,
                combine = function(a, b) return a .. " * " .. b end,
            })
        end,
    },
    {
        name = "sumsq", number = 8, formula = "x[0]^2 + ... + x[n-1]^2",
        result = "sum", combines = "sum", power = 2, resumes = true, compensated = true,
        make = function(t)
            return sums.like(t, {
                factors = sums.squared(t, sums.accumulator(t)), narrow = words.sum_of_squares(t.dtype),
            })
        end,
    },
    {
        name = "sumabs", number = 10, formula = "|x[0]| + ... + |x[n-1]|",
        result = "sum", combines = "sum", resumes = true, compensated = true,
        make = function(t)
            local acc = sums.accumulator(t)
            local function map(x)
                -- The wide value first: the least i32 has no magnitude in 32 bits.
                if t.dtype.kind == "float" then
                    return convert.value(t.dtype, acc.dtype, magnitude(t.dtype, x))
                end
                return magnitude(t.dtype.kind == "signed" and acc.dtype or t.dtype,
                                 convert.value(t.dtype, acc.dtype, x))
            end
            return sums.like(t, { map = map, narrow = words.sum_of_magnitudes(t.dtype) })
        end,
    },
    {
        name = "mean", number = 12, formula = "(x[0] + ... + x[n-1]) / n",
        result = "mean", combines = "sum", bools = true, f64_from = 8, lost_bits = 1, compensated = true,
        make = function(t)
            -- Sums of up to 32 bits are exact in 64, those of 64 bits might wrap.
            local f64 = t.dtype.kind ~= "float" and t.dtype.bytes == 8 or t.result.name == "f64"
                and t.dtype.kind == "float"
            return sums.like(t, {
                acc = accumulator[f64 and "f64" or t.dtype.accumulator],
                narrow = not f64 and words.sum(t.dtype) or nil,
                -- Divided in f64, where every count is exact that memory has room for.
                finalize = function(a, count)
                    return sums.quotient(t, a, "(double)" .. count)
                end,
            })
        end,
    },
    {
        name = "norm2", number = 9, formula = "sqrt(x[0]^2 + ... + x[n-1]^2)",
        result = "mean", combines = "sum", power = 2, f64_from = 4, lost_bits = 2,
        compensated = true,
        make = function(t)
            local integer = t.dtype.kind ~= "float"
            local small = integer and t.dtype.bytes <= 2
            local acc = small and accumulator.u64 or (integer or t.result.name == "f64")
                and accumulator.f64 or accumulator[t.dtype.accumulator]
            local wide = small and accumulator[t.dtype.accumulator] or acc
            return sums.like(t, {
                acc = acc, factors = not integer and sums.squared(t, acc) or nil,
                map = integer and function(x)
                    local square = sums.square(t, wide)(x)
                    return convert.value(wide.dtype, acc.dtype, "(" .. square .. ")")
                end or nil,
                narrow = small and words.sum_of_squares(t.dtype) or nil,
                finalize = function(a) return sums.root(t, acc, a) end,
            })
        end,
    },
    {
        name = "normp", number = 22, formula = "(|x[0]|^p + ... + |x[n-1]|^p)^(1/p)",
        result = "mean", combines = "sum", power = 2, lost_bits = 2,
        parameters = { { name = "p", usual = 2 } },
        make = norm,
    },
    {
        name = "sum_sumsq", number = 30,
        formula = "x[0] + ... + x[n-1] and x[0]^2 + ... + x[n-1]^2",
        outputs = { { name = "sum", result = "sum" }, { name = "sumsq", result = "sum" } },
        combines = "sum", power = 2, values = 2, resumes = true,
        make = function(t)
            local name = sums.accumulator(t).name
            return sum_and(t, { name, "other", sums.square(t, sums.accumulator(t)) })
        end,
    },
    {
        name = "sum_nonfinite", number = 32,
        formula = "x[0] + ... + x[n-1] and how many of them are infinite or NaN",
        outputs = { { name = "sum", result = "sum" }, { name = "nonfinite", result = "count" } },
        combines = "nonfinite", accumulator_bytes = 16, resumes = true, dtypes = floats,
        make = function(t)
            return sum_and(t, { "u64", "other", function(x)
                return ("(u64)(%s - %s != 0)"):format(x, x)
            end })
        end,
    },
    {
        name = "nansum", number = 43, formula = "the sum of x[0] ... x[n-1] without those that are NaN",
        result = "sum", combines = "sum", ignores_nan = true, resumes = true, compensated = true,
        dtypes = floats,
        make = function(t)
            local acc = sums.accumulator(t)
            return sums.like(t, { map = number_or(t, acc, acc.dtype.zero) })
        end,
    },
    {
        name = "nanprod", number = 44,
        formula = "the product of x[0] ... x[n-1] without those that are NaN",
        result = "sum", combines = "product", ignores_nan = true, resumes = true, dtypes = floats,
        make = function(t)
            local acc = sums.accumulator(t)
            return sums.like(t, {
                identity = acc.dtype.one, map = number_or(t, acc, acc.dtype.one),
                combine = function(a, b) return a .. " * " .. b end,
            })
        end,
    },
    {
        name = "nanmean", number = 45,
        formula = "the mean of x[0] ... x[n-1] without those that are NaN",
        result = "mean", combines = "sum", ignores_nan = true, accumulator_bytes = 16, lost_bits = 1,
        dtypes = floats, make = mean_of_numbers,
    },
}
