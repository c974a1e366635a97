-- The dtypes. An entry says how an element is stored, loaded and computed with:
--   c            the CUDA type of an element in memory
--   bytes        of one element
--   kind         "signed", "unsigned" or "float"
--   value        the CUDA type in which one element is computed with
--   accumulator  the dtype in which sums are kept
--   word         what a load puts into a register: the CUDA type, the type of the load instruction
--                and the letter of an inline-assembly operand; elements under 4 bytes share a word
--   unpack(w, k) element k of word w, as a value
--   least, greatest, zero, one   literals of the value's type; floats under 4 bytes have those of their
--                accumulator, except where they have no infinities
--   exponent, fraction   bits of a float behind its sign
--   finite       true: a float without infinities, whose NaN has all bits behind the sign
-- and, where it takes more than a cast, by CUDA functions:
--   store        the name of the one that makes an element of a value
--   reads, writes   the texts of those that unpack and store call
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

-- Element k of a word of small elements by a function that ignores the bits above the element.
local function read_by(name, bits)
    return function(w, k)
        return k == 0 and ("%s(%s)"):format(name, w) or ("%s(%s >> %d)"):format(name, w, bits * k)
    end
end

-- Makes the float x of the f16 in the lower half of a word.
local function widen_half(bits)
    return ('    asm("{ .reg .b16 h; cvt.u16.u32 h, %%1; cvt.f32.f16 %%0, h; }" : "=f"(x) : "r"(%s));\n'):format(bits)
end

-- Element k of a word of four by a function that is told which.
local function read_pieces_by(name)
    return function(w, k) return ("%s(%s, %d)"):format(name, w, k) end
end

-- suffix: of its literals in CUDA.
local function integer(name, c, bytes, suffix, least, greatest)
    local letter, small = name:sub(1, 1), bytes < 4
    local signed = letter == "i"
    return {
        name = name, c = c, bytes = bytes, kind = signed and "signed" or "unsigned",
        value = not small and c or signed and "int" or "u32",
        accumulator = letter .. "64",
        word = small and u32_word or {
            c = c, ptx = (signed and "s" or "u") .. 8 * bytes, constraint = bytes == 8 and "l" or "r",
        },
        unpack = not small and whole or (signed and signed_field or unsigned_field)(8 * bytes),
        least = least, greatest = greatest, zero = "0" .. suffix, one = "1" .. suffix,
    }
end

