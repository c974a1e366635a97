//@ -- Segments of about one length, one after the other: eight lanes, or warps, take them by their
//@ -- numbers, without a search and without parts that must meet.
//@ takes op, acc, given, indexed, result, scratch, ahead, first_offsets, offsets, packed, resident
//@ takes warps
//@ include "lib/poll.cu"
//@ local teams, wide = 1, 1
//@ while wide < warps do
//@     teams, wide = teams + 1, 2 * wide
//@ end
constexpr u32 TEAMS = @{teams};  // sizes of teams: 1, 2, 4 and so on, up to all warps of a block

// How segments of one length are dealt, if they are.
struct sharing {
    u32 wide;  // threads that take one together: warps of a block, or eight lanes a shorter one
    u32 split;  // blocks that do, of very long ones
    segment one;  // the first one of this thread's team or block
//@ if packed then
    bool in_runs;  // each warp takes short ones that lie side by side
    course run;  // this warp's, of short ones
//@     if ahead then
    i64 next[EACH + 1];  // and the offsets of its first batch
//@     end
//@ end
};

// Whether so many equal parts for each warp share out: an eighth of the warps at most has nothing to do
// in a round less.
__device__ __forceinline__ bool shares_out(float rounds)
{
    return rounds >= 0.875f * ceilf(rounds);
}

// How many warps take a segment together at least; 0: that would not share out.
__device__ __forceinline__ u32 team_of(float rounds)
{
    for (u32 team = 1; team <= WARPS; team *= 2)
        if (shares_out(rounds * (float)team)) return team;
    return 0;
}

