//@ -- Lanes of a warp that have something of one kind to do, which groups of lanes take in turn.
// Lists the lanes of the mask: how many they are. All lanes of the warp call it.
__device__ __forceinline__ u32 list_lanes(u32 mask, unsigned char *order)
{
    const u32 lane = threadIdx.x % 32;
    __syncwarp();
    if (mask >> lane & 1) order[__popc(mask & ((1u << lane) - 1))] = lane;
    __syncwarp();
    return __popc(mask);
}

