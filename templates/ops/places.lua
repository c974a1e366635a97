-- The ops that find an element's place. ops.lua says what an entry holds.
local accumulator = require "lib/accumulator"
local convert = require "lib/convert"
local extremes = require "lib/extremes"
local floats = require "lib/floats"
local magnitude = require "lib/magnitude"

-- The key of no element, and of a NaN that is skipped: no number has it.
local NO_KEY <const> = { u32 = "~0u", u64 = "~0ull" }

-- What argmaxabs compares: for signed integers a number without a sign, so that the least is greater
-- than all.
local function size_of(t, x)
    if t.dtype.kind ~= "signed" then return magnitude(t.dtype, x) end
    local c = t.dtype.bytes == 8 and "u64" or "u32"
    return ("(%s < 0 ? 0 - (%s)%s : (%s)%s)"):format(x, c, x, c, x)
end

-- The key of a magnitude: the more, the less.
local function size_key_function(t)
    local wide = t.dtype.bytes == 8
    local key, bits = wide and "u64" or "u32", size_of(t, "x")
    if t.dtype.kind == "float" then
        bits = wide and ("(u64)__double_as_longlong(%s)"):format(bits)
            or ("__float_as_uint(%s)"):format(bits)
        bits = "x == x ? ~" .. bits .. " : 0"
    else
        bits = ("~(%s)%s"):format(key, bits)
    end
    return ("__device__ __forceinline__ %s key_of(%s x)\n{\n    return %s;\n}\n"):format(
        key, t.dtype.value, bits)
end

-- Keys are unsigned integers in the order of the values; the least wins, and NaN is below all, or where
-- it is skipped above. -0 + 0 is +0, so that both zeros have one key.
local function key_function(t, greatest, skips)
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
            .. ("    return x == x ? %sordered : %s;"):format(flip, skips and NO_KEY[key] or "0")
    end
    return ("__device__ __forceinline__ %s key_of(%s x)\n{\n    %s\n}\n"):format(
        key, t.dtype.value, body)
end

local first_least = [[

__device__ __forceinline__ arg first_least(arg a, arg b)
{
    const bool goes = (b.key < a.key) | ((b.key == a.key) & (b.index < a.index));
    return arg{goes ? b.key : a.key, goes ? b.index : a.index};
}
]]

-- The same of the lanes of a warp, or of a group of N. A warp finds the least of 32 bits in one
-- instruction: of all keys, then of the indices' halves where the key is that.
local first_of_lanes = first_least .. [[

__device__ __forceinline__ u32 least_of_warp(u32 x)
{
    u32 least;
    asm volatile("redux.sync.min.u32 %0, %1, 0xffffffff;" : "=r"(least) : "r"(x));
    return least;
}

__device__ __forceinline__ arg first_of_warp(arg a)
{
    const u32 key = least_of_warp(a.key);
    const u32 high = least_of_warp(a.key == key ? (u32)(a.index >> 32) : ~0u);
    const bool is_first = a.key == key && a.index >> 32 == high;
    return arg{key, (u64)high << 32 | least_of_warp(is_first ? (u32)a.index : ~0u)};
}

template <u32 N>
__device__ __forceinline__ arg first_of_lanes(arg a)
{
#pragma unroll
    for (u32 step = N / 2; step > 0; step /= 2)
        a = first_least(a, arg{__shfl_down_sync(0xffffffff, a.key, step),
                               __shfl_down_sync(0xffffffff, a.index, step)});
    return a;
}
]]

local function lanes(a, n)
    return n == 32 and ("first_of_warp(%s)"):format(a) or ("first_of_lanes<%d>(%s)"):format(n, a)
end

local function place(t, greatest)
    local acc = t.dtype.bytes == 8 and accumulator.arg64 or accumulator.arg32
    local like = extremes.like(t, greatest and "max" or "min")
    local function before(a, b) return ("%s %s %s"):format(a, greatest and ">" or "<", b) end
    local by_lanes = t.dtype.bytes < 8 and t.arch >= 80
    return {
        acc = acc, identity = "arg{~(" .. acc.key .. ")0, ~0ull}",
        before = before,
        ahead = function(a, b) return ("!(%s %s %s)"):format(a, greatest and "<=" or ">=", b) end,
        last = extremes.kind(t.dtype)[greatest and "least" or "greatest"],
        measured = {
            c = t.dtype.value, of = function(x) return x end, before = before,
            combine = like.combine, functions = like.functions,
        },
        functions = key_function(t, greatest) .. (by_lanes and first_of_lanes or first_least),
        lanes = by_lanes and lanes or nil,
        combine = function(a, b) return ("first_least(%s, %s)"):format(a, b) end,
        finalize = function(a) return ("(i64)%s.index"):format(a) end,
    }
end

