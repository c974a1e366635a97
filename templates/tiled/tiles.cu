//@ -- A warp's share of many short segments, a tile of their elements at a time, whatever the
//@ -- lengths.
//@ takes op, acc, given, indexed, dtype, layout, vec
//@ local place = "u32"
//@ include "lib/segments/tile.cu"
//@ include "tiled/tile.cu"
constexpr u32 END = BATCH;  // no segment of the share
constexpr u32 PLACES = 1u << 30;  // elements that a warp's segments have fewer of, for places in 32 bits

static_assert(OWN < PLACES, "");

// The first segment from number `from` on that is long for a warp, or END.
__device__ __noinline__ u32 next_long(const tile_memory &mem, u32 from)
{
    const u32 lane = threadIdx.x % 32;
#pragma unroll 1
    for (u32 first = from; first < END; first += 32) {
        const u32 r = first + lane;
        const u32 longs = __ballot_sync(ALL, r < END && mem.at[r + 1] - mem.at[r] > OWN);
        if (longs) return first + __ffs(longs) - 1;
    }
    return END;
}

// A warp's segment i, which is long for it, unless it is a giant.
__device__ __noinline__ void reduce_long(const element *input, segments s, u64 i, @{given.output})
{
    const segment large = segment_of(s, i);
    if (is_giant(s, i, large.offset, large.count)) return;
    const accumulator share = reduce_run<UNROLL>(elements_of(s, input, i, large), large.count@{indexed and ", 0" or ""}, threadIdx.x % 32, 32@{given.argument});
    const accumulator a = reduce_warp(share@{given.argument});
    if (threadIdx.x % 32 == 0) finish(output, i, a, large.count@{given.argument});
}

// A warp's segments from base on, and where there are too few blocks, others': a lane each, wherever they are, and those that
// are long for that one after the other.
__device__ __noinline__ void reduce_each(const element *input, segments s, u64 base, @{given.output})
{
    const u64 step = (u64)(gridDim.x - duties_of(s.count).helpers) * SHARE;
#pragma unroll 1
    for (; base < s.count; base += step) {
#pragma unroll 1
        for (u64 first = base; first < base + BATCH && first < s.count; first += 32) {
            const u64 i = first + threadIdx.x % 32;
            const segment one = i < s.count ? segment_of(s, i) : segment{0, 0, false};
            if (i < s.count && one.count <= OWN) {
                const accumulator a = reduce_run<UNROLL>(elements_of(s, input, i, one), one.count@{indexed and ", 0" or ""}, 0, 1@{given.argument});
                finish(output, i, a, one.count@{given.argument});
            }
#pragma unroll 1
            for (u32 left = __ballot_sync(ALL, one.count > OWN); left; left &= left - 1)
                reduce_long(input, s, first + __ffs(left) - 1, output@{given.argument});
        }
    }
}

// The long ones of a warp's segments from base on, whose places mem.at has.
__device__ __noinline__ void reduce_longs(const tile_memory &mem, const element *input, segments s, u64 base, @{given.output})
{
#pragma unroll 1
    for (u32 r = next_long(mem, 0); r < END; r = next_long(mem, r + 1)) reduce_long(input, s, base + r, output@{given.argument});
}

// A warp's segments from base on, in a table of neighbours. Returns false, and has written nothing, where offsets decrease,
// or where the segments span PLACES elements or more.
__device__ __forceinline__ bool reduce_tiles(tile_memory &mem, const element *input, const segments &s, u64 base,
                                             @{given.output})
{
    const u32 lane = threadIdx.x % 32;
    const u64 left = s.count - base;
    const u32 n = left < BATCH ? left : BATCH;
    const raw_offset begin = load_offset(s, s.begin, 0), behind = load_offset(s, s.begin, s.count);
    i64 next[EACH + 1];
    load_offsets(s, base, n, next);
    // Places count from the vector that has the first element.
    const i64 first = __shfl_sync(ALL, next[0], 0);
    const u64 address = (u64)(input + first), origin = address / LOAD_BYTES * LOAD_BYTES;
    const u32 skew = (u32)(address - origin) / (u32)sizeof(element);
    const i64 least = value_of(s, begin), most = value_of(s, behind);
    bool falls = next[0] < least || next[EACH] > most;
    u64 far = (u64)next[EACH] - (u64)first;
    u32 ends[EACH];
#pragma unroll
    for (u32 j = 0; j < EACH; j++) {
        far |= (u64)next[j] - (u64)first;
        ends[j] = (u32)(next[j] - first) + skew;
        mem.at[j * 32 + lane] = ends[j];
    }
    falls |= far >= PLACES;
    if (lane == 0) mem.at[END] = (u32)(next[EACH] - first) + skew;
    __syncwarp();
    bool is_long = false;
#pragma unroll
    for (u32 j = 0; j < EACH; j++) {
        const u32 begin = ends[j];
        ends[j] = mem.at[j * 32 + lane + 1];
        const int count = (int)(ends[j] - begin);
        falls |= count < 0;
        is_long |= count > (int)OWN;
        // An empty segment has no last element, and 0 - 1 is no place of a tile.
        if (count == 0) ends[j] = 0;
    }
    if (__any_sync(ALL, falls)) return false;
    is_long = __any_sync(ALL, is_long);
    extent x = {origin, 0, 2 * PLACES, false};
    if (first - least < (i64)skew) x.low = skew - (u32)(first - least);
    if (most - first < PLACES) x.high = (u32)(most - first) + skew;
    x.is_edge = x.low > 0 || (mem.at[END] + VEC - 1) / VEC * VEC > x.high;
    // Tiles cover what lies between two long segments; `from` is where the next one begins.
    u32 stop = is_long ? next_long(mem, 0) : END;
    u32 from = mem.at[0], end = mem.at[stop];
    tile_loads t;
    const auto end_of = [&] {
        const u32 full = from / VEC * VEC + TILE;
        return full < end ? full : end;
    };
#pragma unroll 1
    while (true) {
        if (lane == 0) mem.open = @{op.identity};
        if (from < end) ask(t, x, from, end_of()@{given.argument});
#pragma unroll 1
        while (from < end) {
            const u32 begin = from, to = end_of();
            stage(mem, t, x.origin + x.low * (u64)sizeof(element), x.origin + x.high * (u64)sizeof(element));
            from = to;
            if (from < end) ask(t, x, from, end_of()@{given.argument});
            mark(mem, ends, begin, to);
            reduce_tile(mem, ((to + VEC - 1) / VEC - begin / VEC + 31) / 32 | 1@{indexed and ", begin / VEC * VEC" or ""}@{given.argument});
        }
        if (stop == END) break;
        from = mem.at[stop + 1];
        stop = next_long(mem, stop + 1);
        end = mem.at[stop];
    }
#pragma unroll
    for (u32 j = 0; j < EACH; j++) {
        const u32 r = j * 32 + lane;
        const u32 place = mem.at[r], count = mem.at[r + 1] - place;
        if (r >= n || count > OWN) continue;
        accumulator a = @{op.identity};
        if (count > 0) a = @{acc.copy("mem.sum[r + 1]")};
//@ if indexed then
        a = @{acc.moved("a", "(0 - (u64)place)")};
//@ end
        finish(output + base, r, a, count@{given.argument});
    }
    if (is_long) reduce_longs(mem, input, s, base, output@{given.argument});
    return true;
}
