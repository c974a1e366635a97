-- The dtypes. An entry says how an element is stored, loaded and computed with:
--   c            the CUDA type of an element in memory
--   bytes        of one element
--   kind         "signed", "unsigned" or "float"
--   value        the CUDA type in which one element is computed with
--   accumulator  the dtype in which sums are kept
--   word         what a load puts into a register: the CUDA type, the type of the load instruction
--                and the letter of an inline-assembly operand; elements under 4 bytes share a word
--   unpack(w, k) element k of word w, as a value
--   least, greatest, zero, one   literals of the value's type
local u32_word = { c = "u32", ptx = "u32", constraint = "r" }

local function signed_field(bits)
    local cast = bits == 8 and "signed char" or "short"
    return function(w, k)
        return k == 0 and ("(int)(%s)%s"):format(cast, w)
            or ("(int)(%s)(%s >> %d)"):format(cast, w, bits * k)
    end
end

local function unsigned_field(bits)
    return function(w, k)
        return k == 0 and ("(%s & 0x%x)"):format(w, (1 << bits) - 1)
            or ("(%s >> %d & 0x%x)"):format(w, bits * k, (1 << bits) - 1)
    end
end

local function whole(w) return w end

return {
    i8 = {
        name = "i8", c = "signed char", bytes = 1, kind = "signed", value = "int",
        accumulator = "i64", word = u32_word, unpack = signed_field(8),
        least = "-128", greatest = "127", zero = "0", one = "1",
    },
    u8 = {
        name = "u8", c = "unsigned char", bytes = 1, kind = "unsigned", value = "u32",
        accumulator = "u64", word = u32_word, unpack = unsigned_field(8),
        least = "0u", greatest = "255u", zero = "0u", one = "1u",
    },
    i16 = {
        name = "i16", c = "short", bytes = 2, kind = "signed", value = "int",
        accumulator = "i64", word = u32_word, unpack = signed_field(16),
        least = "-32768", greatest = "32767", zero = "0", one = "1",
    },
    u16 = {
        name = "u16", c = "unsigned short", bytes = 2, kind = "unsigned", value = "u32",
        accumulator = "u64", word = u32_word, unpack = unsigned_field(16),
        least = "0u", greatest = "65535u", zero = "0u", one = "1u",
    },
    i32 = {
        name = "i32", c = "int", bytes = 4, kind = "signed", value = "int",
        accumulator = "i64", word = { c = "int", ptx = "s32", constraint = "r" }, unpack = whole,
        least = "(-2147483647 - 1)", greatest = "2147483647", zero = "0", one = "1",
    },
    u32 = {
        name = "u32", c = "u32", bytes = 4, kind = "unsigned", value = "u32",
        accumulator = "u64", word = u32_word, unpack = whole,
        least = "0u", greatest = "4294967295u", zero = "0u", one = "1u",
    },
    i64 = {
        name = "i64", c = "i64", bytes = 8, kind = "signed", value = "i64",
        accumulator = "i64", word = { c = "i64", ptx = "s64", constraint = "l" }, unpack = whole,
        least = "(-9223372036854775807ll - 1)", greatest = "9223372036854775807ll",
        zero = "0ll", one = "1ll",
    },
    u64 = {
        name = "u64", c = "u64", bytes = 8, kind = "unsigned", value = "u64",
        accumulator = "u64", word = { c = "u64", ptx = "u64", constraint = "l" }, unpack = whole,
        least = "0ull", greatest = "18446744073709551615ull", zero = "0ull", one = "1ull",
    },
    f16 = {
        name = "f16", c = "unsigned short", bytes = 2, kind = "float", value = "float",
        accumulator = "f32", word = u32_word,
        unpack = function(w, k)
            return k == 0 and ("half_to_float(%s)"):format(w)
                or ("half_to_float(%s >> %d)"):format(w, 16 * k)
        end,
    },
    bf16 = {
        name = "bf16", c = "unsigned short", bytes = 2, kind = "float", value = "float",
        accumulator = "f32", word = u32_word,
        unpack = function(w, k)
            return k == 0 and ("__uint_as_float(%s << 16)"):format(w)
                or ("__uint_as_float(%s & 0xffff0000u)"):format(w)
        end,
    },
    f32 = {
        name = "f32", c = "float", bytes = 4, kind = "float", value = "float",
        accumulator = "f32", word = { c = "float", ptx = "f32", constraint = "f" }, unpack = whole,
        zero = "0.0f", one = "1.0f",
        least = "__int_as_float(0xff800000)", greatest = "__int_as_float(0x7f800000)",
        nan = "__int_as_float(0x7fc00000)",
    },
    f64 = {
        name = "f64", c = "double", bytes = 8, kind = "float", value = "double",
        accumulator = "f64", word = { c = "double", ptx = "f64", constraint = "d" }, unpack = whole,
        zero = "0.0", one = "1.0",
        least = "__longlong_as_double(0xfff0000000000000ll)",
        greatest = "__longlong_as_double(0x7ff0000000000000ll)",
        nan = "__longlong_as_double(0x7ff8000000000000ll)",
    },
}
