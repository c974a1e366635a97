-- Loads of the input, as inline PTX.
local load = {}

-- The instruction that loads `elements` neighbours of dtype, aligned to their size together, into
-- the C lvalues `into` .. "[i]" (or `into` itself for one), from the pointer expression `from`.
-- Input is read once and by one thread, so it goes past L1 (nc: the read-only path).
function load.neighbours(dtype, elements, into, from)
    local outputs, slots = {}, {}
    for i = 0, elements - 1 do
        local lvalue = elements == 1 and into or into .. "[" .. i .. "]"
        outputs[#outputs + 1] = ('"=%s"(%s)'):format(dtype.constraint, lvalue)
        slots[#slots + 1] = "%" .. i
    end
    local width = elements == 1 and "" or ".v" .. elements
    local target = elements == 1 and "%0" or "{" .. table.concat(slots, ", ") .. "}"
    local text = 'asm volatile("ld.global.nc.L1::no_allocate%s.%s %s, [%%%d];"\n'
        .. '                 : %s\n'
        .. '                 : "l"(%s));'
    return text:format(width, dtype.ptx, target, elements, table.concat(outputs, ", "), from)
end

return load
