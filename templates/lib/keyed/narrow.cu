//@ -- Cells in shared memory for sums in f64 and of 64-bit integers, of words of 32 bits: the hardware has no atomics
//@ -- of 64 bits there, nor of floats.
//@ takes narrow, split
// Adds a to a cell of two words.
__device__ __forceinline__ void add_halves(u32 *cell, u32 apart, u64 a)
{
    const u32 low = (u32)a;
    u32 high = (u32)(a >> 32);
    if (low > 0) high += atomicAdd(cell, low) > ~low;
    if (high > 0) atomicAdd(cell + apart, high);
}

//@ if narrow.backs > 0 then
// The block's unit, of a fixed point, is 2^-@{narrow.power} of the greatest element of a sample, as a power of two.
// Less than 2^17 units would be rounded by more than 2^-18 of it, and of more than @{split and "2^30" or "2^34"} not all would fit.
// The reciprocal of that unit, of the greatest one's bits.
__device__ __forceinline__ float scale_of(u32 bits)
{
    const int power = @{narrow.power} - ((int)(bits >> 23) - 127);
    return bits == 0 ? 1.0f : __uint_as_float((u32)(min(max(power, -126), 127) + 127) << 23);
}

// Adds a, of so many elements, to a cell, or to *back what a cell has no room for.
__device__ __forceinline__ void add_float(u32 *cell, u32 apart, double *back, double a, float scale, u32 elements)
{
    const float x = (float)a * scale, size = fabsf(x), most = @{split and "0x1p30f" or "0x1p34f"};
    double rest = a;
    if (size >= 0x1p17f && size <= (elements > 1 ? fminf((float)elements * most, 0x1p60f) : most)) {
        const i64 n = elements > 1 ? __double2ll_rn(a * (double)scale) : @{split and "__float2int_rn(x)" or "__float2ll_rn(x)"};
//@     if split then
        // The cell's upper word is in the table of all. It begins in the middle, so that few sums cross its ends.
        const u32 low = (u32)n;
        const int carry = (int)(n >> 32) + (int)(atomicAdd(cell, low) > ~low);
        rest = carry == 0 ? 0.0 : (double)carry * 4294967296.0 / (double)scale;
//@     else
        add_halves(cell, apart, (u64)n);
        rest = 0;
//@     end
    }
    if (rest != 0) atomicAdd(back, rest);
}

//@ end
