-- The ops that add or multiply. ops.lua says what an entry holds.
local accumulator = require "lib/accumulator"
local convert = require "lib/convert"
local dtypes = require "dtypes"
local floats = require "lib/floats"
local magnitude = require "lib/magnitude"
local superaccumulator = require "lib/superaccumulator"
local range = require "lib/range"
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

-- The mean of f64 over the whole range: fields, of which n is how many elements, or nil.
local function mean_of_f64(t, value, numbers)
    local fields, functions = range.sum_fields(value)
    fields[#fields + 1] = numbers
    local op = sums.of_fields(fields)
    op.functions = functions
    op.finalize = function(a, count)
        local n = numbers and a .. ".numbers" or count
        local mean = ("mean_of_sums(%s.sum, %s.scaled, (double)%s)"):format(a, a, n)
        return convert.store(t.result, convert.value(dtypes.f64, t.result, mean))
    end
    return op
end

-- Of the elements of a load at once. Those that are NaN are looked for where the sum is.
local add_numbers = [[
template <u32 N>
__device__ __forceinline__ portion add_numbers(portion p, const float (&x)[N])
{
    float sum = 0;
    u32 many = N;
#pragma unroll
    for (u32 i = 0; i < N; i++) sum += x[i];
    if (sum != sum) {
        sum = 0;
        many = 0;
#pragma unroll
        for (u32 i = 0; i < N; i++) {
            sum += x[i] == x[i] ? x[i] : 0;
            many += x[i] == x[i];
        }
    }
    if (sum - sum == 0) return portion{@{added}, p.numbers + many};
#pragma unroll
    for (u32 i = 0; i < N; i++) p = @{taken};
    return p;
}

]]

-- A thread counts its numbers in 32 bits, of f64 in 64.
local function mean_of_numbers(t)
    local wide = range.widens(t)
    local acc = wide and accumulator.f64 or sums.accumulator(t)
    local small = t.dtype.bytes <= 4 and t.result.name ~= "f64"
    local kind = small and accumulator.f32 or acc
    local number = number_or(t, kind, kind.dtype.zero)
    local numbers = { "u64", "numbers", function(x) return ("(u64)(%s == %s)"):format(x, x) end }
    if range.scales(t) then return mean_of_f64(t, number, numbers) end
    local op = sums.of_fields {
        { acc.name, "sum", number_or(t, acc, acc.dtype.zero) }, numbers,
    }
    local function added(p, x)
        return (wide and "add_to_totals(%s.sum, %s)" or "%s.sum + %s"):format(p, x)
    end
    local function taken(p, x)
        return ("portion{%s, %s.numbers + (%s == %s)}"):format(added(p, number(x)), p, x, x)
    end
    op.functions = wide and range.totals or nil
    op.part = {
        c = "portion", halves = wide and 3 or small and 2 or 4,
        zero = wide and "portion{{0, 0}, 0}" or "portion{0, 0}",
        declare = ("%sstruct portion {\n    %s sum;\n    %s numbers;\n};"):format(
            wide and range.totals_type or "", wide and "totals" or kind.c, small and "u32" or "u64"),
        take = taken,
        at_once = small and not t.exact and {
            functions = add_numbers:gsub("@{(%w+)}", {
                added = added("p", "sum"), taken = taken("p", "x[i]"),
            }),
            take = function(p, x) return ("add_numbers(%s, %s)"):format(p, x) end,
        } or nil,
        widen = function(p)
            local sum = wide and ("total_of(%s.sum)"):format(p) or p .. ".sum"
            return ("record{%s, %s.numbers}"):format(sum, p)
        end,
        tile = wide and not t.exact and range.finite_tile(function(p, s, n)
            return ("portion{add_to_totals(%s.sum, %s), %s.numbers + %s}"):format(p, s, p, n)
        end) or nil,
    }
    op.finalize = function(a)
        return sums.quotient(t, a .. ".sum", ("(double)%s.numbers"):format(a))
    end
    return op
end

-- Sums of powers of sizes s = |x|, over the whole range: of (s / scale)^p, where scale is the size that
-- decides, the greatest of a positive p, of a negative one the least. So what decides is 1, and p may
-- be infinite. p = 2 has the squares of lib/range.lua, p = 1 and p = 0, which counts what is not zero,
-- plain sums. A part has `small` for the scale, and `large` for the sum.
--
-- A power takes ten times as long as those that are asked for most often. pow of f64 would be a
-- call, for which a kernel saves its registers.
local norm_functions = [[
__device__ __forceinline__ @{c} power_of(@{c} x, double p)
{
    return x == 1 ? 1 : @{power};
}

__device__ __forceinline__ squares add_power(squares a, @{c} s, double p)
{
    if (p == 2) return add_square(a, s);
    if (p == 1 || p == 0) {
        a.large += p == 1 ? s : s != 0;
    } else if (s == a.small || s != s) {
        a.large += s == s ? s != 0 || p < 0 : s;
    } else if (a.large == 0 || (p > 0 ? s > a.small : s < a.small)) {
        a.large = (a.large == 0 ? 0 : a.large * power_of(a.small / s, p)) + 1;
        a.small = s;
    } else {
        a.large += power_of(s / a.small, p);
    }
    return a;
}

__device__ __forceinline__ record powers_of(squares a, double p)
{
    if (p == 2) return record{scale_of(a), sum_of(a)};
    return record{p == 1 || p == 0 ? 1.0 : (double)a.small, (double)a.large};
}

__device__ __forceinline__ record join_powers(record a, record b, double p)
{
    if (a.sum == 0 || b.sum == 0) return a.sum == 0 ? b : a;
    if (a.scale == b.scale) return record{a.scale, a.sum + b.sum};
    const bool first = p > 0 ? a.scale > b.scale : a.scale < b.scale;
    const record lead = first ? a : b, other = first ? b : a;
    const double ratio = other.scale / lead.scale;
    if (p == 2) return record{lead.scale, lead.sum + other.sum * ratio * ratio};
    return record{lead.scale, lead.sum + other.sum * (ratio == 1 ? 1 : exp(log(ratio) * p))};
}

__device__ __forceinline__ double norm_of(record a, double p)
{
    if (p == 2) return sqrt(a.sum) * a.scale;
    if (p == 1 || p == 0 || p != p) return p == p ? a.sum : p;
    if (a.sum == 0) return p > 0 ? 0 : __longlong_as_double(0x7ff0000000000000ll);
    const double half = exp(log(a.sum) / p / 2), root = half * half;
    return root < __longlong_as_double(0x7ff0000000000000ll) ? a.scale * root : a.scale * half * half;
}
]]

local function norm(t)
    local wide = t.dtype.kind ~= "float" or t.result.name == "f64" or t.dtype.bytes == 8 or t.exact
    local value = wide and dtypes.f64 or dtypes.f32
    local values = {
        c = value.value, power = wide and "exp(log(x) * p)" or "powf(x, (float)p)",
    }
    local squares = range.squares(t.dtype.bytes == 8 and t.dtype.kind == "float" and "f64"
        or not wide and range.widens(t) and t.dtype.name or "plain", value)
    local function taken(p, x)
        local size = magnitude(value, convert.value(t.dtype, value, x))
        return ("add_power(%s, %s, given.p)"):format(p, size)
    end
    local function widened(p) return ("powers_of(%s, given.p)"):format(p) end
    return {
        acc = accumulator.struct { { "f64", "scale" }, { "f64", "sum" } }, costly = true,
        identity = "record{0, 0}",
        functions = squares.functions .. norm_functions:gsub("@{(%w+)}", values),
        map = function(x) return widened(taken(squares.zero, x)) end,
        combine = function(a, b) return ("join_powers(%s, %s, given.p)"):format(a, b) end,
        part = {
            c = "squares", halves = squares.halves, zero = squares.zero, take = taken, widen = widened,
        },
        finalize = function(a)
            local root = ("norm_of(%s, given.p)"):format(a)
            return convert.store(t.result, convert.value(dtypes.f64, t.result, root))
        end,
    }
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
        range_bytes = 16,
        make = function(t)
            -- Sums of up to 32 bits are exact in 64, those of 64 bits might wrap.
            local f64 = t.dtype.kind ~= "float" and t.dtype.bytes == 8 or t.result.name == "f64"
                and t.dtype.kind == "float"
            local ranges = range.widens(t)
            if range.scales(t) then return mean_of_f64(t, function(x) return x end) end
            local functions, part = range.sum_part(t)
            return sums.like(t, {
                acc = accumulator[(f64 or ranges) and "f64" or t.dtype.accumulator],
                narrow = not f64 and words.sum(t.dtype) or nil,
                functions = functions, part = part, ranges = ranges,
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
        compensated = true, range_bytes = 24,
        make = function(t)
            local integer = t.dtype.kind ~= "float"
            local small = integer and t.dtype.bytes <= 2
            local f64 = not small and (integer or t.result.name == "f64") or range.widens(t)
            local acc = small and accumulator.u64 or f64 and accumulator.f64
                or accumulator[t.dtype.accumulator]
            local wide = small and accumulator[t.dtype.accumulator] or acc
            return sums.of_squares(t, {
                acc = acc, factors = not integer and sums.squared(t, acc) or nil,
                map = integer and function(x)
                    local square = sums.square(t, wide)(x)
                    return convert.value(wide.dtype, acc.dtype, "(" .. square .. ")")
                end or nil,
                narrow = small and words.sum_of_squares(t.dtype) or nil,
            }, function(x) return x end)
        end,
    },
    {
        name = "normp", number = 22, formula = "(|x[0]|^p + ... + |x[n-1]|^p)^(1/p)",
        result = "mean", combines = "sum", power = 2, lost_bits = 2,
        parameters = { { name = "p", usual = 2 } }, accumulator_bytes = 16,
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
        range_bytes = 24, dtypes = floats, make = mean_of_numbers,
    },
}
