//@ -- Segments that lie one after the other, as offsets give them: a warp goes over their elements
//@ -- a tile at a time, whatever the lengths. So nothing depends on lengths.
//@ takes op, acc, given, indexed, dtype, layout, vec
//@ local place = "i64"
//@ include "lib/segments/tile.cu"
struct packed_loads : tile_loads {
    u32 skew;  // elements of the tile's first vector that stand before the warp's
};

// Starts the loads of a tile, from the element at `from` on; where whole loads would bring others than the table's, stage() loads.
__device__ __forceinline__ void ask(packed_loads &t, const element *input, i64 from, i64 behind, u64 low, u64 high@{given.parameter})
{
    const u64 begin = (u64)(input + from), lane = threadIdx.x % 32, first = begin / LOAD_BYTES * LOAD_BYTES;
    t.address = first + lane * LOAD_BYTES;
    t.skew = (u32)(begin - first) / (u32)sizeof(element);
    const u64 all = (u64)(input + behind), most = first + TILE * sizeof(element), stop = all < most ? all : most;
    t.is_outside = first < low || stop + (0 - stop) % LOAD_BYTES > high;
    if (t.is_outside) return;
#pragma unroll
    for (u32 i = 0; i < FLAT; i++) {
        const u64 address = t.address + i * 32 * LOAD_BYTES;
        if (address < stop) t.v[i] = load_vector(address@{given.argument});
    }
}

// Marks the last elements of the segments that end up to `to`, from number `done` on, which is the first that ends
// behind `from`. The first that does not.
__device__ __forceinline__ u32 mark(tile_memory &mem, u32 done, i64 from, i64 to, u32 skew)
{
    const u32 lane = threadIdx.x % 32;
    unsigned char *const marks = (unsigned char *)mem.marks;
    if (skew > 0 && lane == 0) marks[skew - 1] = BATCH + 1;
    u32 more;
#pragma unroll 1
    do {
        const u32 r = done + lane;
        bool ends = false;
        if (r < BATCH) {
            const i64 begin = mem.at[r], end = mem.at[r + 1];
            ends = end <= to;
            if (ends && end > begin) marks[(u32)(end - from) + skew - 1] = r + 1;
        }
        more = __popc(__ballot_sync(ALL, ends));
        done += more;
    } while (more == 32);
    __syncwarp();
    return done;
}

// The segments that a warp goes over.
struct course {
    u64 first, end;
    u64 there;  // the end of those that it has a part of
    i64 low, high;  // its elements, as offsets
    u32 crossing;  // others have a part of the first one (1), and of the last one (2)
};

// What a warp knows, in shared memory.
struct packed : tile_memory {
    course run;
    stretch mine;
    deal dealt;
    u64 blocks;  // that have a part of the work
};

// The segments of a stretch.
__device__ __forceinline__ void begin_course(course &c, const stretch &mine, const segments &s, const deal &d)
{
    c.first = c.there = mine.first;
    c.end = mine.last + 1;
    c.crossing = 0;
    if (c.first >= c.end) return;
    // The offsets of the first batch are wanted next.
    const u64 ahead = threadIdx.x % 32 * EACH;
    if (ahead <= c.end - c.first)
        asm volatile("prefetch.global.L2 [%0];" : : "l"(s.begin + (c.first + ahead) * (s.wide ? 8 : 4)));
    const segment first = segment_of(s, mine.first), last = segment_of(s, mine.last);
    const u64 first_before = work_before(s, d, mine.first), last_before = work_before(s, d, mine.last);
    // The last one may begin behind the stretch.
    c.there = last_before < mine.to ? c.end : mine.last;
    if (first_before < mine.from) c.crossing |= 1;
    if (last_before < mine.to && last_before + COST + last.count > mine.to) c.crossing |= 2;
    c.low = first.offset + elements_before(mine.from, first_before, first.count);
    c.high = last.offset + elements_before(mine.to, last_before, last.count);
}

// Has the beginning of this warp's share of all elements brought into L2, while it is not known where its stretch
// begins: some warp needs them.
__device__ __forceinline__ void fetch_share(const deal &d, const segments &s, const element *input)
{
    constexpr u32 MOST_BYTES = 8192, LINE_BYTES = 128;
    const u64 number = (u64)blockIdx.x * WARPS + threadIdx.x / 32, warps = (u64)gridDim.x * WARPS;
    const u64 share = (d.total - s.count * COST) * sizeof(element) / warps;
    const u64 from = (u64)(input + d.origin) + share * number;
    for (u32 at = threadIdx.x % 32 * LINE_BYTES; at < MOST_BYTES && at < share; at += 32 * LINE_BYTES)
        asm volatile("prefetch.global.L2 [%0];" : : "l"(from + at));
}
// Writes what the warp has of a batch's n segments.
__device__ __forceinline__ void finish_batch(const packed &mem, const segments &s, u64 base, u32 n, u32 crossing, edge *edges,
                                             @{given.output})
{
#pragma unroll
    for (u32 j = 0; j < EACH; j++) {
        const u32 r = j * 32 + threadIdx.x % 32;
        if (r >= n) continue;
        u64 count = mem.at[r + 1] - mem.at[r];
        accumulator a = @{op.identity};
        if (count > 0) a = @{acc.copy("mem.sum[r + 1]")};
        const bool crosses = (r == 0 && crossing & 1) || (r == n - 1 && crossing & 2);
//@ if indexed then
        u64 begin = mem.at[r];
        if (crosses) begin = segment_of(s, base + r).offset;
        a = @{acc.moved("a", "(0 - begin)")};
//@ end
        if (crosses) {
            const segment one = segment_of(s, base + r);
            const u64 before = one.offset - mem.dealt.origin + (base + r) * COST;
            deliver(mem.mine, base + r, a, one.count, before, edges, output@{given.argument});
        } else {
            finish(output + base, r, a, count@{given.argument});
        }
    }
}

