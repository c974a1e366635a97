//@ -- Cells in shared memory of 32 bits for sums in f64 and of 64-bit integers: atomics of 64 bits are slower there.
//@ takes narrow
//@ if narrow.backs > 0 then
// Adds a to the f32 in a cell, whose f64 is *back. The addition rounds by 2^-24 of the sum at most. Where the sum is more
// than ROOM times the addend, that rounding, which is known exactly, and the cell go to *back. Addends of sizes that f32
// has no room for go there themselves.
__device__ __forceinline__ void add_float(float *cell, double *back, double a)
{
    constexpr float ROOM = @{narrow.room};
    const float x = (float)a, size = fabsf(x);
    double rest = a;
    bool is_rest = a != 0 && !(size >= 0x1p-100f && size <= 0x1p100f);
    if (a != 0 && !is_rest) {
        const float before = atomicAdd(cell, x), sum = before + x;
        if (fabsf(sum) > ROOM * size) {
            const float part = sum - before;
            is_rest = true;
            rest = (double)atomicExch(cell, 0.0f) + (double)((before - (sum - part)) + (x - part));
        }
    }
    if (is_rest) atomicAdd(back, rest);
}

//@ end
//@ if narrow.halves then
// Adds a to a cell of two words: atomics of 32 bits are native there.
__device__ __forceinline__ void add_halves(u32 *cell, u32 apart, u64 a)
{
    const u32 low = (u32)a;
    u32 high = (u32)(a >> 32);
    if (low > 0) high += atomicAdd(cell, low) > ~low;
    if (high > 0) atomicAdd(cell + apart, high);
}

//@ end
