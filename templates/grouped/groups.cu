//@ -- A group of threads for each segment, or for a few at once.
//@ takes acc, given, indexed, lanes
// A group's segments, and where their elements are; there are none of a segment that is not there. All
// that the tables say is asked for at once.
__device__ __forceinline__ void load_segments(const segments &s, const element *input, u64 base, segment (&one)[EACH],
                                              const element *(&from)[EACH])
{
    const auto number_of = [&](u32 k) { return base + k * GROUPS + threadIdx.x / GROUP; };
    const auto place_of = [&](u32 k) { return number_of(k) < s.count ? number_of(k) : base; };
    const auto set = [&](u32 k, i64 low, i64 high) {
        one[k] = segment{(u64)low, number_of(k) < s.count && high > low ? (u64)(high - low) : 0, false};
    };
    // The table of most, by few instructions.
    if (s.wide && !s.end && !s.arrays) {
        i64 low[EACH], high[EACH];
#pragma unroll
        for (u32 k = 0; k < EACH; k++) {
            const i64 *const at = (const i64 *)s.begin + place_of(k);
            low[k] = at[0];
            high[k] = at[1];
        }
#pragma unroll
        for (u32 k = 0; k < EACH; k++) {
            from[k] = input + low[k];
            set(k, low[k], high[k]);
        }
        return;
    }
    // No jump stands between the loads: the compiler has it wait for those before it.
    u64 array[EACH] = {};
    raw_offset begin[EACH], end[EACH];
    const u64 ends = s.end ? s.end : s.begin + (4 << s.wide);
#pragma unroll
    for (u32 k = 0; k < EACH; k++) {
        if (s.arrays) array[k] = ((const u64 *)s.arrays)[place_of(k)];
        begin[k] = load_offset(s, s.begin ? s.begin : ends, place_of(k));
        end[k] = load_offset(s, ends, place_of(k));
    }
#pragma unroll
    for (u32 k = 0; k < EACH; k++) {
        i64 low = value_of(s, begin[k]);
        if (!s.begin) low = 0;
        from[k] = s.arrays ? (const element *)array[k] + (s.end ? low : 0) : input + low;
        set(k, low, value_of(s, end[k]));
    }
}

// The group's first thread returns the combination of its threads' values. All threads of the block call it;
// between two calls stands a barrier.
__device__ __forceinline__ accumulator reduce_group(accumulator a@{given.parameter})
{
//@ if lanes >= 32 then
    a = reduce_warp(a@{given.argument});
//@ else
//@     include "lib/fold_lanes.cu"
//@ end
//@ if lanes > 32 then
    __shared__ accumulator parts[WARPS];
    const u32 warp = threadIdx.x / 32;
    if (threadIdx.x % 32 == 0) parts[warp] = a;
    __syncthreads();
    if (threadIdx.x % GROUP == 0) {
#pragma unroll
        for (u32 w = 1; w < GROUP / 32; w++) a = combine(a, parts[warp + w]@{given.argument});
    }
//@ end
    return a;
}

// All threads of the block: those segments from base on that wait for it and are no giants, one after the other. Where
// there are too few blocks, those of others, too.
__device__ __noinline__ void reduce_waiting(const element *input, segments s, const bool *waits,
                                               @{given.output})
{
    const u32 thread = threadIdx.x, helpers = duties_of(s.count).helpers;
    u64 base = first_of(s.count);
#pragma unroll 1
    for (u32 turn = 0; base < s.count; turn++, base += (u64)(gridDim.x - helpers) * SHARE) {
#pragma unroll 1
        for (u32 number = 0; number < SHARE; number++) {
            const u64 i = base + number;
            if (i >= s.count || (turn == 0 && !waits[number])) continue;
            const segment one = segment_of(s, i);
            if (is_giant(s, i, one.offset, one.count)) continue;
            accumulator a = reduce_run<UNROLL>(elements_of(s, input, i, one), one.count@{indexed and ", 0" or ""}, thread, BLOCK@{given.argument_of("values_in(s, given, i)")});
            a = reduce_block(a@{given.argument});
            if (thread == 0) finish(output, i, a, one.count@{given.argument});
            __syncthreads();
        }
    }
}

// All threads of a block with segments of its own.
__device__ __forceinline__ void reduce_own(const element *input, const segments &s, @{given.output})
{
    const u32 rank = threadIdx.x % GROUP;
    const u64 base = first_of(s.count);
    if (base >= s.count) return;
    __shared__ bool waits[SHARE];
    const element *from[EACH];
    segment one[EACH];
    load_segments(s, input, base, one, from);
    run<UNROLL, u32, (GROUP < 32)> r[EACH];
    vector v[EACH][UNROLL];
    u32 count[EACH];
//@ if given.listed then
    values its_own[EACH];
//@ end
#pragma unroll
    for (u32 k = 0; k < EACH; k++) {
        const bool is_own = one[k].count <= OWN;
        count[k] = is_own ? (u32)one[k].count : 0;
        if (rank == 0) waits[k * GROUPS + threadIdx.x / GROUP] = !is_own;
        r[k] = run<UNROLL, u32, (GROUP < 32)>(from[k], count[k], rank, GROUP);
//@ if given.listed then
        const u64 at = base + k * GROUPS + threadIdx.x / GROUP;
        its_own[k] = values_in(s, given, at < s.count ? at : base);
//@ end
        r[k].load_tile(0, v[k]@{given.argument_of("its_own[k]")});
    }
    bool is_left = false;
#pragma unroll
    for (u32 k = 0; k < EACH; k++) {
        accumulator a = reduce_loaded<UNROLL>(r[k], v[k], count[k]@{indexed and ", 0" or ""}, [] {}@{given.argument_of("its_own[k]")});
        a = reduce_group(a@{given.argument});
        const u32 number = k * GROUPS + threadIdx.x / GROUP;
        const u64 its = base + number;
        // What this says was written by the same thread.
        const bool is_first = rank == 0, is_waiting = is_first && waits[number];
        if (its < s.count && is_first && !is_waiting) finish(output, its, a, count[k]@{given.argument});
        is_left |= is_waiting;
    }
    const bool is_more = (gridDim.x - duties_of(s.count).helpers) * (u64)SHARE < s.count;
    if (__syncthreads_or(is_left) || is_more) reduce_waiting(input, s, waits, output@{given.argument});
}
