-- The ops that give a logarithm. ops.lua says what an entry holds.
local accumulator = require "lib/accumulator"
local convert = require "lib/convert"
local dtypes = require "dtypes"

-- The dtype that these compute in: f64 of integers, and if asked for.
local function wide_dtype(t)
    local wide = t.dtype.kind ~= "float" or t.result.name == "f64"
    return dtypes[wide and "f64" or t.dtype.accumulator]
end

-- Relative to the greatest element, whose e^0 is among the sum, no term of 2^(x * log2(e)) errs by
-- more than two of f32's roundings; nor do those that are 0 in place of less than 2^-126.
local exponential = [[
__device__ __forceinline__ float exponential(float x)
{
    float power;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(x * 1.44269504f));
    return power;
}

]]

local log_sum_functions = [[
__device__ __forceinline__ record add_exponentials(record a, record b)
{
    const @{c} apart = a.greatest - b.greatest;
    const @{c} less = a.greatest == b.greatest ? @{one} : @{exp}(apart > 0 ? -apart : apart);
    return apart > 0 ? record{a.greatest, a.sum + b.sum * less}
                     : record{b.greatest, a.sum * less + b.sum};
}

// Several elements at once, instead of a if they are the FIRST. Their terms are relative to the
// greatest of all, or to the greatest finite number where that is infinite: there a term is 0,
// infinite or NaN as it is.
template <bool FIRST, int N>
__device__ __forceinline__ record add_several(record a, const @{value} (&x)[N])
{
    @{c} greatest = FIRST ? (@{c})x[0] : a.greatest;
#pragma unroll
    for (int i = 0; i < N; i++) greatest = @{max}(greatest, (@{c})x[i]);
    const @{c} near = @{min}(@{max}(greatest, -@{most}), @{most});
    @{c} sum = FIRST ? 0 : a.sum * @{exp}(a.greatest - near);
#pragma unroll
    for (int i = 0; i < N; i++) sum += @{exp}((@{c})x[i] - near);
    return record{greatest, sum};
}

// The lanes of a group of N, which all get the same.
template <u32 N>
__device__ __forceinline__ record add_lanes(record a)
{
    @{c} greatest = a.greatest;
#pragma unroll
    for (u32 step = N / 2; step > 0; step /= 2)
        greatest = @{max}(greatest, __shfl_xor_sync(0xffffffff, greatest, step));
    const @{c} near = @{min}(@{max}(greatest, -@{most}), @{most});
    @{c} sum = a.sum * @{exp}(a.greatest - near);
#pragma unroll
    for (u32 step = N / 2; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffff, sum, step);
    return record{greatest, sum};
}
]]

local function log_sum_exp(t)
    local wide = wide_dtype(t)
    local double = wide.name == "f64"
    local identity = ("record{%s, %s}"):format(wide.least, wide.zero)
    local values = {
        c = wide.value, one = wide.one, exp = double and "exp" or "exponential",
        value = t.dtype.value, max = double and "fmax" or "fmaxf", min = double and "fmin" or "fminf",
        most = double and "1.7976931348623157e308" or "3.402823466e38f",
    }
    return {
        acc = accumulator.struct { { wide.name, "greatest" }, { wide.name, "sum" } },
        identity = identity, alone = true, costly = wide.name == "f64",
        map = function(x)
            return ("record{%s, %s}"):format(convert.value(t.dtype, wide, x), wide.one)
        end,
        combine = function(a, b) return ("add_exponentials(%s, %s)"):format(a, b) end,
        lanes = function(a, n) return ("add_lanes<%d>(%s)"):format(n, a) end,
        several = function(a, x)
            return ("add_several<%s>(%s, %s)"):format(a and "false" or "true", a or identity, x)
        end,
        functions = (double and "" or exponential) .. log_sum_functions:gsub("@{(%w+)}", values),
        finalize = function(a)
            local value = ("(%s.greatest + %s(%s.sum))"):format(a, double and "log" or "logf", a)
            return convert.store(t.result, convert.value(wide, t.result, value))
        end,
    }
end

-- A product is kept as fraction * 2^exponent with 1 <= |fraction| < 2, which neither over- nor
-- underflows. Zeros, infinities and NaN are fractions that stay as they are.
local product_functions = [[
__device__ __forceinline__ record multiply(record a, record b)
{
    const @{c} fraction = a.fraction * b.fraction;
    const bool carry = @{fabs}(fraction) >= 2;
    return record{carry ? fraction / 2 : fraction, a.exponent + b.exponent + carry};
}

__device__ __forceinline__ record factor_of(@{c} x)
{
    const bool small = @{fabs}(x) < @{least_normal};
    const @{c} normal = small ? x * @{scale} : x;
    const @{bits} bits = @{bits_of}(normal), field = bits >> @{fraction_bits} & @{field_mask};
    if (field == 0 || field == @{field_mask}) return record{x, 0};
    return record{@{of_bits}(bits & ~((@{bits})@{field_mask} << @{fraction_bits})
                             | (@{bits})@{bias} << @{fraction_bits}),
                  (i64)field - @{bias} - (small ? @{scale_bits} : 0)};
}

__device__ __forceinline__ @{c} sign_of(record a)
{
    return a.fraction > 0 ? 1 : a.fraction < 0 ? -1 : a.fraction + 0;  // +0 or NaN
}

__device__ __forceinline__ @{c} log_magnitude(record a)
{
    return (@{c})(log(fabs((double)a.fraction)) + (double)a.exponent * 0.6931471805599453);
}
]]

local product_values = {
    f32 = {
        c = "float", bits = "u32", fabs = "fabsf", least_normal = "0x1p-126f", scale = "0x1p24f",
        scale_bits = 24, bits_of = "__float_as_uint", of_bits = "__uint_as_float",
        fraction_bits = 23, field_mask = 255, bias = 127,
    },
    f64 = {
        c = "double", bits = "u64", fabs = "fabs", least_normal = "0x1p-1022", scale = "0x1p54",
        scale_bits = 54, bits_of = "(u64)__double_as_longlong", of_bits = "__longlong_as_double",
        fraction_bits = 52, field_mask = 2047, bias = 1023,
    },
}

local function sign_and_log(t)
    local wide = wide_dtype(t)
    local function stored(result, text)
        return convert.store(result, convert.value(wide, result, text))
    end
    return {
        acc = accumulator.struct { { wide.name, "fraction" }, { "i64", "exponent" } },
        identity = ("record{%s, 0}"):format(wide.one),
        map = function(x) return ("factor_of(%s)"):format(convert.value(t.dtype, wide, x)) end,
        combine = function(a, b) return ("multiply(%s, %s)"):format(a, b) end,
        functions = product_functions:gsub("@{([%w_]+)}", product_values[wide.name]),
        finalize = function(a)
            return stored(t.result, ("sign_of(%s)"):format(a)),
                t.second and stored(t.second, ("log_magnitude(%s)"):format(a))
        end,
    }
end

return {
    {
        name = "logsumexp", number = 25, formula = "log(exp(x[0]) + ... + exp(x[n-1]))",
        result = "mean", combines = "exponentials", bools = true, values = 2, lost_bits = 6,
        make = log_sum_exp,
    },
    {
        name = "slogprod", number = 26,
        formula = "the sign of x[0] * ... * x[n-1] and log |x[0]| + ... + log |x[n-1]|",
        outputs = { { name = "sign", result = "mean" }, { name = "logabs", result = "mean" } },
        combines = "product", accumulator_bytes = 16,
        make = sign_and_log,
    },
}
