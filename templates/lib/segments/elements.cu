//@ -- A thread's share of elements that lie side by side: of a run, which `fewest` threads take at
//@ -- least. `apart`: there are runs that are APART. `two_tiles`: some are taken by TWO_TILES. `guarded`: whole tiles
//@ -- have no copy of their own, which NVRTC would take long for.
//@ takes op, acc, given, indexed, result, second, dtype, layout, load, vec, parts, block, apart
//@ takes fewest, guarded, order, two_tiles
//@ local together = given.masked and not given.pairs and not given.bits and vec > 1
//@ local which = together and "_as<TOGETHER>" or ""
//@ include("lib/vector.cu", { together = together })
//@ include "lib/load_element.cu"
//@ include "lib/combine.cu"
//@ include "lib/take.cu"
//@ include "lib/reduce_warp.cu"
//@ include("lib/reduce_block.cu", { tail = "shuffle" })
//@ include "lib/segments/finish.cu"
// Loads of `count` elements side by side, by `wide` lanes: aligned ones, from body up to `stop` bytes behind it. A lane
// has N of them in flight, a tile's. SIZE holds the bytes of any run that is taken so. APART: lanes of a warp have runs of
// their own, so that most of them end at different loads.
template <u32 N, class SIZE = u64, bool APART = false> struct run {
    u64 begin, body;
    SIZE stop;
    u32 rank, wide;

    run() = default;
    __device__ __forceinline__ run(const element *input, SIZE count, u32 lane, u32 lanes)
        : begin((u64)input), body((begin + LOAD_BYTES - 1) / LOAD_BYTES * LOAD_BYTES), rank(lane), wide(lanes)
    {
        // Without elements body may be any address, and nothing is loaded.
        const SIZE bytes = count * (SIZE)sizeof(element), before = (u32)(body - begin);
        stop = bytes > before ? (bytes - before) / (SIZE)LOAD_BYTES * (SIZE)LOAD_BYTES : 0;
    }
    __device__ __forceinline__ u32 tile_bytes() const { return wide * (N * (u32)LOAD_BYTES); }
    // The place of this lane's load i in a tile. Places and tiles count bytes from body on.
    __device__ __forceinline__ SIZE place_of(SIZE tile, u32 i) const
    {
        return tile + (rank + i * wide) * (u32)LOAD_BYTES;
    }
//@ if guarded then
    // How many bytes of a tile there are from this lane's first load on; its loads are `step` bytes apart.
    __device__ __forceinline__ u32 bytes_of(SIZE tile) const
    {
        const SIZE place = place_of(tile, 0), left = place < stop ? stop - place : 0;
        return left < tile_bytes() ? (u32)left : tile_bytes();
    }
    __device__ __forceinline__ u32 step() const { return wide * (u32)LOAD_BYTES; }
//@ end
//@ if two_tiles or not guarded then
//@     if together then
//@         include("lib/segments/load_either.cu", { name = "load_whole" })
//@     end
    __device__ __forceinline__ void load_whole@{together and "_as" or ""}(SIZE tile, vector (&v)[N]@{given.parameter}) const
    {
#pragma unroll
        for (u32 i = 0; i < N; i++) v[i] = load_vector@{which}(body + place_of(tile, i)@{given.argument});
    }
//@ end
    // All loads of a tile before the first use; those from stop on are left out.
//@ if together then
//@     include("lib/segments/load_either.cu", { name = "load_tile" })
//@ end
    __device__ __forceinline__ void load_tile@{together and "_as" or ""}(SIZE tile, vector (&v)[N]@{given.parameter}) const
    {
//@ if guarded then
        const u32 left = bytes_of(tile);
        const u64 first = body + place_of(tile, 0);
#pragma unroll
        for (u32 i = 0; i < N; i++)
            if (i * step() < left) v[i] = load_vector@{which}(first + i * step()@{given.argument});
//@ else
        if (!APART && tile + tile_bytes() <= stop) {
            load_whole@{which}(tile, v@{given.argument});
            return;
        }
#pragma unroll
        for (u32 i = 0; i < N; i++)
            if (place_of(tile, i) < stop) v[i] = load_vector@{which}(body + place_of(tile, i)@{given.argument});
//@ end
    }
};

