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
// A cell of a float begins there, so that few sums cross the ends of its word.
constexpr u32 MIDDLE = 0x80000000;
constexpr u32 SPARE = @{narrow.spare};  // words behind the cells, which are 0

// The block's unit, of a fixed point, is 2^-@{narrow.power} of the greatest element of a sample, as a power of two.
// Less than 2^17 units would be rounded by more than 2^-18 of it, and of more than 2^30 not all would fit.
// The reciprocal of that unit, of the greatest one's bits.
__device__ __forceinline__ float scale_of(u32 bits)
{
    const int power = @{narrow.power} - ((int)(bits >> 23) - 127);
    return bits == 0 ? 1.0f : __uint_as_float((u32)(min(max(power, -126), 127) + 127) << 23);
}

// That unit.
__device__ __forceinline__ double unit_of(float scale)
{
    return __hiloint2double((int)(1023 + 127 - (__float_as_uint(scale) >> 23)) << 20, 0);
}

// Adds a, of so many elements, to a cell, or to *back what a cell has no room for.
__device__ __forceinline__ void add_float(u32 *cell, u32 apart, double *back, double a, float scale, u32 elements)
{
    const float size = fabsf((float)a * scale);
    double rest = a;
    if (size >= 0x1p17f && size <= fminf((float)elements * 0x1p30f, 0x1p60f)) {
        const i64 n = __double2ll_rn(a * (double)scale);
//@     if split then
        // The cell's upper word is in the table of all.
        const u32 low = (u32)n;
        const int carry = (int)(n >> 32) + (int)(atomicAdd(cell, low) > ~low);
        rest = carry == 0 ? 0.0 : (double)carry * 0x1p32 * unit_of(scale);
//@     else
        add_halves(cell, apart, (u64)n);
        rest = 0;
//@     end
    }
    if (rest != 0) atomicAdd(back, rest);
}

//@ end
