//@ -- A warp's share of many short segments, a tile of their elements at a time, whatever the lengths.
//@ include "ragged/tile.cu"
constexpr u32 END = BATCH;  // no segment of the share

// Those of a lane's segments that are long for a warp, as bits of the lanes.
__device__ __forceinline__ u32 next_long(const u32 (&longs)[EACH], u32 from)
{
    u32 next = END;
#pragma unroll
    for (u32 j = EACH; j-- > 0;) {
        const u32 mask = from >= 32 * j + 32 ? 0 : from <= 32 * j ? longs[j] : longs[j] & ALL << (from - 32 * j);
        if (mask) next = 32 * j + __ffs(mask) - 1;
    }
    return next;
}

// A piece of the share between two long segments: what is left of it.
struct piece {
    i64 from, end;  // as offsets
    u32 first, stop;  // the numbers of its first segment and of the one that ends it
};

// Goes on to the next piece that has elements; from == end: no other piece has any.
__device__ __forceinline__ void skip_long(piece &at, const tile_memory &mem, const u32 (&longs)[EACH])
{
    while (at.from == at.end && at.stop < END) {
        at.first = at.stop + 1;
        at.from = mem.at[at.first];
        at.stop = next_long(longs, at.first);
        at.end = mem.at[at.stop];
    }
}

enum unfinished { NOTHING, LONG_ONES, EVERYTHING };

// The rest of a warp's segments from base on, and where there are too few blocks, of others': those that are long
// for a warp and no giants, one after the other, and the others a lane each, wherever they are.
__device__ __noinline__ void reduce_rest(const element *input, segments s, u64 base, unfinished what, @{result.c} *output@{given.parameter})
{
    const u32 lane = threadIdx.x % 32;
    const u64 step = (u64)(gridDim.x - duties_of(s.count).helpers) * SHARE;
    bool all = what == EVERYTHING;
    if (what == NOTHING) base += step;
#pragma unroll 1
    for (u64 first = base; first < s.count;) {
        const u64 i = first + lane;
        const segment one = i < s.count ? segment_of(s, i) : segment{0, 0, false};
        if (all && i < s.count && one.count <= OWN) {
            const accumulator a = reduce_run<UNROLL>(elements_of(s, input, i, one), one.count@{indexed and ", 0" or ""}, 0, 1@{given.argument});
            finish(output, i, a, one.count@{given.argument});
        }
#pragma unroll 1
        for (u32 left = __ballot_sync(ALL, one.count > OWN); left; left &= left - 1) {
            const u64 its = first + __ffs(left) - 1;
            const segment large = segment_of(s, its);
            if (is_giant(s, its, large.count)) continue;
            const accumulator share = reduce_run<UNROLL>(elements_of(s, input, its, large), large.count@{indexed and ", 0" or ""}, lane, 32@{given.argument});
            const accumulator a = reduce_warp(share@{given.argument});
            if (lane == 0) finish(output, its, a, large.count@{given.argument});
        }
        first += 32;
        if (first - base < BATCH) continue;
        base += step;
        first = base;
        all = true;
    }
}

// A warp's segments from base on, in a table of neighbours. Returns what it leaves: everything where offsets decrease.
__device__ __forceinline__ unfinished reduce_tiles(tile_memory &mem, const element *input, const segments &s, u64 base,
                                                   @{result.c} *output@{given.parameter})
{
    const u32 lane = threadIdx.x % 32;
    const u64 left = s.count - base;
    const u32 n = left < BATCH ? left : BATCH;
    const raw_offset begin = load_offset(s, s.begin, 0), behind = load_offset(s, s.begin, s.count);
    i64 next[EACH + 1];
    load_offsets(s, base, n, next);
    __syncwarp();
#pragma unroll
    for (u32 j = 0; j < EACH; j++) mem.at[j * 32 + lane] = next[j];
    if (lane == 0) {
        mem.at[END] = next[EACH];
        mem.open = @{op.identity};
    }
    __syncwarp();
    const i64 least = value_of(s, begin), most = value_of(s, behind);
    bool falls = next[0] < least || next[EACH] > most;
    u32 longs[EACH], is_long = 0;
#pragma unroll
    for (u32 j = 0; j < EACH; j++) {
        const i64 count = mem.at[j * 32 + lane + 1] - next[j];
        falls |= count < 0;
        longs[j] = __ballot_sync(ALL, count > (i64)OWN);
        is_long |= longs[j];
    }
    if (__any_sync(ALL, falls)) return EVERYTHING;
    const u64 low = (u64)(input + least), high = (u64)(input + most);
    piece at = {mem.at[0], 0, 0, next_long(longs, 0)};
    at.end = mem.at[at.stop];
    skip_long(at, mem, longs);
    u32 done = at.first;
    tile_loads t;
    if (at.from < at.end) ask(t, input, at.from, at.end, low, high@{given.argument});
    while (at.from < at.end) {
        const i64 from = at.from, full = from + TILE - t.skew, to = full < at.end ? full : at.end;
        const u32 skew = t.skew, vectors = (u32)(to - from + skew + VEC - 1) / VEC;
        stage(mem, t, low, high);
        at.from = to;
        const bool is_last = to == at.end;
        skip_long(at, mem, longs);
        if (at.from < at.end) ask(t, input, at.from, at.end, low, high@{given.argument});
        done = mark(mem, done, from, to, skew);
        reduce_tile(mem, (vectors + 31) / 32 | 1@{indexed and ", from - skew" or ""}@{given.argument});
        if (is_last) {
            done = at.first;
            if (lane == 0) mem.open = @{op.identity};
            __syncwarp();
        }
    }
#pragma unroll
    for (u32 j = 0; j < EACH; j++) {
        const u32 r = j * 32 + lane;
        if (r >= n || longs[j] >> lane & 1) continue;
        const i64 first = mem.at[r];
        const u64 count = mem.at[r + 1] - first;
        accumulator a = @{op.identity};
        if (count > 0) a = @{acc.copy("mem.sum[r + 1]")};
//@ if indexed then
        a = @{acc.moved("a", "(0 - (u64)first)")};
//@ end
        finish(output + base, r, a, count@{given.argument});
    }
    return is_long ? LONG_ONES : NOTHING;
}
