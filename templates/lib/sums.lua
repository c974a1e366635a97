-- Sums: what the entries of ops that add have in common.
local accumulator = require "lib/accumulator"
local compensated = require "lib/compensated"
local convert = require "lib/convert"
local dtypes = require "dtypes"
local range = require "lib/range"

local sums = {}

local function plus(a, b) return a .. " + " .. b end

-- The accumulator of sums: f64 if the result is asked for in f64, or of integers as a float.
function sums.accumulator(t)
    local as_float = t.dtype.kind ~= "float" and t.result.kind == "float"
    return accumulator[(as_float or t.result.name == "f64") and "f64" or t.dtype.accumulator]
end

function sums.to_result(acc, t)
    return function(a) return convert.store(t.result, convert.value(acc.dtype, t.result, a)) end
end

-- The accumulator of a result that is one, but for its dtype.
function sums.resume(acc, t)
    return function(r) return convert.value(t.result, acc.dtype, r) end
end

-- Completes an op by what a sum has. What is added is the product of factors(x, y) where an op has
-- them, else map(x, y), the element itself without it.
function sums.like(t, op)
    local acc = op.acc or sums.accumulator(t)
    if not op.finalize then op.resume = sums.resume(acc, t) end
    if op.factors and not op.map then
        op.map = function(x, y) return ("%s * %s"):format(op.factors(x, y)) end
    end
    op.acc, op.combine = acc, op.combine or plus
    op.identity = op.identity or acc.dtype.zero
    op.map = op.map or function(x) return convert.value(t.dtype, acc.dtype, x) end
    op.widen = function(n) return ("(%s)%s"):format(acc.c, n) end
    op.finalize = op.finalize or sums.to_result(acc, t)
    return t.accuracy == "compensated" and not op.ranges and compensated(t, op) or op
end

-- The root, or mean, of the sum of squares of value(x, y): of bf16, f32 and f64 over the whole range
-- (lib/range.lua). f16 and less fit into f32. op has what such an op of others has, value aside.
function sums.of_squares(t, op, value, mean)
    local finish = mean and "mean_of_squares(%s, (double)%s)" or "root_of_squares(%s)"
    if range.scales(t) then
        local fields, functions = range.square_fields(value)
        local scaled = sums.of_fields(fields)
        scaled.functions = functions
        scaled.finalize = function(a, count)
            local result = finish:format(a, count)
            return convert.store(t.result, convert.value(dtypes.f64, t.result, result))
        end
        return scaled
    end
    local acc = op.acc
    op.finalize = function(a, count)
        if mean then return sums.quotient(t, a, "(double)" .. count) end
        return sums.root(t, acc, a)
    end
    if range.widens(t) then
        op.ranges = true
        op.functions, op.part = range.square_part(t, value)
    end
    return sums.like(t, op)
end

-- The factors of an element's square.
function sums.squared(t, acc)
    return function(x)
        local wide = convert.value(t.dtype, acc.dtype, x)
        return wide, wide
    end
end

function sums.square(t, acc)
    local factors = sums.squared(t, acc)
    return function(x) return ("%s * %s"):format(factors(x)) end
end

-- An op that adds several values at once. A field is { dtype's name, name, of }, with of(x, y) what
-- elements x and, of two inputs, y add to it.
function sums.of_fields(fields)
    local acc = accumulator.struct(fields)
    local of = {}
    for _, field in ipairs(fields) do of[field[2]] = field[3] end
    return {
        acc = acc,
        identity = acc.each(function(_, dtype) return dtype.zero end),
        map = function(x, y) return acc.each(function(name) return of[name](x, y) end) end,
        combine = function(a, b)
            return acc.each(function(name) return ("%s.%s + %s.%s"):format(a, name, b, name) end)
        end,
    }
end

-- A quotient, of two expressions, in f64 as a value of the result's dtype.
function sums.quotient(t, over, under)
    local value = ("((double)%s / %s)"):format(over, under)
    return convert.store(t.result, convert.value(dtypes.f64, t.result, value))
end

-- The root of a sum of squares.
function sums.root(t, acc, a)
    local root = acc.name == "f32" and dtypes.f32 or dtypes.f64
    local norm = ("%s(%s)"):format(root.value == "double" and "sqrt" or "sqrtf",
                                   convert.value(acc.dtype, root, a))
    return convert.store(t.result, convert.value(root, t.result, norm))
end

return sums
