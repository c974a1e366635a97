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

-- An infinity among the elements makes the mean that of a sum, and the rest NaN. n is a number of
-- f64, exact up to 2^53; where two are equal nothing is divided.
local functions = [[
__device__ __forceinline__ record join_moments(record a, record b)
{
    if (a.n == 0 || b.n == 0) return a.n == 0 ? b : a;
    double share = 0.5;
    if (a.n != b.n) share = b.n / (a.n + b.n);
    const double delta = b.mean - a.mean;
    const bool finite = delta - delta == 0;
    return record{a.n + b.n, finite ? a.mean + delta * share : a.mean + b.mean,
                  a.m2 + b.m2 + delta * delta * share * a.n};
}

__device__ __forceinline__ portion add_to_portion(portion p, @{c} x)
{
    if (p.n == 0 && x - x == 0) p.from = x;
    const @{c} distance = x - p.from;
    return portion{p.from, p.sum + distance, p.squares + distance * distance, p.n + 1};
}

__device__ __forceinline__ record moments_of(portion p)
{
    if (p.n == 0) return record{0.0, 0.0, 0.0};
@{moments}
    return record{(double)p.n, (double)p.from + mean, m2 < 0 ? 0 : m2};
}
]]

-- In f32 the mean may be off: what it leaves of the sum counts for both results.
local moments_in = {
    f64 = [[
    const double mean = p.sum / (double)p.n;
    const double m2 = p.squares - p.sum * mean;]],
    f32 = [[
    const float n = (float)p.n, near = __fdividef(p.sum, n);
    const float left = fmaf(-near, n, p.sum);
    const float more = left == left ? __fdividef(left, n) : 0;  // NaN of infinities
    const double mean = (double)near + (double)more;
    const float m2 = fmaf(-near, p.sum + left, p.squares);]],
}

-- What is at most 32 bits wide, and has a result that is so, is added in f32. A thread has fewer
-- than 2^32 elements of these: f32 would not show so many.
local function part_dtype(t)
    local small = t.dtype.kind == "float" and t.dtype.bytes <= 4 and t.result.name ~= "f64"
    return small and dtypes.f32 or dtypes.f64
end

local function stored(result, value)
    return convert.store(result, convert.value(dtypes.f64, result, value))
end

-- finalize(a) gives the results in f64.
local function moments(t, finalize)
    local part = part_dtype(t)
    local small = part.name == "f32"
    local function value(dtype, x)
        return convert.value(t.dtype, dtype, x)
    end
    return {
        acc = accumulator.struct { { "f64", "n" }, { "f64", "mean" }, { "f64", "m2" } },
        identity = "record{0.0, 0.0, 0.0}",
        map = function(x)
            local wide = value(dtypes.f64, x)
            return ("record{1.0, %s, %s - %s}"):format(wide, wide, wide)
        end,
        combine = function(a, b) return ("join_moments(%s, %s)"):format(a, b) end,
        functions = functions:gsub("@{(%w+)}",
                                   { c = part.value, moments = moments_in[part.name] }),
        finalize = finalize, alone = small,
        part = {
            c = "portion", halves = small and 4 or 8,
            declare = ("struct portion {\n    %s from, sum, squares;\n    %s n;\n};"):format(
                part.value, small and "u32" or "u64"),
            zero = "portion{0, 0, 0, 0}",
            take = function(p, x) return ("add_to_portion(%s, %s)"):format(p, value(part, x)) end,
            widen = function(p) return ("moments_of(%s)"):format(p) end,
        },
    }
end

-- The divisor is the same for all results, and a result in f32 shows no quotient's last bit.
local function variance(t, a, count)
    local under = ("fmax((double)%s - given.ddof, 0.0)"):format(count)
    if t.result.name == "f64" then return ("(%s.m2 / %s)"):format(a, under) end
    return ("(%s.m2 * (1.0 / %s))"):format(a, under)
end

local ddof = { { name = "ddof", usual = 0 } }

return {
    {
        name = "var", number = 23,
        formula = "((x[0] - mean)^2 + ... + (x[n-1] - mean)^2) / (n - ddof)",
        result = "mean", combines = "sum", power = 2, parameters = ddof, accumulator_bytes = 24,
        tolerance = 16, lost_bits = 6,
        make = function(t)
            return moments(t, function(a, count) return stored(t.result, variance(t, a, count)) end)
        end,
    },
    {
        name = "std", number = 24,
        formula = "sqrt(((x[0] - mean)^2 + ... + (x[n-1] - mean)^2) / (n - ddof))",
        result = "mean", combines = "sum", power = 2, parameters = ddof, accumulator_bytes = 24,
        tolerance = 16, lost_bits = 7,
        make = function(t)
            return moments(t, function(a, count)
                return stored(t.result, ("sqrt(%s)"):format(variance(t, a, count)))
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
            return moments(t, function(a, count)
                -- A mean that is zero is +0, as a sum is: -0 + 0 is that.
                local mean = ("(%s.n ? %s.mean + 0.0 : %s)"):format(a, a, dtypes.f64.nan)
                return stored(t.result, mean), t.second and stored(t.second, variance(t, a, count))
            end)
        end,
    },
}
