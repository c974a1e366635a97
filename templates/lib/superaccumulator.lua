-- Sums without rounding: an accumulator is an integer with enough words to hold the sum of 2^58
-- finite floats, in units of the least one (Kulisch, Computer Arithmetic and Validity,
-- 2008, has such accumulators in hardware). It is rounded once, at the end: so the result is the
-- float that is nearest to the exact sum, in whatever order elements came.
--
-- A thread adds its elements to bins in shared memory, one column of them to each thread, which
-- nobody else touches. A bin is an integer of 64 bits, and counts 2^32 times what the one before it
-- does: an element is shifted and added to a bin, of f64 to two, without carries. After as many
-- elements as 64 bits surely have room for, carries are brought from bin to bin (Neal, Fast exact
-- summation using small and large superaccumulators, 2015).
--
-- Elements of f32 hardly ever get that far. A thread adds them in f64, which loses nothing while
-- the exponents of the largest and the least are at most 20 apart and there are 512 at most: every
-- partial sum is a multiple of the least one's last bit, and has 53 bits at most. Only such a sum
-- goes to the bins, and elements that are further apart.
local accumulator = require "lib/accumulator"
local convert = require "lib/convert"
local text = require "lib/superaccumulator_text"

local superaccumulator = {}

-- By the dtype that is added: bits of its fraction, its largest exponent, and its sign; bins, and the
-- elements that they take before carries are due, less those of a load; how digits d go to a bin.
local kinds = {
    f32 = {
        c = "float", word = "u32", bits = "__float_as_uint(x)", fraction = 23, exponents = 255,
        sign = 31, bins = 8, most = 238, slot_bytes = 64, add = [[
    *bin += d.negative ? -(i64)low : (i64)low;]],
        fields = [[
    // Elements whose sum is not in the bins yet: how many, and between which magnitudes.
    double sum;
    float largest;
    u32 least, waiting;
]],
        begin = "0, 0, 0, 0.0, 0.0f, 0xffffffff, 0", settle = "    add_waiting(p);\n",
    },
    f64 = {
        c = "double", word = "u64", bits = "(u64)__double_as_longlong(x)", fraction = 52,
        exponents = 2047, sign = 63, bins = 65, most = 2000, slot_bytes = 512, add = [[
    const i64 behind = (u32)low;
    const i64 before = low >> 32 | (d.shift > 0 ? d.integer >> (64 - d.shift) << 32 : 0);
    bin[0] += d.negative ? -behind : behind;
    bin[BLOCK] += d.negative ? -before : before;]],
        fields = "", begin = "0, 0, 0", settle = "",
    },
}

-- How a sum in units of the least number of `kind` is rounded to a result: its digits, the place of
-- its least number among the bits of the sum, what follows its greatest number, its sign, and the
-- element of these bits.
local function rounding_to(result, kind)
    local sign, infinity = result.exponent + result.fraction, (1 << result.exponent) - 1 << result.fraction
    local function least(exponent, fraction) return 2 - (1 << exponent - 1) - fraction end
    return {
        digits = result.fraction + 1, sign = sign,
        lowest = least(result.exponent, result.fraction) - least(kind.sign - kind.fraction, kind.fraction),
        infinity = ("0x%x"):format(result.finite and (1 << sign) - 1 or infinity),
        store = ({ float = "__uint_as_float((u32)%s)", double = "__longlong_as_double((i64)%s)" })[result.c]
            or "(" .. result.c .. ")%s",
    }
end

-- Names without a value stay.
local function fill(text, values)
    return (text:gsub("@{(%w+)}", function(name) return values[name] and tostring(values[name]) end))
end

local function accumulator_of(kind)
    local words = kind.bins + 3
    return {
        name = "superaccumulator", c = "record", bytes = 4 * (words + 1), halves = words + 1,
        declare = fill(text.declaration, { words = words }),
        shuffle = function(a, n) return ("shuffled_down(%s, %s)"):format(a, n) end,
        fetch = function(a, n) return ("fetched(%s, %s)"):format(a, n) end,
        reload = function(p) return ("reloaded(%s)"):format(p) end,
        copy = function(a) return a end,
        half = function(a, i)
            return i < words and ("%s.word[%d]"):format(a, i) or a .. ".strange"
        end,
        join = function(h, first)
            local names = {}
            for i = 0, words - 1 do names[i + 1] = h .. (first or 0) + i end
            return ("record{{%s}, %s%d}"):format(table.concat(names, ", "), h, (first or 0) + words)
        end,
    }
end

-- The sum of elements, as floats of the dtype named, f32 or f64.
function superaccumulator.sum(t, name)
    local kind, rounding = kinds[name], rounding_to(t.result, kinds[name])
    local acc = accumulator_of(kind)
    local function number(x) return convert.value(t.dtype, accumulator[name].dtype, x) end
    return {
        acc = acc, slot_bytes = kind.slot_bytes, alone = true,
        functions = fill(text.functions, kind),
        identity = "no_sum()",
        map = function(x) return ("sum_of(%s)"):format(number(x)) end,
        combine = function(a, b) return ("add_sums(%s, %s)"):format(a, b) end,
        append = function(a, x) return ("append(%s, %s)"):format(a, number(x)) end,
        finalize = function(a)
            local bits = ("rounded(%s, %d, %d, %sull, %d)"):format(
                a, rounding.digits, rounding.lowest, rounding.infinity, rounding.sign)
            return rounding.store:format(bits)
        end,
        resume = function(r)
            return ("sum_of(%s)"):format(convert.value(t.result, accumulator[name].dtype, r))
        end,
        several = function(p, x) return ("add_all(%s, %s)"):format(p or "begin_portion()", x) end,
        part = {
            c = "portion", halves = 4,
            functions = fill(fill(text.bins, { several = name == "f32" and text.waiting or text.straight }), kind),
            zero = "begin_portion()", shared_bytes = 8 * kind.bins,
            take = function(p, x) return ("add_to_portion(%s, %s)"):format(p, number(x)) end,
            widen = function(p) return ("sum_of_portion(%s)"):format(p) end,
        },
    }
end

return superaccumulator
