//@ -- A thread's place in a strip of columns. `along_place`: its place along the reduced axis,
//@ -- where it is not the usual one.
//@ takes along_place?
// This thread's place among those side by side, and along the reduced axis.
__device__ __forceinline__ u32 across()
{
    return threadIdx.x % WIDTH;
}

__device__ __forceinline__ u32 along()
{
    return @{along_place or "threadIdx.x / WIDTH"};
}

