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
    evict_first = ".nc.L1::no_allocate.L2::cache_hint",
}

-- A hint for L2, which is an operand: what the load brings is not read again, and may leave first. Gives
-- what declares the operand, what makes it, and the operand; "" of loads without a hint.
local function hint_of(flavour)
    if flavour ~= "evict_first" then return "", "", "" end
    return ".reg .b64 policy; ", "createpolicy.fractional.L2::evict_first.b64 policy; ", ", policy"
end

-- The instruction that loads a layout, and the operands that it loads into, the elements of the C array
-- `into`; `mark` says whether these are read, too. The address is the operand behind them.
local function instruction(layout, flavour, into, mark)
    local outputs, slots = {}, {}
    for i = 0, layout.words - 1 do
        outputs[#outputs + 1] = ('"%s%s"(%s[%d])'):format(mark, layout.word.constraint, into, i)
        slots[#slots + 1] = "%" .. i
    end
    local one = layout.words == 1
    local _, _, policy = hint_of(flavour)
    local text = ("ld.global%s%s.%s %s, [%%%d]%s;"):format(
        flavours[flavour], one and "" or ".v" .. layout.words, layout.ptx,
        one and "%0" or "{" .. table.concat(slots, ", ") .. "}", layout.words, policy)
    return text, table.concat(outputs, ", ")
end

-- The statement that loads a layout into the C array `into`, from the pointer expression `from`.
function load.statement(layout, flavour, into, from)
    local text, outputs = instruction(layout, flavour, into, "=")
    local declared, made = hint_of(flavour)
    if made ~= "" then text = "{ " .. declared .. made .. text .. " }" end
    return ('asm volatile("%s"\n'
        .. '                 : %s\n'
        .. '                 : "l"(%s));'):format(text, outputs, from)
end

-- The same where the expression `there` is not 0; otherwise nothing is read, and `into` stays as it is.
-- The load has a predicate: a branch around each would cost registers and instructions.
function load.guarded(layout, flavour, into, from, there)
    local text, outputs = instruction(layout, flavour, into, "+")
    local declared, made = hint_of(flavour)
    return ('asm volatile("{ %s.reg .pred p; %ssetp.ne.u32 p, %%%d, 0; @p %s }"\n'
        .. '                 : %s\n'
        .. '                 : "l"(%s), "r"((u32)(%s)));'):format(
            declared, made, layout.words + 1, text, outputs, from, there)
end

return load
