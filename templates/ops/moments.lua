-- The ops of the mean and the variance. ops.lua says what an entry holds.
--
-- The accumulator holds how many elements there are, their mean and the sum of the squares of what
-- they are from it, in f64. Two are combined by the formula of Chan, Golub and LeVeque (Updating
-- formulae and a pairwise algorithm for computing sample variances, 1979), which loses nothing
-- where the mean is large beside the deviation. That divides, so a thread adds its elements as
-- distances from the first of them, and makes an accumulator of the sums at the end.
local accumulator = require "lib/accumulator"
local convert = require "lib/convert"
local dtypes = require "dtypes"

-- An infinity among the elements makes the mean that of a sum, and the rest NaN.
local functions = [[
__device__ __forceinline__ record join_moments(record a, record b)
{
    if (a.n == 0 || b.n == 0) return a.n == 0 ? b : a;
    const u64 n = a.n + b.n;
    const double share = (double)b.n / (double)n, delta = b.mean - a.mean;
    const bool finite = delta - delta == 0;
    return record{n, finite ? a.mean + delta * share : a.mean + b.mean,
                  a.m2 + b.m2 + delta * delta * share * (double)a.n};
}

__device__ __forceinline__ portion add_to_portion(portion p, @{c} x)
{
    if (p.n == 0 && x - x == 0) p.from = x;
    const @{c} distance = x - p.from;
    return portion{p.from, p.sum + distance, p.squares + distance * distance, p.n + 1};
}

__device__ __forceinline__ record moments_of(portion p)
{
    if (p.n == 0) return record{0, 0.0, 0.0};
    const double mean = (double)p.sum / (double)p.n;
    const double m2 = (double)p.squares - (double)p.sum * mean;
    return record{p.n, (double)p.from + mean, m2 < 0 ? 0.0 : m2};
}

__device__ __forceinline__ double variance_of(record a, double ddof)
{
    const double under = (double)a.n - ddof;
    return a.m2 / (under > 0 ? under : 0.0);
}
]]

-- What is 16 bits wide, and has a result in 32, is added in f32.
local function part_dtype(t)
    local small = t.dtype.kind == "float" and t.dtype.bytes == 2 and t.result.name ~= "f64"
    return small and dtypes.f32 or dtypes.f64
end

local function stored(result, value)
    return convert.store(result, convert.value(dtypes.f64, result, value))
end

-- finalize(a) gives the results in f64.
local function moments(t, finalize)
    local part = part_dtype(t)
    local function value(dtype, x)
        return convert.value(t.dtype, dtype, x)
    end
    return {
        acc = accumulator.struct { { "u64", "n" }, { "f64", "mean" }, { "f64", "m2" } },
        identity = "record{0, 0.0, 0.0}",
        map = function(x)
            local wide = value(dtypes.f64, x)
            return ("record{1, %s, %s - %s}"):format(wide, wide, wide)
        end,
        combine = function(a, b) return ("join_moments(%s, %s)"):format(a, b) end,
        functions = functions:gsub("@{c}", part.value),
        finalize = finalize,
        part = {
            c = "portion", halves = part.name == "f64" and 8 or 5,
            declare = ("struct portion {\n    %s from, sum, squares;\n    u64 n;\n};"):format(
                part.value),
            zero = "portion{0, 0, 0, 0}",
            take = function(p, x) return ("add_to_portion(%s, %s)"):format(p, value(part, x)) end,
            widen = function(p) return ("moments_of(%s)"):format(p) end,
        },
    }
end

local function variance(a) return ("variance_of(%s, given.ddof)"):format(a) end

local ddof = { { name = "ddof", usual = 0 } }

return {
    {
        name = "var", number = 23,
        formula = "((x[0] - mean)^2 + ... + (x[n-1] - mean)^2) / (n - ddof)",
        result = "mean", combines = "sum", power = 2, parameters = ddof, accumulator_bytes = 24,
        tolerance = 16, lost_bits = 6,
        make = function(t)
            return moments(t, function(a) return stored(t.result, variance(a)) end)
        end,
    },
    {
        name = "std", number = 24,
        formula = "sqrt(((x[0] - mean)^2 + ... + (x[n-1] - mean)^2) / (n - ddof))",
        result = "mean", combines = "sum", power = 2, parameters = ddof, accumulator_bytes = 24,
        tolerance = 16, lost_bits = 7,
        make = function(t)
            return moments(t, function(a)
                return stored(t.result, ("sqrt(%s)"):format(variance(a)))
            end)
        end,
    },
    {
        name = "mean_var", number = 31,
        formula = "(x[0] + ... + x[n-1]) / n and ((x[0] - mean)^2 + ...) / (n - ddof)",
        outputs = { { name = "mean", result = "mean" }, { name = "var", result = "mean" } },
        combines = "sum", power = 2, parameters = ddof, accumulator_bytes = 24,
        tolerance = 16, lost_bits = 6,
        make = function(t)
            return moments(t, function(a)
                local mean = ("(%s.n ? %s.mean : %s)"):format(a, a, dtypes.f64.nan)
                return stored(t.result, mean), t.second and stored(t.second, variance(a))
            end)
        end,
    },
}