-- Without NaN: every number goes before them.
local function place_of_number(t, greatest)
    local op = place(t, greatest)
    local before, none = op.before, "~0ull"
    op.skips_nan = true
    op.before = function(a, b)
        return ("(%s || (%s != %s && %s == %s))"):format(before(a, b), b, b, a, a)
    end
    op.last = extremes.compared(t.dtype).nan
    op.functions = key_function(t, greatest, true) .. (op.lanes and first_of_lanes or first_least)
    op.measured = {
        c = t.dtype.value, of = function(x) return x end, before = op.before,
        combine = function(a, b)
            return ("f%s%s(%s, %s)"):format(greatest and "max" or "min",
                                            t.dtype.value == "float" and "f" or "", a, b)
        end,
    }
    op.finalize = function(a)
        return ("(i64)(%s.key == %s ? %s : %s.index)"):format(a, NO_KEY[op.acc.key], none, a)
    end
    op.found = function(x, index) return ("(i64)(%s == %s ? %s : %s)"):format(x, x, index, none) end
    return op
end

-- Of magnitudes: 0 goes before none.
local function place_of_size(t)
    local op = place(t, true)
    op.before = function(a, b) return ("%s > %s"):format(size_of(t, a), size_of(t, b)) end
    op.ahead = function(a, b) return ("!(%s <= %s)"):format(size_of(t, a), size_of(t, b)) end
    op.last = extremes.kind(t.dtype).zero
    op.functions = size_key_function(t) .. (op.lanes and first_of_lanes or first_least)
    if t.dtype.kind == "signed" then op.measured.c = t.dtype.bytes == 8 and "u64" or "u32" end
    op.measured.of = function(x) return size_of(t, x) end
    return op
end

-- The value of a key, and that of none: the result of no elements.
local function value_function(t, greatest)
    local key = t.dtype.bytes == 8 and "u64" or "u32"
    local sign = key == "u64" and "0x8000000000000000ull" or "0x80000000u"
    local flip = greatest and "~" or ""
    local body
    if t.dtype.kind == "unsigned" then
        body = ("return %sa.key;"):format(flip)
    elseif t.dtype.kind == "signed" then
        body = ("return (%s)(%sa.key ^ %s);"):format(t.dtype.value, flip, sign)
    else
        body = ("const %s ordered = %sa.key;\n"):format(key, flip)
            .. ("    const %s bits = ordered & %s ? ordered ^ %s : ~ordered;\n"):format(
                key, sign, sign)
            .. ("    return %s(bits);"):format(
                key == "u64" and "__longlong_as_double" or "__uint_as_float")
    end
    return ([[

__device__ __forceinline__ %s value_of(arg a)
{
    if (a.index == ~0ull) return %s;
    %s
}
]]):format(t.dtype.value, extremes.kind(t.dtype)[greatest and "least" or "greatest"], body)
end

-- A place and the value that is there. Both zeros have one key, that of +0.
local function value_and_place(t, greatest)
    local op = place(t, greatest)
    op.functions = op.functions .. value_function(t, greatest)
    local function results(value, index)
        return convert.store(t.result, value), ("(i64)%s"):format(index)
    end
    op.finalize = function(a) return results(("value_of(%s)"):format(a), a .. ".index") end
    op.found = function(x, index)
        return results(t.dtype.kind == "float" and ("(%s + 0)"):format(x) or x, index)
    end
    return op
end

return {
    {
        name = "argmin", number = 6, formula = "the first index of the least of x[0] ... x[n-1]",
        result = "index", combines = "least", bools = true, indexed = true,
        make = function(t) return place(t, false) end,
    },
    {
        name = "argmax", number = 7, formula = "the first index of the greatest of x[0] ... x[n-1]",
        result = "index", combines = "greatest", bools = true, indexed = true,
        make = function(t) return place(t, true) end,
    },
    {
        name = "argmaxabs", number = 42,
        formula = "the first index of the greatest of |x[0]| ... |x[n-1]|",
        result = "index", combines = "magnitude", indexed = true,
        make = place_of_size,
    },
    {
        name = "nanargmin", number = 48,
        formula = "the first index of the least number of x[0] ... x[n-1]",
        result = "index", combines = "least", indexed = true, ignores_nan = true, dtypes = floats,
        make = function(t) return place_of_number(t, false) end,
    },
    {
        name = "nanargmax", number = 49,
        formula = "the first index of the greatest number of x[0] ... x[n-1]",
        result = "index", combines = "greatest", indexed = true, ignores_nan = true, dtypes = floats,
        make = function(t) return place_of_number(t, true) end,
    },
    {
        name = "min_at", number = 27,
        formula = "the least of x[0] ... x[n-1] and the first index of it",
        outputs = { { name = "min", result = "same" }, { name = "index", result = "index" } },
        combines = "least", bools = true, indexed = true,
        make = function(t) return value_and_place(t, false) end,
    },
    {
        name = "max_at", number = 28,
        formula = "the greatest of x[0] ... x[n-1] and the first index of it",
        outputs = { { name = "max", result = "same" }, { name = "index", result = "index" } },
        combines = "greatest", bools = true, indexed = true,
        make = function(t) return value_and_place(t, true) end,
    },
}
