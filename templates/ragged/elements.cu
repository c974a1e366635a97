//@ -- A thread's share of elements that lie side by side.
//@ include "lib/vector.cu"
//@ include "lib/load_element.cu"
//@ include "lib/combine.cu"
//@ include "lib/take.cu"
//@ include "lib/reduce_warp.cu"
//@ include "lib/reduce_block.cu"
__device__ __forceinline__ void finish(@{result.c} *output, u64 segment, accumulator a, u64 count@{given.parameter})
{
    @{given.write("output[segment]", "a", "count")}
}

// Loads of `count` elements side by side, by `wide` lanes: aligned ones, from body up to stop. A lane has
// N of them in flight, a tile's.
template <u32 N> struct run {
    u64 begin, body, stop;
    u32 rank, wide;

    __device__ __forceinline__ run(const element *input, u64 count, u32 lane, u32 lanes)
        : begin((u64)input), body((begin + LOAD_BYTES - 1) / LOAD_BYTES * LOAD_BYTES), rank(lane), wide(lanes)
    {
        // No elements may be anywhere, and their address may round up beyond the end of all addresses.
        stop = count > 0 ? (begin + count * sizeof(element)) / LOAD_BYTES * LOAD_BYTES : 0;
    }
    __device__ __forceinline__ u64 tile_bytes() const { return wide * (N * LOAD_BYTES); }
    // Where this lane's load i of the tile at that address is.
    __device__ __forceinline__ u64 place_of(u64 tile, u32 i) const
    {
        return tile + (rank + i * wide) * LOAD_BYTES;
    }
    // All loads of a tile before the first use; those from stop on are left out.
    __device__ __forceinline__ void load_tile(u64 tile, vector (&v)[N]@{given.parameter}) const
    {
        if (tile + tile_bytes() <= stop) {
#pragma unroll
            for (u32 i = 0; i < N; i++) v[i] = load_vector(place_of(tile, i)@{given.argument});
        } else {
#pragma unroll
            for (u32 i = 0; i < N; i++)
                if (place_of(tile, i) < stop) v[i] = load_vector(place_of(tile, i)@{given.argument});
        }
    }
};

// Takes a run of `count` elements@{indexed and ", the first of which has the index `origin`" or ""}, whose first tile v has: this lane's share.
// Calls `then` as soon as v is free.
template <u32 UNROLL, class THEN>
__device__ __forceinline__ accumulator reduce_loaded(const run<UNROLL> r, vector (&v)[UNROLL],
                                                     u64 count@{indexed and ", u64 origin" or ""}, THEN then@{given.parameter})
{
    const u64 begin = r.begin, body = r.body, stop = r.stop, TILE_BYTES = r.tile_bytes();
    const u32 rank = r.rank, wide = r.wide;
    const element *const input = (const element *)begin;
    const auto place_of = [&](u64 tile, u32 i) { return r.place_of(tile, i); };
    u64 tile = body;

//@ include "lib/begin_parts.cu"
//@ if not op.part then
    accumulator edge = @{op.identity};
//@ end
//@ if vec > 1 then
    // Fewer than VEC elements stand before body and behind stop: all, if nothing is between these.
    const u64 head = (u32)(body - begin) / sizeof(element);
    const u64 between = stop > body ? (stop - body) / sizeof(element) : 0;
//@     if 2 * vec <= 8 then
    // Each lane has one of them at most: at least eight take a run.
    const u64 i = rank;
    if (i < count - between) {
//@     else
    for (u64 i = rank; i < count - between; i += wide) {
//@     end
        const u64 at = i < head ? i : i + between;
//@     if indexed then
        edge = combine(edge, candidate(load_element(input + at), origin + at)@{given.argument});
//@     elseif op.part then
        part[0] = @{op.part.take("part[0]", "load_element(input + at)")};
//@     else
        edge = combine(edge, map(load_element(input + at)@{given.argument})@{given.argument});
//@     end
    }
//@ end

    while (tile < stop) {
//@     include "lib/take_tile.cu"
        tile += TILE_BYTES;
        if (tile < stop) r.load_tile(tile, v@{given.argument});
    }
    then();
//@ if indexed then
    // Where no value went before the last one there is, it is the first load's, if there was one.
    const u64 first = place_of(body, 0);
    if (first < stop) {
#pragma unroll
        for (u32 j = 0; j < LANES; j++) {
            const u64 tiles = part[j].load / UNROLL, i = part[j].load % UNROLL;
            const u64 place = first + tiles * TILE_BYTES + i * wide * LOAD_BYTES;
            const u64 index = origin + (place - begin) / sizeof(element) + j;
            edge = combine(edge, candidate(part[j].x, index)@{given.argument});
        }
    }
    return edge;
//@ else
//@     include "lib/combine_parts.cu"
//@ end
}

// The same of a run that nothing is loaded of yet.
template <u32 UNROLL>
__device__ __forceinline__ accumulator reduce_run(const element *input, u64 count@{indexed and ", u64 origin" or ""},
                                                  u32 rank, u32 wide@{given.parameter})
{
    const run<UNROLL> r(input, count, rank, wide);
    vector v[UNROLL];
    r.load_tile(r.body, v@{given.argument});
    return reduce_loaded<UNROLL>(r, v, count@{indexed and ", origin" or ""}, [] {}@{given.argument});
}

