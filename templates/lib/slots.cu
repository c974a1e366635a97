//@ -- Partial results in scratch, which blocks leave for one of them, or for a second launch.
//@ takes scratch
// The partial results of the blocks, in the order of their indices.
__device__ __forceinline__ accumulator *partials(void *scratch)
{
    return (accumulator *)((char *)scratch + @{scratch.slots_offset});
}

