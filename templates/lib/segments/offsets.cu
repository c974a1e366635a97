//@ -- Offsets that are asked for together.
// An offset as it is loaded. All are asked for before the first is looked at: a conversion of one would wait
// for it, and the next be asked for a round trip later.
struct raw_offset {
    u32 low, high;
};

__device__ __forceinline__ raw_offset load_offset(const segments &s, u64 table, u64 i)
{
    const u32 *const at = (const u32 *)table + (i << s.wide);
    return raw_offset{at[0], at[s.wide]};
}

__device__ __forceinline__ i64 value_of(const segments &s, const raw_offset &offset)
{
    const u32 sign = (u32)((int)offset.low >> 31);
    return (i64)((u64)(s.wide ? offset.high : sign) << 32 | offset.low);
}

