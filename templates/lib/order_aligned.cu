//@ -- Whether a run's vectors are aligned, for the choice of its loads.
//@ -- `apart`: callers say it as a constant.
//@ takes apart
// Whether vectors stand at multiples of 16 bytes. Where that is known to stay the same, compilers take all that
// is around a choice of loads twice: NVRTC takes long for that.
__device__ __forceinline__ bool are_aligned(bool aligned)
{
//@ if apart then
    return aligned;
//@ else
    u32 now = aligned;
    asm volatile("" : "+r"(now));
    return now;
//@ end
}