// Blocks that take a segment together, of which the last one waits for the others. So few blocks wait that a multiprocessor
// has room for others in whatever order blocks start: of at most 16 for each multiprocessor half of those that it has
// registers for. Fewer blocks than that meet in scratch.
constexpr u32 POLLED = @{math.max(8, 32 // resident)};
constexpr u64 WORDS_BYTES = @{scratch.all_words_bytes};

// How many blocks take a segment together, so that few of all have nothing to do; 0: one is enough.
__device__ __forceinline__ u32 split_of(u64 count)
{
    if (count > gridDim.x / 2) return 0;
    const u32 split = gridDim.x / (u32)count;
    return split * (u32)count >= gridDim.x - gridDim.x / 8 ? split : 0;
}

// The first segment of this thread's team of as many threads.
__device__ __forceinline__ u32 number_of(u32 wide)
{
    return blockIdx.x * (BLOCK / wide) + threadIdx.x / wide;
}

//@ if packed then
// This warp's run of segments: a few have one more than others.
__device__ __forceinline__ void begin_run(course &run, @{offsets}const segments &s)
{
    const u32 number = blockIdx.x * WARPS + threadIdx.x / 32, warps = gridDim.x * WARPS;
    const u64 each = s.count >> 32 ? s.count / warps : (u32)s.count / warps, rest = s.count - each * warps;
    run.first = number * each + (number < rest ? number : rest);
    run.end = run.there = run.first + each + (number < rest);
    run.crossing = 0;
//@     if ahead then
    load_offsets(s, run.first, run.end - run.first, next);
//@     else
    prefetch_offsets(s, run.first, run.end - run.first);
//@     end
}

//@ end
// Whether all segments seem to have about the same length, to all threads of the block, and of all blocks:
// each thread knows one place of the table. An offset may be one length from where equal segments would
// begin; where warps take a segment each, as far as lengths lead to that differ by a fourth at random. Eight
// lanes would take too long with a segment many times as long as others. Results are right whatever stands between these.
__device__ __forceinline__ bool are_even(u64 count, u64 elements, u64 at, u64 before, bool by_warps)
{
    // In whole numbers the products might be too large. It is `over / all` lengths too far.
    const double n = (double)count, all = (double)elements;
    const double off = (double)before * n - (double)at * all;
    const double over = (off < 0 ? -off : off) - all;
    return __syncthreads_and(over <= 0 || (by_warps && 16 * over * over <= all * all * n));
}

// Segment i by its offsets; none where there is no such segment.
__device__ __forceinline__ segment segment_by(const segments &s, u64 i, const raw_offset (&ends)[2])
{
    const i64 begin = value_of(s, ends[0]), end = value_of(s, ends[1]);
    return segment{(u64)begin, i < s.count && end > begin ? (u64)(end - begin) : 0, false};
}

// Sets how, and d where segments are dealt so.
__device__ __forceinline__ void share_out(sharing &how, deal &d, const segments &s)
{
    // All that the table is first looked at for is asked for at once.
    const float rounds = (float)s.count / (float)(gridDim.x * WARPS);
    const u32 split = split_of(s.count), team = team_of(rounds);
    how.wide = how.split = 0;
//@ if packed then
    const bool in_runs = rounds >= 4 || team == 1;
    how.in_runs = false;
    if (!split && !team && !in_runs) return;
//@ else
    if (!split && !team) return;
//@ end
    const u64 at = s.count * (threadIdx.x + 1) / BLOCK;
    const u64 own = split ? blockIdx.x / split : number_of(32);
    const raw_offset seen = load_offset(s, s.begin, at), all[2] = {load_offset(s, s.begin, 0), load_offset(s, s.begin, s.count)};
    raw_offset first[TEAMS][2];
#pragma unroll
    for (u32 i = 0; i < TEAMS; i++) {
        const u64 number = i > 0 ? number_of(32u << i) : own, there = number < s.count ? number : 0;
        first[i][0] = load_offset(s, s.begin, there);
        first[i][1] = load_offset(s, s.begin, there + 1);
    }
//@ if packed then
    const u64 eight = number_of(8), there = eight < s.count ? eight : 0;
    const raw_offset by_eights[2] = {load_offset(s, s.begin, there), load_offset(s, s.begin, there + 1)};
    if (in_runs) begin_run(how.run, @{first_offsets}s);
//@ end
    const i64 offset = value_of(s, seen), begin = value_of(s, all[0]), end = value_of(s, all[1]);
    const u64 elements = end > begin ? end - begin : 0;
    d = deal{s.count * COST + elements, (u64)begin, 0, false};
    how.one = segment_by(s, own, first[0]);
    const float length = (float)elements / (float)s.count;
    if (split && length >= (float)(split * (BLOCK * TEAM_LOADS * VEC / 2))) {
        // Each thread has half of its loads at least.
        how.split = split;
    } else if (team && length >= (float)(16 * TEAM_LOADS * VEC)) {
        // As many warps as have all of their loads take a long one, so that what a block reads lies side
        // by side.
        how.wide = 32 * team;
#pragma unroll
        for (u32 i = 0; i < TEAMS; i++) {
            const u32 more = 1u << i;
            if (more == team || (more > team && length >= (float)(more * (32 * TEAM_LOADS * VEC)) &&
                                 shares_out(rounds * (float)more))) {
                how.wide = 32 * more;
                how.one = segment_by(s, i > 0 ? number_of(how.wide) : own, first[i]);
            }
        }
//@ if packed then
    } else if (length < (float)(16 * TEAM_LOADS * VEC)) {
        // Eight lanes have three loads each of one at least.
        const bool is_by_eights = length >= (float)(24 * VEC) && shares_out(rounds * (8.0f / 32));
        how.in_runs = in_runs && !is_by_eights;
        if (is_by_eights) how.wide = 8;
        if (is_by_eights) how.one = segment_by(s, eight, by_eights);
//@ end
    }
    if (!are_even(s.count, elements, at, (u64)(offset - begin), how.wide > 8)) {
        how.wide = how.split = 0;
//@ if packed then
        how.in_runs = false;
//@ end
    }
}

// By several blocks each: this one has a part of how.one, which meets the others in scratch.
__device__ __forceinline__ void reduce_split(const segments &s, const sharing &how, const element *input,
                                             @{result.c} *output, void *scratch@{given.parameter})
{
    constexpr u64 LINE = 128 / sizeof(element);
    const u64 i = blockIdx.x / how.split, count = how.one.count;
    if (i >= s.count) return;
    const u32 rank = blockIdx.x % how.split;
    const u64 each = (count / how.split / LINE + 1) * LINE;
    const u64 low = rank * each < count ? rank * each : count;
    const u64 high = low + each < count ? low + each : count;
    accumulator a = reduce_apart(input + how.one.offset + low, high - low@{indexed and ", low" or ""},
                                 threadIdx.x, BLOCK@{given.argument});
    a = reduce_block(a@{given.argument});
    const u32 first_block = blockIdx.x - rank;
    if (how.split >= POLLED && gridDim.x * (WORDS * sizeof(u64)) <= WORDS_BYTES) {
        if (rank < how.split - 1) {
            if (threadIdx.x == 0) publish(words_of(scratch, blockIdx.x), a);
            return;
        }
        accumulator others = @{op.identity};
        for (u32 k = threadIdx.x; k < rank; k += BLOCK)
            others = combine(others, collect(words_of(scratch, first_block + k))@{given.argument});
        __syncthreads();
        others = reduce_block(others@{given.argument});
        if (threadIdx.x == 0) finish(output, i, combine(others, a@{given.argument}), count@{given.argument});
        return;
    }
    __shared__ chain met;
    if (threadIdx.x == 0) {
        met.segment = i;
        met.count = count;
        met.first = first_block;
        met.last = met.first + how.split - 1;
        met.complete = leave_part(met, a, scratch);
    }
    __syncthreads();
    if (met.complete) join(met, scratch, output@{given.argument});
}

// By as many threads as `wide`, eight or a team of warps; `one` is the first of these, if there is any.
__device__ __forceinline__ void reduce_even(const segments &s, u32 wide, segment one,
                                            const element *input, @{given.output})
{
    const u32 warp = threadIdx.x / 32;
    // One of them is written while the other is still read.
    __shared__ accumulator parts[2][WARPS];
    const u32 rank = threadIdx.x & (wide - 1), teams = BLOCK / wide;
    u64 i = number_of(wide);
    u32 turn = 0;
    run<TEAM_LOADS> r(input + one.offset, one.count, rank, wide);
    vector v[TEAM_LOADS];
    r.load_tile(0, v@{given.argument});
    for (u64 base = (u64)blockIdx.x * teams; base < s.count; base += (u64)gridDim.x * teams) {
        // The next one's offsets come while this one is loaded, and its first loads are on their way
        // while this one is combined.
        const u64 next = i + (u64)gridDim.x * teams, count = one.count;
        one = segment{0, 0, false};
        if (next < s.count) one = segment_of(s, next);
        const auto load_next = [&] {
            r = run<TEAM_LOADS>(input + one.offset, one.count, rank, wide);
            r.load_tile(0, v@{given.argument});
        };
        accumulator a =
            reduce_loaded<TEAM_LOADS>(r, v, count@{indexed and ", 0" or ""}, load_next@{given.argument});
        __syncwarp();
//@ if packed then
        if (wide == 8) {
//@ include("lib/fold_lanes.cu", { lanes = 8 })
        } else
//@ end
        {
            a = reduce_warp(a@{given.argument});
            if (threadIdx.x % 32 == 0) parts[turn][warp] = a;
            __syncthreads();
            if (rank == 0)
                for (u32 w = 1; 32 * w < wide; w++) a = combine(a, parts[turn][warp + w]@{given.argument});
        }
        if (rank == 0 && i < s.count) finish(output, i, a, count@{given.argument});
        i = next;
        turn ^= 1;
    }
}
