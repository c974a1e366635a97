-- Conversions between the dtypes' values, as expressions, and the CUDA functions these need.
local convert = {}

-- A value (of dtype from) as a value of dtype to; floats to the nearest, ties to even.
function convert.value(from, to, x)
    if from.value == to.value then return x end
    return ("(%s)%s"):format(to.value, x)
end

-- A value as an element in memory.
function convert.store(dtype, x)
    if dtype.name == "f16" then return ("float_to_half(%s)"):format(x) end
    if dtype.name == "bf16" then return ("float_to_bfloat(%s)"):format(x) end
    if dtype.c == dtype.value then return x end
    return ("(%s)%s"):format(dtype.c, x)
end

local functions = {
    half_to_float = [[
__device__ __forceinline__ float half_to_float(u32 bits)
{
    float x;
    asm("{ .reg .b16 h; cvt.u16.u32 h, %1; cvt.f32.f16 %0, h; }" : "=f"(x) : "r"(bits));
    return x;
}
]],
    float_to_half = [[
__device__ __forceinline__ unsigned short float_to_half(float x)
{
    unsigned short bits;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x));
    return bits;
}
]],
    -- The instruction for this is younger than sm_75.
    float_to_bfloat = [[
__device__ __forceinline__ unsigned short float_to_bfloat(float x)
{
    const u32 bits = __float_as_uint(x);
    if (x != x) return (unsigned short)(bits >> 16 | 0x40);
    return (unsigned short)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}
]],
}

-- The functions that reading and writing need, by whether a dtype of that name is read or written.
function convert.functions(reads, writes)
    local text = {}
    if reads("f16") then text[#text + 1] = functions.half_to_float end
    if writes("f16") then text[#text + 1] = functions.float_to_half end
    if writes("bf16") then text[#text + 1] = functions.float_to_bfloat end
    return table.concat(text, "\n")
end

return convert
