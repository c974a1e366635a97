//@ -- A warp's stretch: where it begins, and the segments in it.
//@ takes op, acc, given, indexed, dtype, layout, vec, ahead, anywhere, ends, offsets, packed, side, tiled, whole
//@ include "lib/segments/begin.cu"
// How many of `count` elements, behind a segment's cost and the work `before` it, stand before the
// work `at`.
__device__ __forceinline__ u64 elements_before(u64 at, u64 before, u64 count)
{
    const u64 head = before + COST, passed = at > head ? at - head : 0;
    return passed < count ? passed : count;
}

//@ if not whole then
// One lane: a is what the stretch has of a segment of `count` elements, with the work `before` it.
__device__ __forceinline__ void deliver(const stretch &mine, u64 segment, accumulator a, u64 count,
                                        u64 before, edge *edges, @{given.output})
{
    const bool from_before = before < mine.from, goes_on = before + COST + count > mine.to;
    if (!from_before && !goes_on) finish(output, segment, a, count@{given.argument});
    if (from_before) edges[0] = edge{segment, before, count, @{acc.copy("a")}};
    if (goes_on) edges[1] = edge{segment, before, count, @{op.identity}};
    if (goes_on && !from_before) edges[1].a = @{acc.copy("a")};
}

//@ end
//@ local apart = not whole and not anywhere and not tiled
//@ if apart then
constexpr u32 TEAM_LOADS = UNROLL < 8 ? 8 : UNROLL;  // in flight of a thread, of long segments

// What a thread has of elements side by side that as many as `wide` take.
__device__ __noinline__ accumulator reduce_apart(const element *from, u64 count@{indexed and ", u64 origin" or ""}, u32 rank,
                                                 u32 wide@{given.parameter})
{
    return reduce_run<TEAM_LOADS>(from, count@{indexed and ", origin" or ""}, rank, wide@{given.argument});
}

//@ end
//@ if packed then
//@     local full = false
//@     include "lib/segments/batch.cu"
//@     include(tiled and "ragged/tiles.cu" or "ragged/packed.cu")
//@ else
// Whether the offsets are seen to decrease.
//@ if whole then
// Each lane combines a with its share.
__device__ __forceinline__ bool reduce_stretch(const stretch &mine, const segments &s, const deal &d,
                                               unsigned char *order, const element *input,
                                               accumulator &a@{given.parameter})
//@ else
__device__ __forceinline__ bool reduce_stretch(const stretch &mine, const segments &s, const deal &d,
                                               edge *edges, unsigned char *order,
                                               const element *input,
                                               @{given.output})
//@ end
{
//@ include("lib/segments/walk.cu", {
//@     work = "const u64 work = i <= mine.last ? COST + one.count : 0;", through = "through = scan_warp(work)",
//@     falls = "__any_sync(ALL, one.backwards)",
//@ })
        const bool there = work > 0 && at < mine.to;
        const bool crosses = at < mine.from || at + work > mine.to;
        const u64 count = one.count;
        const element *const elements = i <= mine.last ? elements_of(s, input, i, one) : input;
//@ if given.listed then
        const u64 to_second = i <= mine.last ? values_in(s, given, i).to_second : 0;
//@ end
        const bool is_short = there && !crosses && count <= 32 * AT_ONCE;
        const u32 mask = __ballot_sync(ALL, is_short);
        const u32 tiny = __ballot_sync(ALL, count <= AT_ONCE);
        const u32 small = __ballot_sync(ALL, count <= 8 * AT_ONCE);
//@ local where = whole and "order" .. (indexed and ", at - i * COST" or "") .. ", a" or "order, base, output"
        // By one lane, by eight or by all.
#pragma unroll 1
        for (u32 wide = 1; wide <= 32; wide *= wide == 1 ? 8 : 4) {
            const u32 of = wide == 1 ? tiny : wide == 8 ? small & ~tiny : ~small;
            reduce_short(mask & of, wide, elements, count@{given.listed and ", to_second" or ""}, @{where}@{given.argument});
        }
        u32 rest = __ballot_sync(ALL, there && !is_short);
        while (rest) {
            const u32 whose = __ffs(rest) - 1;
            rest &= rest - 1;
            const element *const from = (const element *)__shfl_sync(ALL, (u64)elements, whose);
            const u64 n = __shfl_sync(ALL, count, whose), begin = __shfl_sync(ALL, at, whose);
            const u64 low = elements_before(mine.from, begin, n);
            const u64 high = elements_before(mine.to, begin, n);
//@ if given.listed then
            values its_own = given;
            its_own.to_second = __shfl_sync(ALL, to_second, whose);
//@ end
//@ local index = indexed and (whole and ", begin - (base + whose) * COST + low" or ", low") or ""
            const accumulator share = @{apart and "reduce_apart" or "reduce_run<UNROLL>"}(from + low, high - low@{index}, lane, 32@{given.argument_of("its_own")});
//@ if whole then
            a = combine(a, share@{given.argument});
//@ else
            const accumulator all = reduce_warp(share@{given.argument});
            if (lane == 0) deliver(mine, base + whose, all, n, begin, edges, output@{given.argument});
//@ end
        }
    }
    return false;
}
//@ end
