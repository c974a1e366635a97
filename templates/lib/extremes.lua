-- Extremes: what the entries of ops that compare have in common.
local accumulator = require "lib/accumulator"
local convert = require "lib/convert"
local dtypes = require "dtypes"

local extremes = {}

local function unchanged(x) return x end

-- The dtype that a value is compared in: the value's own type.
function extremes.compared(dtype)
    return dtypes[({ ["int"] = "i32", float = "f32", double = "f64" })[dtype.value] or dtype.value]
end

-- The dtype whose literals are of its values.
function extremes.kind(dtype)
    return dtype.least and dtype or extremes.compared(dtype)
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
function extremes.like(t, name, edge, map)
    local kind = extremes.compared(t.dtype)
    local acc = accumulator[kind.name]
    local float = kind.kind == "float"
    return {
        acc = acc, identity = extremes.kind(t.dtype)[edge], map = map or unchanged,
        combine = function(a, b)
            return ("%s%s(%s, %s)"):format(float and "nan_" or "", name, a, b)
        end,
        functions = float and nan_function(name, kind, t.arch) or nil,
        finalize = function(a) return convert.store(t.result, a) end,
        resume = unchanged,
    }
end

-- The extreme of what map makes of elements: magnitudes, of integers without a sign. name is "min" or
-- "max", edge the literal of the result's dtype that is the identity.
function extremes.magnitude(t, name, edge, map)
    if t.dtype.kind == "float" then
        local op = extremes.like(t, name, edge, map)
        op.identity = extremes.kind(t.dtype)[edge]
        return op
    end
    return {
        acc = accumulator[t.dtype.bytes == 8 and "u64" or "u32"], map = map,
        identity = edge == "zero" and "0" or t.result[edge],
        combine = function(a, b) return ("%s(%s, %s)"):format(name, a, b) end,
        finalize = function(a) return convert.store(t.result, a) end,
        resume = unchanged,
    }
end

-- The least and the greatest.
function extremes.both(t, finalize)
    local kind = extremes.compared(t.dtype)
    local float = kind.kind == "float"
    local least, greatest = extremes.like(t, "min", "greatest"), extremes.like(t, "max", "least")
    return {
        acc = accumulator.struct { { kind.name, "least" }, { kind.name, "greatest" } },
        identity = ("record{%s, %s}"):format(least.identity, greatest.identity),
        map = function(x) return ("record{%s, %s}"):format(x, x) end,
        combine = function(a, b)
            return ("record{%s, %s}"):format(least.combine(a .. ".least", b .. ".least"),
                                             greatest.combine(a .. ".greatest", b .. ".greatest"))
        end,
        functions = float and least.functions .. "\n" .. greatest.functions or nil,
        finalize = finalize,
        resume = function(r, other) return ("record{%s, %s}"):format(r, other) end,
    }
end

return extremes
