-- Sums: what the entries of ops that add have in common.
local accumulator = require "lib/accumulator"
local convert = require "lib/convert"

local sums = {}

local function plus(a, b) return a .. " + " .. b end

-- The accumulator of sums: f64 if the result is asked for in f64.
function sums.accumulator(t)
    return accumulator[t.result.name == "f64" and "f64" or t.dtype.accumulator]
end

function sums.to_result(acc, t)
    return function(a) return convert.store(t.result, convert.value(acc.dtype, t.result, a)) end
end

-- The accumulator of a result that is one, but for its dtype.
function sums.resume(acc, t)
    return function(r) return convert.value(t.result, acc.dtype, r) end
end

-- Completes an op by what a sum has.
function sums.like(t, op)
    local acc = op.acc or sums.accumulator(t)
    if not op.finalize then op.resume = sums.resume(acc, t) end
    op.acc, op.combine = acc, op.combine or plus
    op.identity = op.identity or acc.dtype.zero
    op.map = op.map or function(x) return convert.value(t.dtype, acc.dtype, x) end
    op.widen = function(n) return ("(%s)%s"):format(acc.c, n) end
    op.finalize = op.finalize or sums.to_result(acc, t)
    return op
end

function sums.square(t, acc)
    return function(x)
        local wide = convert.value(t.dtype, acc.dtype, x)
        return wide .. " * " .. wide
    end
end

return sums
