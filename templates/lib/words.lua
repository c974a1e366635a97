-- Words: taking up several small elements at once, where that is faster than one by one. Every
-- function returns nil where it is not; a step or word function gets the number of elements to a
-- word, for a load of fewer than 4 bytes leaves the rest of its word zero.
local words = {}

local function small_integer(dtype)
    return dtype.bytes < 4 and dtype.kind ~= "float"
end

-- The type of dot products: unsigned for unsigned elements.
local function dot(dtype)
    return dtype.kind == "signed" and "int" or "u32"
end

-- dp4a adds the products of four 8-bit pairs, dp2a those of two 16-bit elements with 8-bit ones. A
-- tile's sum is far below 2^31: at most 8 loads of 16 bytes.
function words.sum(dtype)
    if not small_integer(dtype) then return nil end
    local name = dtype.bytes == 1 and "__dp4a" or "__dp2a_lo"
    local ones = dtype.bytes == 1 and "0x01010101" or "0x0101"
    local c = dot(dtype)
    return {
        c = c, zero = "0",
        step = function(n, w) return ("%s((%s)%s, (%s)%s, %s)"):format(name, c, w, c, ones, n) end,
    }
end

function words.sum_of_squares(dtype)
    if not (small_integer(dtype) and dtype.bytes == 1) then return nil end
    local c = dot(dtype)
    return {
        c = c, zero = "0",
        step = function(n, w) return ("__dp4a((%s)%s, (%s)%s, %s)"):format(c, w, c, w, n) end,
    }
end

local function each_element(dtype, per_word, n, w, term)
    for k = 0, per_word - 1 do n = n .. " + " .. term(dtype.unpack(w, k)) end
    return n
end

function words.sum_of_magnitudes(dtype)
    if not small_integer(dtype) then return nil end
    if dtype.kind == "unsigned" then return words.sum(dtype) end
    return {
        c = "u32", zero = "0",
        step = function(n, w, per_word)
            return each_element(dtype, per_word, n, w, function(x) return ("abs(%s)"):format(x) end)
        end,
    }
end

function words.nonzeros(dtype)
    return {
        c = "u32", zero = "0",
        step = function(n, w, per_word)
            return each_element(dtype, per_word, n, w, function(x)
                return ("(%s != 0)"):format(x)
            end)
        end,
    }
end

-- The bits of a word but the signs of its floats: zero where all elements are.
local function without_signs(dtype, w)
    if dtype.kind ~= "float" then return w end
    if dtype.bytes == 2 then return ("(%s & 0x7fff7fffu)"):format(w) end
    return nil
end

function words.any(dtype)
    if dtype.bytes >= 4 then return nil end
    return function(a, w) return ("%s | %s"):format(a, without_signs(dtype, w)) end
end

-- Not zero if one of the fields of w is zero (Warren, Hacker's Delight, 2nd edition, section 6-1).
function words.zero(dtype)
    if dtype.bytes >= 4 then return nil end
    local ones, tops = "0x01010101u", "0x80808080u"
    if dtype.bytes == 2 then ones, tops = "0x00010001u", "0x80008000u" end
    return function(a, w, per_word)
        if per_word * dtype.bytes < 4 then
            return each_element(dtype, per_word, a, w, function(x)
                return ("(%s == 0)"):format(x)
            end)
        end
        local v = without_signs(dtype, w)
        return ("%s | ((%s - %s) & ~%s & %s)"):format(a, v, ones, v, tops)
    end
end

function words.bits(dtype, operator)
    if dtype.bytes >= 4 then return nil end
    return function(a, w) return ("%s %s %s"):format(a, operator, w) end
end

-- Brings the combination of a word's elements into the lowest.
function words.fold_bits(dtype, operator)
    if dtype.bytes >= 4 then return nil end
    return function(a, per_word)
        local text, at = a, per_word // 2
        while at >= 1 do
            text = ("(%s %s %s >> %d)"):format(text, operator, text, 8 * dtype.bytes * at)
            at = at // 2
        end
        return text
    end
end

return words
