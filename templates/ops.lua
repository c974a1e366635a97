-- The ops: what a reduction computes, in expressions of CUDA text. docs/ops.md specifies them.
--
-- An entry is all that redtune knows of an op. It holds
--   name, formula   for people
--   number          its enumerator in redtune.h; an op that has none is found by its name
--   result          the class of the result's dtype, where s is the usual dtype of sums:
--                   "sum" (s; f64 or the input's own, if asked for), "mean" (likewise, of integers
--                   f64), "same" (the input's), "abs" (the same, unsigned), "index" (i64), "truth"
--                   (u8), "count" (u64), "bits" (the input's, integers only)
--   combines        how elements make the result, for which test data are made that show every one:
--                   "sum", "product", "least", "greatest", "magnitude", "any", "all", "count",
--                   "and", "or", "xor"
-- and, where they differ from 0 and false:
--   power           of a sum: what is added is at most this power of an element's magnitude; or 1
--   f64_from        of a mean: integers of so many bytes and more accumulate in f64; or 1
--   lost_bits       of a mean: bits of the accumulator that the result may not show
--   inputs          2: map(x, y) takes an element of each; or 1
--   outputs         of several results, in place of result: a list of { name, result }; finalize
--                   then gives an expression for each
--   parameters      a list of { name, usual }: doubles that a run gives, `given.NAME` in expressions
--   values          how many values of the accumulator's dtype an accumulator has; or 1
--   tolerance       results may differ, by the order in which elements are combined even of exact
--                   data, by this many units in the last place of the accumulator; or 0
--   resumes         make gives resume(r), the accumulator that r is the result of, so that a run can
--                   go on from what d_out holds
--   indexed         looks for an element's place
--   ignores_nan     a NaN among the elements changes nothing
--   bools           takes bools, stored as u8, for what they are
-- and make(t), which is given the dtype, the result's dtype and the GPU architecture (90 is sm_90),
-- and returns:
--   acc                 the accumulator (lib/accumulator.lua)
--   identity            combines with any a to a
--   map(x)              an element's value as an accumulator
--   combine(a, b)       associative and commutative
--   finalize(a, count)  the accumulator as a value of the result's dtype
--   functions           CUDA text that these call; may be missing
-- and, where whole words of several elements go faster than elements, one of:
--   narrow = { c, zero, step(n, w) }   a small sum that takes up words for the length of a tile, and
--                                      is then mapped to an accumulator by widen(n)
--   word(a, w), fold(a)                takes a word into an accumulator of as many lanes; fold
--                                      combines the lanes at the end
-- An indexed op has before(a, b) on values that are no NaN, last, a value that goes before none,
-- and key_of among its functions, in place of map.
local accumulator = require "lib/accumulator"
local convert = require "lib/convert"
local dtypes = require "dtypes"
local words = require "lib/words"

local ops = {}

local function plus(a, b) return a .. " + " .. b end
local function unchanged(x) return x end

-- The accumulator of sums: f64 if the result is asked for in f64.
local function sum_accumulator(t)
    return accumulator[t.result.name == "f64" and "f64" or t.dtype.accumulator]
end

local function to_result(acc, t)
    return function(a) return convert.store(t.result, convert.value(acc.dtype, t.result, a)) end
end

-- Completes an op by what a sum has.
local function sum_like(t, op)
    local acc = op.acc or sum_accumulator(t)
    op.acc, op.combine = acc, op.combine or plus
    op.identity = op.identity or acc.dtype.zero
    op.map = op.map or function(x) return convert.value(t.dtype, acc.dtype, x) end
    op.widen = function(n) return ("(%s)%s"):format(acc.c, n) end
    op.finalize = op.finalize or to_result(acc, t)
    return op
end

local function magnitude(dtype, x)
    if dtype.kind == "unsigned" then return x end
    if dtype.kind == "float" then
        return ("%s(%s)"):format(dtype.value == "double" and "fabs" or "fabsf", x)
    end
    return ("(%s < 0 ? -%s : %s)"):format(x, x, x)
end

ops.sum = {
    name = "sum", number = 0, formula = "x[0] + ... + x[n-1]",
    result = "sum", combines = "sum", bools = true,
    make = function(t) return sum_like(t, { narrow = words.sum(t.dtype) }) end,
}

ops.prod = {
    name = "prod", number = 1, formula = "x[0] * ... * x[n-1]",
    result = "sum", combines = "product",
    make = function(t)
        return sum_like(t, {
            identity = sum_accumulator(t).dtype.one,
            combine = function(a, b) return a .. " * " .. b end,
        })
    end,
}

local function square(t, acc)
    return function(x)
        local wide = convert.value(t.dtype, acc.dtype, x)
        return wide .. " * " .. wide
    end
end

ops.sumsq = {
    name = "sumsq", number = 8, formula = "x[0]^2 + ... + x[n-1]^2",
    result = "sum", combines = "sum", power = 2,
    make = function(t)
        return sum_like(t, {
            map = square(t, sum_accumulator(t)), narrow = words.sum_of_squares(t.dtype),
        })
    end,
}

ops.sumabs = {
    name = "sumabs", number = 10, formula = "|x[0]| + ... + |x[n-1]|",
    result = "sum", combines = "sum",
    make = function(t)
        local acc = sum_accumulator(t)
        local function map(x)
            -- The wide value first: the least i32 has no magnitude in 32 bits.
            if t.dtype.kind == "float" then
                return convert.value(t.dtype, acc.dtype, magnitude(t.dtype, x))
            end
            return magnitude(t.dtype.kind == "signed" and acc.dtype or t.dtype,
                             convert.value(t.dtype, acc.dtype, x))
        end
        return sum_like(t, { map = map, narrow = words.sum_of_magnitudes(t.dtype) })
    end,
}

ops.mean = {
    name = "mean", number = 12, formula = "(x[0] + ... + x[n-1]) / n",
    result = "mean", combines = "sum", f64_from = 8, lost_bits = 1,
    make = function(t)
        -- Sums of up to 32 bits are exact in 64, those of 64 bits might wrap.
        local f64 = t.dtype.kind ~= "float" and t.dtype.bytes == 8 or t.result.name == "f64"
            and t.dtype.kind == "float"
        return sum_like(t, {
            acc = accumulator[f64 and "f64" or t.dtype.accumulator],
            narrow = not f64 and words.sum(t.dtype) or nil,
            -- Divided in f64, where every count is exact that memory has room for.
            finalize = function(a, count)
                local quotient = ("((double)%s / (double)%s)"):format(a, count)
                return convert.store(t.result, convert.value(dtypes.f64, t.result, quotient))
            end,
        })
    end,
}

ops.norm2 = {
    name = "norm2", number = 9, formula = "sqrt(x[0]^2 + ... + x[n-1]^2)",
    result = "mean", combines = "sum", power = 2, f64_from = 4, lost_bits = 2,
    make = function(t)
        local integer = t.dtype.kind ~= "float"
        local small = integer and t.dtype.bytes <= 2
        local acc = small and accumulator.u64 or (integer or t.result.name == "f64")
            and accumulator.f64 or accumulator[t.dtype.accumulator]
        local root = acc.name == "f32" and dtypes.f32 or dtypes.f64
        local wide = small and accumulator[t.dtype.accumulator] or acc
        return sum_like(t, {
            acc = acc,
            map = function(x)
                return convert.value(wide.dtype, acc.dtype, "(" .. square(t, wide)(x) .. ")")
            end,
            narrow = small and words.sum_of_squares(t.dtype) or nil,
            finalize = function(a)
                local norm = ("%s(%s)"):format(root.value == "double" and "sqrt" or "sqrtf",
                                               convert.value(acc.dtype, root, a))
                return convert.store(t.result, convert.value(root, t.result, norm))
            end,
        })
    end,
}

-- ---- least and greatest ------------------------------------------------------------------------

-- The dtype that a value is compared in: the value's own type.
local function compared(dtype)
    return dtypes[({ ["int"] = "i32", float = "f32", double = "f64" })[dtype.value] or dtype.value]
end

-- name is "min" or "max". A NaN on either side wins; -0 is less than +0.
local function nan_function(name, dtype, arch)
    if dtype.name == "f32" and arch >= 80 then
        return ([[
__device__ __forceinline__ float nan_%s(float a, float b)
{
    asm("%s.NaN.f32 %%0, %%0, %%1;" : "+f"(a) : "f"(b));
    return a;
}
]]):format(name, name)
    end
    return ([[
__device__ __forceinline__ %s nan_%s(%s a, %s b)
{
    return a != a || b != b ? a + b : f%s%s(a, b);  // the sum is a quiet NaN
}
]]):format(dtype.value, name, dtype.value, dtype.value, name, dtype.name == "f32" and "f" or "")
end

-- edge is the identity: the dtype's literal of that name.
local function extreme(t, name, edge, map)
    local kind = compared(t.dtype)
    local acc = accumulator[kind.name]
    local float = kind.kind == "float"
    return {
        acc = acc, identity = (float and kind or t.dtype)[edge], map = map or unchanged,
        combine = function(a, b)
            return ("%s%s(%s, %s)"):format(float and "nan_" or "", name, a, b)
        end,
        functions = float and nan_function(name, kind, t.arch) or nil,
        finalize = function(a) return convert.store(t.result, a) end,
    }
end

-- NaN is ignored: it is the identity of fmin and fmax.
local function number_extreme(t, name, edge)
    local kind = compared(t.dtype)
    local op = extreme(t, name, edge)
    if kind.kind ~= "float" then return op end
    op.identity, op.functions = kind.nan, nil
    op.combine = function(a, b)
        return ("f%s%s(%s, %s)"):format(name, kind.name == "f32" and "f" or "", a, b)
    end
    return op
end

ops.min = {
    name = "min", number = 2, formula = "the least of x[0] ... x[n-1]; NaN if one is",
    result = "same", combines = "least",
    make = function(t) return extreme(t, "min", "greatest") end,
}
ops.max = {
    name = "max", number = 3, formula = "the greatest of x[0] ... x[n-1]; NaN if one is",
    result = "same", combines = "greatest",
    make = function(t) return extreme(t, "max", "least") end,
}
ops.fmin = {
    name = "fmin", number = 4, formula = "the least number of x[0] ... x[n-1]",
    result = "same", combines = "least", ignores_nan = true,
    make = function(t) return number_extreme(t, "min", "greatest") end,
}
ops.fmax = {
    name = "fmax", number = 5, formula = "the greatest number of x[0] ... x[n-1]",
    result = "same", combines = "greatest", ignores_nan = true,
    make = function(t) return number_extreme(t, "max", "least") end,
}

ops.maxabs = {
    name = "maxabs", number = 11, formula = "the greatest of |x[0]| ... |x[n-1]|; NaN if one is",
    result = "abs", combines = "magnitude",
    make = function(t)
        if t.dtype.kind == "float" then
            local op = extreme(t, "max", "zero", function(x) return magnitude(t.dtype, x) end)
            op.identity = compared(t.dtype).zero
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
        }
    end,
}

-- Keys are unsigned integers in the order of the values; the least wins, and NaN is below all.
-- -0 + 0 is +0, so that both zeros have one key.
local function key_function(t, greatest)
    local wide = t.dtype.bytes == 8
    local key = wide and "u64" or "u32"
    local sign = wide and "0x8000000000000000ull" or "0x80000000u"
    local flip = greatest and "~" or ""
    local body
    if t.dtype.kind == "unsigned" then
        body = ("return %sx;"):format(flip)
    elseif t.dtype.kind == "signed" then
        body = ("return %s((%s)x ^ %s);"):format(flip, key, sign)
    else
        local bits = wide and "(u64)__double_as_longlong(x + 0.0)" or "__float_as_uint(x + 0.0f)"
        body = ("const %s bits = %s;\n"):format(key, bits)
            .. ("    const %s ordered = bits & %s ? ~bits : bits | %s;\n"):format(key, sign, sign)
            .. ("    return x == x ? %sordered : 0;"):format(flip)
    end
    return ("__device__ __forceinline__ %s key_of(%s x)\n{\n    %s\n}\n"):format(
        key, t.dtype.value, body)
end

local function place(t, greatest)
    local acc = t.dtype.bytes == 8 and accumulator.arg64 or accumulator.arg32
    return {
        acc = acc, identity = "arg{~(" .. acc.key .. ")0, ~0ull}",
        before = function(a, b) return ("%s %s %s"):format(a, greatest and ">" or "<", b) end,
        last = (t.dtype.kind == "float" and compared(t.dtype) or t.dtype)[greatest and "least"
            or "greatest"],
        functions = key_function(t, greatest) .. [[

__device__ __forceinline__ arg first_least(arg a, arg b)
{
    return b.key < a.key || (b.key == a.key && b.index < a.index) ? b : a;
}
]],
        combine = function(a, b) return ("first_least(%s, %s)"):format(a, b) end,
        finalize = function(a) return ("(i64)%s.index"):format(a) end,
    }
end

ops.argmin = {
    name = "argmin", number = 6, formula = "the first index of the least of x[0] ... x[n-1]",
    result = "index", combines = "least", indexed = true,
    make = function(t) return place(t, false) end,
}
ops.argmax = {
    name = "argmax", number = 7, formula = "the first index of the greatest of x[0] ... x[n-1]",
    result = "index", combines = "greatest", indexed = true,
    make = function(t) return place(t, true) end,
}

-- ---- truth and bits ----------------------------------------------------------------------------

-- Accumulates whether an element passes the test against 0.
local function truth(test, word)
    return {
        acc = accumulator.u32, identity = "0", word = word,
        map = function(x) return ("(u32)(%s %s 0)"):format(x, test) end,
        combine = function(a, b) return a .. " | " .. b end,
        finalize = function(a) return ("(unsigned char)(%s %s 0)"):format(a, test) end,
    }
end

ops.any = {
    name = "any", number = 13, formula = "1 if one of x[0] ... x[n-1] is not zero, else 0",
    result = "truth", combines = "any", bools = true,
    make = function(t) return truth("!=", words.any(t.dtype)) end,
}
ops.all = {
    name = "all", number = 14, formula = "1 if none of x[0] ... x[n-1] is zero, else 0",
    result = "truth", combines = "all", bools = true,
    make = function(t) return truth("==", words.zero(t.dtype)) end,
}

ops.nonzeros = {
    name = "nonzeros", number = 15, formula = "how many of x[0] ... x[n-1] are not zero",
    result = "count", combines = "count", bools = true,
    make = function(t)
        return sum_like(t, {
            acc = accumulator.u64, narrow = words.nonzeros(t.dtype),
            map = function(x) return ("(u64)(%s != 0)"):format(x) end,
        })
    end,
}

local function bitwise(t, operator, identity)
    local acc = accumulator[t.dtype.bytes == 8 and "u64" or "u32"]
    return {
        acc = acc, identity = identity == 0 and "0" or ("~(%s)0"):format(acc.c),
        map = function(x) return ("(%s)%s"):format(acc.c, x) end,
        combine = function(a, b) return ("%s %s %s"):format(a, operator, b) end,
        word = words.bits(t.dtype, operator), fold = words.fold_bits(t.dtype, operator),
        finalize = function(a) return ("(%s)%s"):format(t.result.c, a) end,
    }
end

ops["and"] = {
    name = "and", number = 16, formula = "x[0] & ... & x[n-1]",
    result = "bits", combines = "and",
    make = function(t) return bitwise(t, "&", 1) end,
}
ops["or"] = {
    name = "or", number = 17, formula = "x[0] | ... | x[n-1]",
    result = "bits", combines = "or",
    make = function(t) return bitwise(t, "|", 0) end,
}
ops["xor"] = {
    name = "xor", number = 18, formula = "x[0] ^ ... ^ x[n-1]",
    result = "bits", combines = "xor",
    make = function(t) return bitwise(t, "^", 0) end,
}

return ops
