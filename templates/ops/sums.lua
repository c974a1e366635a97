-- The ops that add or multiply. ops.lua says what an entry holds.
local accumulator = require "lib/accumulator"
local convert = require "lib/convert"
local dtypes = require "dtypes"
local magnitude = require "lib/magnitude"
local sums = require "lib/sums"
local words = require "lib/words"

return {
    {
        name = "sum", number = 0, formula = "x[0] + ... + x[n-1]",
        result = "sum", combines = "sum", bools = true, resumes = true,
        make = function(t) return sums.like(t, { narrow = words.sum(t.dtype) }) end,
    },
    {
        name = "prod", number = 1, formula = "x[0] * ... * x[n-1]",
        result = "sum", combines = "product", resumes = true,
        make = function(t)
            return sums.like(t, {
                identity = sums.accumulator(t).dtype.one,
                combine = function(a, b) return a .. " * " .. b end,
            })
        end,
    },
    {
        name = "sumsq", number = 8, formula = "x[0]^2 + ... + x[n-1]^2",
        result = "sum", combines = "sum", power = 2, resumes = true,
        make = function(t)
            return sums.like(t, {
                map = sums.square(t, sums.accumulator(t)), narrow = words.sum_of_squares(t.dtype),
            })
        end,
    },
    {
        name = "sumabs", number = 10, formula = "|x[0]| + ... + |x[n-1]|",
        result = "sum", combines = "sum", resumes = true,
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
        result = "mean", combines = "sum", f64_from = 8, lost_bits = 1,
        make = function(t)
            -- Sums of up to 32 bits are exact in 64, those of 64 bits might wrap.
            local f64 = t.dtype.kind ~= "float" and t.dtype.bytes == 8 or t.result.name == "f64"
                and t.dtype.kind == "float"
            return sums.like(t, {
                acc = accumulator[f64 and "f64" or t.dtype.accumulator],
                narrow = not f64 and words.sum(t.dtype) or nil,
                -- Divided in f64, where every count is exact that memory has room for.
                finalize = function(a, count)
                    local quotient = ("((double)%s / (double)%s)"):format(a, count)
                    return convert.store(t.result, convert.value(dtypes.f64, t.result, quotient))
                end,
            })
        end,
    },
    {
        name = "norm2", number = 9, formula = "sqrt(x[0]^2 + ... + x[n-1]^2)",
        result = "mean", combines = "sum", power = 2, f64_from = 4, lost_bits = 2,
        make = function(t)
            local integer = t.dtype.kind ~= "float"
            local small = integer and t.dtype.bytes <= 2
            local acc = small and accumulator.u64 or (integer or t.result.name == "f64")
                and accumulator.f64 or accumulator[t.dtype.accumulator]
            local root = acc.name == "f32" and dtypes.f32 or dtypes.f64
            local wide = small and accumulator[t.dtype.accumulator] or acc
            return sums.like(t, {
                acc = acc,
                map = function(x)
                    local square = sums.square(t, wide)(x)
                    return convert.value(wide.dtype, acc.dtype, "(" .. square .. ")")
                end,
                narrow = small and words.sum_of_squares(t.dtype) or nil,
                finalize = function(a)
                    local norm = ("%s(%s)"):format(root.value == "double" and "sqrt" or "sqrtf",
                                                   convert.value(acc.dtype, root, a))
                    return convert.store(t.result, convert.value(root, t.result, norm))
                end,
            })
        end,
    },
}
