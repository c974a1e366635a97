//@ -- Segments of one length, one after the other: warps take them by their numbers, without a search
//@ -- and without parts that must meet.
constexpr u32 TEAM_LOADS = UNROLL < 8 ? 8 : UNROLL;  // in flight of a thread

// Whether so many warps for each segment share out equal work, if all have the same length: an eighth of
// the warps at most has nothing to do in a round less.
__device__ __forceinline__ bool shares_out(u32 team, u64 count)
{
    const float rounds = (float)count * (float)team / (float)(gridDim.x * WARPS);
    return rounds >= 0.875f * ceilf(rounds);
}

// How many warps take a segment together at least; 0: that would not share out.
__device__ __forceinline__ u32 team_of(u64 count)
{
    for (u32 team = 1; team <= WARPS; team *= 2)
        if (shares_out(team, count)) return team;
    return 0;
}

// How many take a long segment together, so that what a block reads lies side by side: each thread has
// all of its loads.
__device__ __forceinline__ u32 widest_of(u32 team, u64 count, const deal &d)
{
    u32 widest = team;
    for (u32 more = 2 * team; more <= WARPS; more *= 2)
        if (d.total - count * COST >= count * (more * 32 * TEAM_LOADS * VEC) && shares_out(more, count))
            widest = more;
    return widest;
}

// Whether a warp has half of its loads in one of these at least.
__device__ __forceinline__ bool are_long(u64 count, const deal &d)
{
    return d.total - count * COST >= count * (16 * TEAM_LOADS * VEC);
}

// Whether all segments seem to have the same length, to all threads of the block, and of all blocks: each
// thread knows one place of the table. Results are right whatever stands between these.
__device__ __forceinline__ bool are_even(const segments &s, const deal &d, u64 at, i64 offset)
{
    const u64 elements = d.total - s.count * COST;
    const double even = (double)elements / (double)s.count;
    const double off = (double)(offset - (i64)d.origin) - (double)at * even;
    return __syncthreads_and(!d.backwards && off <= even && -off <= even);
}

// What a warp has that takes segments by number.
__device__ __forceinline__ void share_evenly(stretch &mine, const segments &s, const deal &d)
{
    const u32 warp = threadIdx.x / 32;
    const u64 number = (u64)blockIdx.x * WARPS + warp, warps = (u64)gridDim.x * WARPS;
    const double each = (double)s.count / (double)warps;
    const u64 end = number + 1 < warps ? (u64)((double)(number + 1) * each) : s.count;
    mine.first = (u64)((double)number * each);
    mine.last = end - 1;
    if (mine.first >= end) {
        mine.first = 1;
        mine.last = 0;
        return;
    }
    mine.from = work_before(s, d, mine.first);
    mine.to = work_before(s, d, end);
}

// The first segment of this thread's team.
__device__ __forceinline__ u64 number_of(u32 team)
{
    return blockIdx.x * (BLOCK / (32 * team)) + threadIdx.x / (32 * team);
}

// How many warps take a segment together, and the first one of this thread's team; 0: segments do not
// seem to have one length. Tells how the work is dealt, too.
__device__ __forceinline__ u32 team_up(segment &one, deal &d, const segments &s)
{
    // All that the table is first looked at for is asked for at once.
    const u32 team = team_of(s.count);
    const u64 at = s.count * (threadIdx.x + 1) / BLOCK;
    const i64 offset = team ? offset_at(s, s.begin, at) : 0;
    if (team && number_of(team) < s.count) one = segment_of(s, number_of(team));
    d = deal_of(s, nullptr);
    if (!team || !are_even(s, d, at, offset)) return 0;
    const u32 widest = widest_of(team, s.count, d);
    if (widest > team && number_of(widest) < s.count) one = segment_of(s, number_of(widest));
    return widest;
}

// By teams of warps; `one` is the first of this one, if there is any.
__device__ __forceinline__ void reduce_even(const segments &s, u32 team, segment one,
                                            const element *input, @{result.c} *output@{given.parameter})
{
    const u32 warp = threadIdx.x / 32;
    __shared__ accumulator parts[WARPS];
    const u32 wide = 32 * team, rank = threadIdx.x & (wide - 1), teams = BLOCK / wide;
    u64 i = number_of(team);
    for (u64 base = (u64)blockIdx.x * teams; base < s.count; base += (u64)gridDim.x * teams) {
        const accumulator share =
            reduce_run<TEAM_LOADS>(input + one.offset, one.count@{indexed and ", 0" or ""}, rank,
                                   wide@{given.argument});
        const accumulator all = reduce_warp(share@{given.argument});
        if (threadIdx.x % 32 == 0) parts[warp] = all;
        __syncthreads();
        const u64 next = i + (u64)gridDim.x * teams, count = one.count;
        one.count = 0;
        if (next < s.count) one = segment_of(s, next);
        if (rank == 0 && i < s.count) {
            accumulator a = @{acc.copy("parts[warp]")};
            for (u32 w = 1; w < team; w++) a = combine(a, parts[warp + w]@{given.argument});
            finish(output, i, a, count@{given.argument});
        }
        i = next;
        __syncthreads();
    }
}

