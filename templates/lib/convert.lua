-- Conversions between the dtypes' values, as expressions, and the CUDA functions these need.
local dtypes = require "dtypes"

local convert = {}

-- A value (of dtype from) as a value of dtype to; floats to the nearest, ties to even.
function convert.value(from, to, x)
    if from.value == to.value then return x end
    return ("(%s)%s"):format(to.value, x)
end

-- A value as an element in memory.
function convert.store(dtype, x)
    if dtype.store then return ("%s(%s)"):format(dtype.store, x) end
    if dtype.c == dtype.value then return x end
    return ("(%s)%s"):format(dtype.c, x)
end

-- The functions that reading and writing need, by whether a dtype of that name is read or written.
function convert.functions(reads, writes)
    local text = {}
    for _, name in ipairs(sorted_keys(dtypes)) do
        if reads(name) then text[#text + 1] = dtypes[name].reads end
        if writes(name) then text[#text + 1] = dtypes[name].writes end
    end
    return table.concat(text, "\n")
end

return convert