// Has the batch that has these offsets in shared memory. Whether the offsets are seen to decrease.
__device__ __forceinline__ bool begin_batch(packed &mem, const i64 (&next)[EACH + 1], bool is_cut)
{
    const u32 lane = threadIdx.x % 32;
    bool falls = false;
    __syncwarp();
#pragma unroll
    for (u32 j = 0; j < EACH; j++) mem.at[j * 32 + lane] = next[j];
    if (lane == 0) mem.at[BATCH] = next[EACH];
    __syncwarp();
#pragma unroll
    for (u32 j = 0; j < EACH; j++) falls |= mem.at[j * 32 + lane + 1] < next[j];
    if (__any_sync(ALL, falls)) return true;
    if (is_cut) {
        __syncwarp();
#pragma unroll
        for (u32 j = 0; j < EACH; j++) mem.at[j * 32 + lane] = max(mem.run.low, min(mem.run.high, next[j]));
        if (lane == 0) mem.at[BATCH] = max(mem.run.low, min(mem.run.high, next[EACH]));
        __syncwarp();
    }
    return false;
}

// Whether the offsets are seen to decrease.
__device__ __forceinline__ bool reduce_packed(packed &mem, const segments &s, edge *edges, const element *input, @{given.output})
{
    const course &c = mem.run;
    const u32 lane = threadIdx.x % 32;
    const u64 low = (u64)(input + mem.dealt.origin);
    const u64 high = low + (mem.dealt.total - s.count * COST) * sizeof(element);
    packed_loads t;
    bool is_asked = false;
    i64 next[EACH + 1];
    if (c.first < c.end) load_offsets(s, c.first, c.end - c.first, next);
    for (u64 base = c.first; base < c.end; base += BATCH) {
        const u64 left = c.end - base;
        const u32 n = c.there - base < BATCH ? c.there - base : BATCH;
        if (begin_batch(mem, next, base == c.first || base + BATCH >= c.there)) return true;
        if (left > BATCH) load_offsets(s, base + BATCH, left - BATCH, next);
        const u32 crossing = (base == c.first ? c.crossing & 1 : 0) | (base + n == c.end ? c.crossing & 2 : 0);
        if (lane == 0) mem.open = @{op.identity};
        __syncwarp();
        i64 from = mem.at[0];
        const i64 end = mem.at[BATCH];
        u32 done = 0;
        if (from < end && !is_asked) ask(t, input, from, end, low, high@{given.argument});
        if (from < end) {
#pragma unroll
            for (u32 j = 0; j < EACH; j++) done += __popc(__ballot_sync(ALL, mem.at[j * 32 + lane + 1] <= from));
        }
        while (from < end) {
            const u64 whole = t.skew || t.is_outside ? 0 : (u64)(mem.at[done + 1] - from - 1) / TILE * TILE;
            i64 to = from + whole;
            if (whole == 0) to = from + TILE - t.skew < end ? from + TILE - t.skew : end;
            const auto ask_next = [&] {
                const i64 behind = to < end ? end : left > BATCH ? min(c.high, next[EACH]) : end;
                is_asked = to < behind;
                if (is_asked) ask(t, input, to, behind, low, high@{given.argument});
            };
            if (whole > 0) {
                const run<FLAT> r(input + from, whole, lane, 32);
                const accumulator share = reduce_loaded<FLAT>(r, t.v, whole@{indexed and ", from" or ""}, ask_next@{given.argument});
                const accumulator a = reduce_warp(share@{given.argument});
                if (lane == 0) mem.open = combine(@{acc.copy("mem.open")}, a@{given.argument});
                __syncwarp();
            } else {
                const u32 skew = t.skew, vectors = (u32)(to - from + skew + VEC - 1) / VEC;
                stage(mem, t, low, high);
                ask_next();
                done = mark(mem, done, from, to, skew);
                reduce_tile(mem, (vectors + 31) / 32 | 1@{indexed and ", from - skew" or ""}@{given.argument});
            }
            from = to;
        }
        finish_batch(mem, s, base, n, crossing, edges, output@{given.argument});
    }
    return false;
}
