//@ -- How a warp has a tile in shared memory, where places are numbers of 32 bits that count from its first vector on.
// A lane's loads of a tile.
struct tile_loads {
    u64 address;  // of the first vector
    vector v[FLAT];
};

// Places count elements from the address `origin`, where a vector begins. The table has those from low up to high.
struct extent {
    u64 origin;
    u32 low, high;
    bool is_edge;  // whole loads would bring elements outside the table
};

// Starts the loads of the vectors that have the elements from `from` up to `to`; at an edge of the table stage() loads them.
__device__ __forceinline__ void ask(tile_loads &t, const extent &x, u32 from, u32 to@{given.parameter})
{
    const u32 lane = threadIdx.x % 32, first = from / VEC, many = (to + VEC - 1) / VEC - first;
    t.address = x.origin + (u64)(first + lane) * LOAD_BYTES;
//@ if vec > 1 then
    if (x.is_edge) return;
//@ end
#pragma unroll
    for (u32 i = 0; i < FLAT; i++)
        if (lane + 32 * i < many) t.v[i] = load_vector(t.address + 32 * i * LOAD_BYTES@{given.argument});
}

// Stores the tile and clears its marks.
__device__ __forceinline__ void stage(tile_memory &mem, const tile_loads &t, const extent &x)
{
    const u32 lane = threadIdx.x % 32;
//@ if vec > 1 then
    if (x.is_edge) {
#pragma unroll 1
        for (u32 i = 0; i < FLAT; i++)
            mem.tile[i * 32 + lane].v = load_within(t.address + 32 * i * LOAD_BYTES, x.origin + x.low * (u64)sizeof(element), x.origin + x.high * (u64)sizeof(element));
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

// Marks the last element of each of the lane's segments, which end at `ends`, that lies from `from` up to `to`. Elements before
// `from` in its vector end with the mark BATCH + 1.
__device__ __forceinline__ void mark(tile_memory &mem, const u32 (&ends)[EACH], u32 from, u32 to)
{
    const u32 lane = threadIdx.x % 32;
    const u32 start = from / VEC * VEC;
    unsigned char *const marks = (unsigned char *)mem.marks;
    if (from > start && lane == 0) marks[from - start - 1] = BATCH + 1;
#pragma unroll
    for (u32 j = 0; j < EACH; j++) {
        const u32 last = ends[j] - 1;
        if (last - from < to - from) marks[last - start] = 32 * j + lane + 1;
    }
    __syncwarp();
}

