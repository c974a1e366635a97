-- Differences: |x - y| of two values of a dtype, and its square, in an accumulator's dtype.
local convert = require "lib/convert"
local magnitude = require "lib/magnitude"

local difference = {}

-- The dtype's own: exact, of integers without a sign in 32 or 64 bits, so that none wraps.
function difference.of(dtype, x, y)
    if dtype.kind == "float" then return magnitude(dtype, ("(%s - %s)"):format(x, y)) end
    local wide = dtype.bytes == 8 and "u64" or "u32"
    return ("(%s > %s ? (%s)%s - (%s)%s : (%s)%s - (%s)%s)"):format(
        x, y, wide, x, wide, y, wide, y, wide, x)
end

-- As a value of the accumulator's dtype, in which floats are subtracted.
function difference.wide(t, acc, x, y)
    if t.dtype.kind ~= "float" then
        return ("(%s)%s"):format(acc.c, difference.of(t.dtype, x, y))
    end
    return difference.of(acc.dtype, convert.value(t.dtype, acc.dtype, x),
                         convert.value(t.dtype, acc.dtype, y))
end

function difference.square(t, acc, x, y)
    local wide = difference.wide(t, acc, x, y)
    return ("%s * %s"):format(wide, wide)
end

return difference