// Takes a run of `count` elements@{indexed and ", the first of which has the index `origin`" or ""}, whose first tile v has: this lane's share.
// Calls `then` as soon as v is free.@{two_tiles and " TWO_TILES: the next tile is on its way while one is taken." or ""}
template <u32 UNROLL, @{two_tiles and "bool TWO_TILES = false, " or ""}class SIZE, bool APART, class THEN>
__device__ __forceinline__ accumulator reduce_loaded(const run<UNROLL, SIZE, APART> r, vector (&v)[UNROLL],
                                                     SIZE count@{indexed and ", u64 origin" or ""}, THEN then@{given.parameter})
{
    const u32 rank = r.rank, wide = r.wide, TILE_BYTES = r.tile_bytes();
    const SIZE stop = r.stop;
    const element *const input = (const element *)r.begin;
    const auto place_of = [&](SIZE tile, u32 i) { return r.place_of(tile, i); };
    SIZE tile = 0;

//@ include("lib/begin_parts.cu", { edge = "accumulator edge" })
    // Fewer than VEC elements stand before body and behind stop: all, if nothing is between these.
    const u32 head = (u32)(r.body - r.begin) / (u32)sizeof(element);
//@ if vec > 1 then
    const SIZE between = stop / (SIZE)sizeof(element);
//@     if 2 * vec <= fewest then
    // Each lane has one of them at most.
    const SIZE i = rank;
    if (i < count - between) {
//@     else
    for (SIZE i = rank; i < count - between; i += wide) {
//@     end
        const SIZE at = i < head ? i : i + between;
//@     include "lib/take_edge.cu"
    }
//@ end

//@ if two_tiles then
    if (TWO_TILES) {
        vector next[UNROLL];
        const auto take_whole = [&](const vector (&v)[UNROLL]) {
            const auto bytes_of = [](SIZE, SIZE) { return 0; };
            const auto is_there = [](u32, u32) { return true; };
//@     include("lib/take_some.cu", { vectors = "v", many = "UNROLL", counts = true })
            tile += TILE_BYTES;
        };
#pragma unroll 1
        while (tile + 3 * TILE_BYTES <= stop) {
            r.load_whole(tile + TILE_BYTES, next@{given.argument});
            take_whole(v);
            r.load_whole(tile + TILE_BYTES, v@{given.argument});
            take_whole(next);
        }
    }
//@ end
    while (tile < stop) {
//@ if apart then
        if (APART) {
        const auto bytes_of = [&](SIZE, SIZE behind) { return behind; };
        const auto is_there = [&](u32 i, SIZE) { return place_of(tile, i) < stop; };
//@     include("lib/take_some.cu", { vectors = "v", many = "UNROLL", counts = true })
        } else {
//@ end
//@ if guarded then
        const auto bytes_of = [&](SIZE at, SIZE) { return r.bytes_of(at); };
        const auto is_there = [&](u32 i, u32 left) { return i * r.step() < left; };
//@     include("lib/take_some.cu", { vectors = "v", many = "UNROLL", counts = true })
//@ else
//@     include "lib/take_tile.cu"
//@ end
//@ if apart then
        }
//@ end
        tile += TILE_BYTES;
        if (tile < stop) r.load_tile(tile, v@{given.argument});
    }
    then();
//@ if indexed then
    // Where no value went before the last one there is, it is the first load's, if there was one.
    if (place_of(0, 0) < stop) {
#pragma unroll
        for (u32 j = 0; j < LANES; j++) {
            const u64 tiles = part[j].load / UNROLL, i = part[j].load % UNROLL;
            const u64 place = place_of(0, 0) + tiles * TILE_BYTES + i * wide * LOAD_BYTES;
            const u64 index = origin + head + place / sizeof(element) + j;
            edge = combine(edge, @{given.found("part[j]", "index")}@{given.argument});
        }
    }
    return edge;
//@ else
//@     include "lib/combine_parts.cu"
//@ end
}

// The same of a run that nothing is loaded of yet.
template <u32 UNROLL, @{two_tiles and "bool TWO_TILES = false, " or ""}class SIZE>
__device__ __forceinline__ accumulator reduce_run(const element *input, SIZE count@{indexed and ", u64 origin" or ""},
                                                  u32 rank, u32 wide@{given.parameter})
{
    const run<UNROLL, SIZE> r(input, count, rank, wide);
    vector v[UNROLL];
    r.load_tile(0, v@{given.argument});
    return reduce_loaded<UNROLL@{two_tiles and ", TWO_TILES" or ""}>(r, v, count@{indexed and ", origin" or ""}, [] {}@{given.argument});
}

