-- Loads of the input, as inline PTX.
local load = {}

-- How vec neighbours of dtype lie in registers: the words' type and number, elements to a word, and
-- the type of the load instruction.
function load.layout(dtype, vec)
    if dtype.bytes >= 4 then
        return { word = dtype.word, words = vec, per_word = 1, ptx = dtype.word.ptx }
    end
    local per_word = math.min(vec, 4 // dtype.bytes)
    return {
        word = dtype.word, words = vec // per_word, per_word = per_word,
        ptx = "u" .. 8 * dtype.bytes * per_word,
    }
end

-- By the load parameter. Input is read once and by one thread: no_allocate keeps it out of L1, and
-- nc takes the read-only path.
local flavours = {
    no_allocate = ".nc.L1::no_allocate",
    plain = "",
    streaming = ".cs",
}

-- The statement that loads a layout into the C array `into`, from the pointer expression `from`.
function load.statement(layout, flavour, into, from)
    local outputs, slots = {}, {}
    for i = 0, layout.words - 1 do
        outputs[#outputs + 1] = ('"=%s"(%s[%d])'):format(layout.word.constraint, into, i)
        slots[#slots + 1] = "%" .. i
    end
    local one = layout.words == 1
    local text = 'asm volatile("ld.global%s%s.%s %s, [%%%d];"\n'
        .. '                 : %s\n'
        .. '                 : "l"(%s));'
    return text:format(flavours[flavour], one and "" or ".v" .. layout.words, layout.ptx,
                       one and "%0" or "{" .. table.concat(slots, ", ") .. "}", layout.words,
                       table.concat(outputs, ", "), from)
end

return load
