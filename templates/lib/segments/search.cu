//@ -- How the work is dealt, and the search for the segment in which a stretch begins. `ends`: there
//@ -- are segments that are given with their ends.
//@ takes ends
// How the work is dealt.
struct deal {
    u64 total;  // work of all segments
    u64 origin;  // where offsets that have the work in them begin
    u64 stretch;  // work of a warp
    bool backwards;  // these end before they begin
};

__device__ __forceinline__ deal deal_of(const segments &s, void *scratch)
{
    deal d = {0, 0, 0, false};
//@ if ends then
    if (s.end) {
        const u64 chunk = chunk_of(s);
        d.total = chunk_table(scratch)[(s.count + chunk - 1) / chunk];
    } else
//@ end
    {
        const i64 begin = offset_at(s, s.begin, 0), end = offset_at(s, s.begin, s.count);
        d.origin = begin;
        d.backwards = end < begin;
        d.total = s.count * COST + (d.backwards ? 0 : end - begin);
    }
    const u64 warps = (u64)gridDim.x * WARPS;
    d.stretch = (d.total + warps - 1) / warps;
    if (d.stretch < LEAST) d.stretch = LEAST;
    return d;
}

// The work before a segment, where offsets have it in them.
__device__ __forceinline__ u64 work_before(const segments &s, const deal &d, u64 i)
{
    return offset_at(s, s.begin, i) - d.origin + i * COST;
}

// A segment, and the work before it.
struct place {
    u64 segment, before;
};

// The last of [0, n) before which there is no more than the target: by 16 probes at a time. Each half
// of a warp has a target of its own. before(i) must not decrease; if it does, it is any of them.
template <typename BEFORE>
__device__ __forceinline__ u64 search(u64 n, u64 target, BEFORE before)
{
    const u32 lane = threadIdx.x % 16, shift = threadIdx.x % 32 - lane;
    u64 low = 0, high = n;
    while (__any_sync(ALL, high - low > 1)) {
        const u64 step = (high - low + 16) / 17, at = low + (lane + 1) * step;
        const u32 held = __ballot_sync(ALL, at < high && before(at) <= target);
        const u32 found = __popc(held >> shift & 0xffff);
        if (high - low > 1) {
            const u64 stop = low + (found + 1) * step;
            low += found * step;
            if (stop < high) high = stop;
        }
    }
    return low;
}

//@ if ends then
// The segment of a chunk in which the target lies: lanes of half a warp count parts of what is left.
__device__ __forceinline__ place search_chunk(const segments &s, u64 from, u64 to, u64 before,
                                              u64 target)
{
    const u32 lane = threadIdx.x % 16;
    while (__any_sync(ALL, to - from > 1)) {
        const u64 part = (to - from + 15) / 16, begin = from + lane * part;
        const u64 end = begin + part < to ? begin + part : to;
        u64 work = 0;
        for (u64 i = begin; i < end; i++) work += COST + segment_of(s, i).count;
        u64 through = work;
#pragma unroll
        for (u32 step = 1; step < 16; step *= 2) {
            const u64 other = __shfl_up_sync(ALL, through, step, 16);
            if (lane >= step) through += other;
        }
        // Lanes before whose end the target does not lie; the last part has it at the latest.
        const u32 shift = threadIdx.x % 32 - lane;
        const u32 passed = __ballot_sync(ALL, end < to && begin < to && before + through <= target);
        const u32 found = __popc(passed >> shift & 0xffff);
        before += __shfl_sync(ALL, through - work, found, 16);
        from += found * part;
        if (from + part < to) to = from + part;
    }
    return place{from, before};
}

__device__ __forceinline__ place find_by_ends(const segments &s, void *scratch, u64 target)
{
    const u64 *const table = chunk_table(scratch);
    const u64 chunk = chunk_of(s);
    const u64 c = search((s.count + chunk - 1) / chunk, target, [&](u64 at) { return table[at]; });
    const u64 end = (c + 1) * chunk < s.count ? (c + 1) * chunk : s.count;
    return search_chunk(s, c * chunk, end, table[c], target);
}

//@ end
__device__ __forceinline__ place find(const segments &s, const deal &d, void *scratch, u64 target)
{
//@ if ends then
    if (s.end) return find_by_ends(s, scratch, target);
//@ end
    const u64 i = search(s.count, target, [&](u64 at) { return work_before(s, d, at); });
    return place{i, work_before(s, d, i)};
}