return {
    i8 = integer("i8", "signed char", 1, "", "-128", "127"),
    u8 = integer("u8", "unsigned char", 1, "u", "0u", "255u"),
    i16 = integer("i16", "short", 2, "", "-32768", "32767"),
    u16 = integer("u16", "unsigned short", 2, "u", "0u", "65535u"),
    i32 = integer("i32", "int", 4, "", "(-2147483647 - 1)", "2147483647"),
    u32 = integer("u32", "u32", 4, "u", "0u", "4294967295u"),
    i64 = integer("i64", "i64", 8, "ll", "(-9223372036854775807ll - 1)", "9223372036854775807ll"),
    u64 = integer("u64", "u64", 8, "ull", "0ull", "18446744073709551615ull"),
    f16 = {
        name = "f16", c = "unsigned short", bytes = 2, kind = "float", value = "float",
        accumulator = "f32", word = u32_word,
        exponent = 5, fraction = 10, unpack = read_by("half_to_float", 16),
        reads = [[
__device__ __forceinline__ float half_to_float(u32 bits)
{
    float x;
]] .. widen_half("bits") .. [[
    return x;
}
]],
        store = "float_to_half",
        writes = [[
__device__ __forceinline__ unsigned short float_to_half(float x)
{
    unsigned short bits;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x));
    return bits;
}
]],
    },
    bf16 = {
        name = "bf16", c = "unsigned short", bytes = 2, kind = "float", value = "float",
        accumulator = "f32", word = u32_word, exponent = 8, fraction = 7,
        unpack = function(w, k)
            return k == 0 and ("__uint_as_float(%s << 16)"):format(w)
                or ("__uint_as_float(%s & 0xffff0000u)"):format(w)
        end,
        store = "float_to_bfloat",
        -- The instruction for this is younger than sm_75.
        writes = [[
__device__ __forceinline__ unsigned short float_to_bfloat(float x)
{
    const u32 bits = __float_as_uint(x);
    if (x != x) return (unsigned short)(bits >> 16 | 0x40);
    return (unsigned short)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}
]],
    },
    -- Shifted to where f32 has its fraction, a number is 2^-120 times itself, subnormal ones too.
    e4m3 = {
        name = "e4m3", c = "unsigned char", bytes = 1, kind = "float", value = "float",
        accumulator = "f32", word = u32_word, exponent = 4, fraction = 3, finite = true,
        least = "-448.0f", greatest = "448.0f", zero = "0.0f",
        unpack = read_pieces_by("e4m3_to_float"),
        -- The instruction that reads two is younger than sm_75.
        reads = [[
__device__ __forceinline__ float e4m3_to_float(u32 word, u32 k)
{
#if __CUDA_ARCH__ >= 890 && __CUDACC_VER_MAJOR__ * 100 + __CUDACC_VER_MINOR__ >= 1201
    u32 pair;
    asm("{ .reg .b16 two; cvt.u16.u32 two, %1; cvt.rn.f16x2.e4m3x2 %0, two; }" : "=r"(pair) : "r"(word >> (k & 2) * 8));
    float x;
]] .. widen_half("k & 1 ? pair >> 16 : pair") .. [[
    return x;
#else
    const u32 size = word >> k * 8 & 0x7f;
    const float x = __uint_as_float((word >> k * 8 & 0x80) << 24 | size << 20) * 0x1p120f;
    return size == 0x7f ? __uint_as_float(0x7fc00000) : x;
#endif
}
]],
        store = "float_to_e4m3",
        -- Below 2^-6, the least normal number, adding 2^14 rounds to multiples of 2^-9.
        writes = [[
__device__ __forceinline__ unsigned char float_to_e4m3(float x)
{
    const u32 bits = __float_as_uint(x), size = bits & 0x7fffffff;
    const u32 code = size < 0x3c800000 ? __float_as_uint(__uint_as_float(size) + 0x1p14f) - 0x46800000
                                       : (size + 0x7ffff + (size >> 20 & 1) - (120u << 23)) >> 20;
    return (unsigned char)(bits >> 24 & 0x80 | (code < 0x7f ? code : 0x7f));
}
]],
    },
    e5m2 = {
        name = "e5m2", c = "unsigned char", bytes = 1, kind = "float", value = "float",
        accumulator = "f32", word = u32_word, exponent = 5, fraction = 2,
        unpack = read_pieces_by("e5m2_to_float"),
        -- They are f16 without the lower half of its bits.
        reads = [[
__device__ __forceinline__ float e5m2_to_float(u32 word, u32 k)
{
    const u32 halves = (k & 1 ? word : word << 8) & 0xff00ff00;
    float x;
]] .. widen_half("k & 2 ? halves >> 16 : halves") .. [[
    return x;
}
]],
        store = "float_to_e5m2",
        -- Below 2^-14, the least normal number, adding 2^7 rounds to multiples of 2^-16.
        writes = [[
__device__ __forceinline__ unsigned char float_to_e5m2(float x)
{
    const u32 bits = __float_as_uint(x), size = bits & 0x7fffffff;
    const u32 code = size < 0x38800000 ? __float_as_uint(__uint_as_float(size) + 0x1p7f) - 0x43000000
                                       : (size + 0xfffff + (size >> 21 & 1) - (112u << 23)) >> 21;
    return (unsigned char)(bits >> 24 & 0x80 | (x != x ? 0x7e : code < 0x7c ? code : 0x7c));
}
]],
    },
    f32 = {
        name = "f32", c = "float", bytes = 4, kind = "float", value = "float",
        accumulator = "f32", word = { c = "float", ptx = "f32", constraint = "f" }, unpack = whole,
        exponent = 8, fraction = 23, zero = "0.0f", one = "1.0f",
        least = "__int_as_float(0xff800000)", greatest = "__int_as_float(0x7f800000)",
        nan = "__int_as_float(0x7fc00000)",
    },
    f64 = {
        name = "f64", c = "double", bytes = 8, kind = "float", value = "double",
        accumulator = "f64", word = { c = "double", ptx = "f64", constraint = "d" }, unpack = whole,
        exponent = 11, fraction = 52, zero = "0.0", one = "1.0",
        least = "__longlong_as_double(0xfff0000000000000ll)",
        greatest = "__longlong_as_double(0x7ff0000000000000ll)",
        nan = "__longlong_as_double(0x7ff8000000000000ll)",
    },
}
