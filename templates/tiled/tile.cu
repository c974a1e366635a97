//@ -- How a warp loads and marks a tile, where places are numbers of 32 bits that count from its
//@ -- first vector on.
//@ takes given
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
    t.is_outside = VEC > 1 && x.is_edge;
    if (t.is_outside) return;
#pragma unroll
    for (u32 i = 0; i < FLAT; i++)
        if (lane + 32 * i < many) t.v[i] = load_vector(t.address + 32 * i * LOAD_BYTES@{given.argument});
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
