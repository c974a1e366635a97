//@ -- How a warp has a tile in shared memory, where places are numbers of 32 bits that count from its first vector on.
// A warp's loads of a tile, from the vector at `place` on.
struct tile_loads {
    u64 place;  // of this lane's first vector
    vector v[FLAT];
};

// What a warp's places count from: a vector; and what there is of the table, as places.
struct extent {
    u64 origin;
    u32 low, high;
    bool is_edge;  // some vector of the warp's has elements that are not the table's
};

// Asks for the elements from `from` up to `to`, where whole loads may bring others.
__device__ __forceinline__ void ask(tile_loads &t, const extent &x, u32 from, u32 to@{given.parameter})
{
    const u32 lane = threadIdx.x % 32, first = from / VEC, many = (to + VEC - 1) / VEC - first;
    t.place = x.origin + (u64)(first + lane) * LOAD_BYTES;
//@ if vec > 1 then
    if (x.is_edge) return;
//@ end
#pragma unroll
    for (u32 i = 0; i < FLAT; i++)
        if (lane + 32 * i < many) t.v[i] = load_vector(t.place + 32 * i * LOAD_BYTES@{given.argument});
}

// Has the tile in shared memory, with no marks.
__device__ __forceinline__ void stage(tile_memory &mem, const tile_loads &t, const extent &x)
{
    const u32 lane = threadIdx.x % 32;
//@ if vec > 1 then
    if (x.is_edge) {
#pragma unroll 1
        for (u32 i = 0; i < FLAT; i++)
            mem.tile[i * 32 + lane].v = load_within(t.place + 32 * i * LOAD_BYTES, x.origin + x.low * (u64)sizeof(element), x.origin + x.high * (u64)sizeof(element));
    } else {
//@ end
#pragma unroll
        for (u32 i = 0; i < FLAT; i++) mem.tile[i * 32 + lane].v = t.v[i];
//@ if vec > 1 then
    }
//@ end
#pragma unroll
    for (u32 i = 0; i < FLAT * MARK_WORDS; i++) mem.marks[i * 32 + lane] = 0;
    __syncwarp();
}

// Marks the last elements of those of the lane's segments, which end at `ends`, that end behind `from` and up to `to`.
__device__ __forceinline__ void mark(tile_memory &mem, const u32 (&ends)[EACH], u32 from, u32 to)
{
    const u32 lane = threadIdx.x % 32;
    unsigned char *const marks = (unsigned char *)mem.marks - from / VEC * VEC;
    if (from % VEC > 0 && lane == 0) marks[from - 1] = BATCH + 1;
#pragma unroll
    for (u32 j = 0; j < EACH; j++) {
        const u32 last = ends[j] - 1;
        if (last - from < to - from) marks[last] = 32 * j + lane + 1;
    }
    __syncwarp();
}

