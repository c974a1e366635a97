//@ -- Loads of a tile: TILE_BYTES, of which a thread takes UNROLL vectors, at place_of(tile, i).
//@ takes given
// How many bytes of the tile there are from this thread's first load on, in 32 bits.
__device__ __forceinline__ u32 bytes_of(u64 tile, u64 stop)
{
    const u64 place = place_of(tile, 0), left = stop > place ? stop - place : 0;
    return left < TILE_BYTES ? left : TILE_BYTES;
}

// Whether load i of a tile with so many bytes is there.
__device__ __forceinline__ bool is_there(u32 i, u32 left)
{
    return i * (u32)(BLOCK * LOAD_BYTES) < left;
}

// All loads of the tile before the first use; those from stop on are left out. Whole tiles have no copy of their
// own, which NVRTC would take long for.
__device__ __forceinline__ void load_tile(vector (&v)[UNROLL], u64 tile, u64 stop@{given.parameter})
{
    const u32 left = bytes_of(tile, stop);
#pragma unroll
    for (u32 i = 0; i < UNROLL; i++)
        if (is_there(i, left)) v[i] = load_vector(place_of(tile, i)@{given.argument});
}

