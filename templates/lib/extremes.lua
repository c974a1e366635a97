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
    return dtype.kind == "float" and extremes.compared(dtype) or dtype
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

return extremes
