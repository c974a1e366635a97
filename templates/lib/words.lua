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
    if dtype.truth then return words.nonzeros(dtype) end
    if not small_integer(dtype) then return nil end
    local name = dtype.bytes == 1 and "__dp4a" or "__dp2a_lo"
    local ones = dtype.bytes == 1 and "0x01010101" or "0x0101"
    local c = dot(dtype)
    return {
        c = c, zero = "0",
        step = function(n, w) return ("%s((%s)%s, (%s)%s, %s)"):format(name, c, w, c, ones, n) end,
    }
end

-- other is the word of the second input.
function words.sum_of_products(dtype)
    if not (small_integer(dtype) and dtype.bytes == 1) then return nil end
    local c = dot(dtype)
    return {
        c = c, zero = "0",
        step = function(n, w, _, other)
            return ("__dp4a((%s)%s, (%s)%s, %s)"):format(c, w, c, other, n)
        end,
    }
end

function words.sum_of_squares(dtype)
    local products = words.sum_of_products(dtype)
    if not products then return nil end
    return {
        c = products.c, zero = "0",
        step = function(n, w, per_word) return products.step(n, w, per_word, w) end,
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

-- How many elements x have that(x).
local function count(dtype, that)
    return {
        c = "u32", zero = "0",
        step = function(n, w, per_word) return each_element(dtype, per_word, n, w, that) end,
    }
end

function words.nonzeros(dtype)
    return count(dtype, function(x) return ("(%s != 0)"):format(x) end)
end

function words.nans(dtype)
    return count(dtype, function(x) return ("(%s != %s)"):format(x, x) end)
end

-- The sum of term(x, y) over the pairs of elements in words of two inputs, as u32.
function words.sum_of_pairs(dtype, term)
    return {
        c = "u32", zero = "0",
        step = function(n, w, per_word, other)
            for k = 0, per_word - 1 do
                n = n .. " + " .. term(dtype.unpack(w, k), dtype.unpack(other, k))
            end
            return n
        end,
    }
end

local function small_difference(x, y) return ("abs((int)%s - (int)%s)"):format(x, y) end

function words.sum_of_differences(dtype)
    return small_integer(dtype) and words.sum_of_pairs(dtype, small_difference) or nil
end

function words.sum_of_squared_differences(dtype)
    if not (small_integer(dtype) and dtype.bytes == 1) then return nil end
    return words.sum_of_pairs(dtype, function(x, y)
        local apart = small_difference(x, y)
        return apart .. " * " .. apart
    end)
end

-- These bits of an element in all elements of a word.
local function everywhere(dtype, bits)
    return dtype.bytes == 2 and bits * 0x10001 or bits * 0x1010101
end

-- The bits of a word but the signs of its floats: zero where all elements are.
local function without_signs(dtype, w)
    if dtype.kind ~= "float" then return w end
    if dtype.bytes >= 4 then return nil end
    return ("(%s & 0x%08xu)"):format(w, everywhere(dtype, (1 << 8 * dtype.bytes - 1) - 1))
end

function words.any(dtype)
    if dtype.bytes >= 4 then return nil end
    return function(a, w) return ("%s | %s"):format(a, without_signs(dtype, w)) end
end

-- An exponent of ones is one that overflows when 1 is added, as are all bits of a float without
-- infinities. The sum's other bits say nothing.
function words.nonfinite(dtype)
    if dtype.bytes > 2 then return nil end
    local top, one = 1 << 8 * dtype.bytes - 1, dtype.finite and 1 or 1 << dtype.fraction
    return function(a, w)
        return ("%s | (((%s & 0x%08xu) + 0x%08xu) & 0x%08xu)"):format(
            a, w, everywhere(dtype, top - one), everywhere(dtype, one), everywhere(dtype, top))
    end
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
    if dtype.bytes >= 4 or dtype.truth then return nil end
    return function(a, w) return ("%s %s %s"):format(a, operator, w) end
end

-- Brings the combination of a word's elements into the lowest.
function words.fold_bits(dtype, operator)
    if dtype.bytes >= 4 or dtype.truth then return nil end
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
