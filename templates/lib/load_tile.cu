//@ -- Loads of a tile: TILE_BYTES, of which a thread takes UNROLL vectors, at place_of(tile, i).
//@ takes given
// All loads of the tile before the first use; those from stop on are left out.
__device__ __forceinline__ void load_tile(vector (&v)[UNROLL], u64 tile, u64 stop@{given.parameter})
{
    if (tile + TILE_BYTES <= stop) {
#pragma unroll
        for (u32 i = 0; i < UNROLL; i++) v[i] = load_vector(place_of(tile, i)@{given.argument});
    } else {
#pragma unroll
        for (u32 i = 0; i < UNROLL; i++)
            if (place_of(tile, i) < stop) v[i] = load_vector(place_of(tile, i)@{given.argument});
    }
}

