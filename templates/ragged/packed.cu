//@ -- Segments that lie one after the other, as offsets give them: a warp goes over them a batch at
//@ -- a time, and finds out by which kinds of lengths those of the batch are taken.
//@ takes op, acc, given, indexed, dtype, layout, vec, ahead, offsets, side
constexpr u32 SPAN = 1u << 28;  // elements of a batch whose segments are not all taken by the warp

//@ include "ragged/kinds.cu"
// What the stretch has of one segment, by the whole warp.
__device__ __forceinline__ void reduce_one(const stretch &mine, const deal &d, const element *input,
                                           const segment &one, u64 number, edge *edges,
                                           @{given.output})
{
    const u32 lane = threadIdx.x % 32;
    const u64 before = one.offset - d.origin + number * COST;
    const u64 low = elements_before(mine.from, before, one.count);
    const u64 high = elements_before(mine.to, before, one.count);
    const accumulator share = reduce_apart(input + one.offset + low, high - low@{indexed and ", low" or ""}, lane,
                                           32@{given.argument});
    const accumulator a = reduce_warp(share@{given.argument});
    if (lane == 0) deliver(mine, number, a, one.count, before, edges, output@{given.argument});
}

// The kind of the j-th of a lane's segments: 4 bits each.
__device__ __forceinline__ u32 kind_of(u32 own, u32 j)
{
    return own >> 4 * j & 15;
}

// The kinds of this lane's segments, and, as bits, of all; `crossing`: others have a part of the first
// one (1), and of the last one (2). Empty ones have their results then. Whether the offsets are seen to
// decrease.
__device__ __forceinline__ bool sort_batch(const packed &mem, const batch &b, u32 crossing, u32 &own,
                                           u32 &kinds, @{given.output})
{
    const u32 lane = threadIdx.x % 32;
    bool falls = false;
    own = kinds = 0;
#pragma unroll
    for (u32 j = 0; j < EACH; j++) {
        const u32 r = j * 32 + lane, at = mem.at[r], behind = mem.at[r + 1], count = behind - at;
        falls |= behind < at;
        const u32 loads = (at % VEC + count + VEC - 1) / VEC;
        u32 kind = loads <= LOADS ? 0 : 32 - __clz((loads - 1) / LOADS);
        if (kind > MOST) kind = loads <= EIGHT_LOADS ? BY_EIGHT : BY_WARP;
        if (count == 0) kind = EMPTY;
        if ((r == 0 && crossing & 1) || (r == b.count - 1 && crossing & 2)) kind = BY_WARP;
        if (r >= b.count) kind = ELSEWHERE;
        if (kind == EMPTY) finish(output + b.number, r, @{op.identity}, 0@{given.argument});
        own |= kind << 4 * j;
        kinds |= 1u << kind;
    }
#pragma unroll
    for (u32 step = 16; step > 0; step /= 2) kinds |= __shfl_xor_sync(ALL, kinds, step);
    return __any_sync(ALL, falls);
}

// The same of a batch of more than SPAN elements, of `left` segments that there are from its first on.
__device__ __forceinline__ bool sort_large(const segments &s, const batch &b, u64 left, u32 &own, u32 &kinds)
{
    bool falls = false;
    own = 0;
    kinds = 1u << BY_WARP;
#pragma unroll 1
    for (u32 j = 0; j < EACH; j++) {
        const u32 r = j * 32 + threadIdx.x % 32;
        if (r < left) falls |= segment_of(s, b.number + r).backwards;
        own |= (r < b.count ? BY_WARP : ELSEWHERE) << 4 * j;
    }
    return __any_sync(ALL, falls);
}

// Lists the segments of these kinds: how many.
__device__ __forceinline__ u32 list_kinds(packed &mem, u32 own, u32 kinds)
{
    const u32 lane = threadIdx.x % 32;
    u32 n = 0;
    __syncwarp();
#pragma unroll
    for (u32 j = 0; j < EACH; j++) {
        const bool is = kinds >> kind_of(own, j) & 1;
        const u32 mask = __ballot_sync(ALL, is);
        if (is) mem.order[n + __popc(mask & ((1u << lane) - 1))] = j * 32 + lane;
        n += __popc(mask);
    }
    __syncwarp();
    return n;
}

// Those segments that are taken by some lanes each.
__device__ __forceinline__ void reduce_kinds(packed &mem, const batch &b, u32 own, u32 kinds,
                                             @{given.output})
{
    // Lengths that are near to one another are taken as one kind. Else there are three: by one lane, by
    // four and by eight.
    u32 left = kinds & ((2u << MOST) - 1), eight = kinds & 1u << BY_EIGHT;
    const u32 most = 31 - __clz(left | 1), others = kinds & ~(1u << ELSEWHERE);
    const bool are_alike = left < 4u << most && (left & ((1u << most) / 2 - 1)) == 0;
    const bool is_listed = (others != left && others != eight) || (left && !are_alike);
    if (!are_alike) {
        eight |= left & 1u << MOST;
        left &= ~(1u << MOST);
    }
    while (left) {
        const u32 power = are_alike ? most : left & 1 ? 0 : 2;
        const u32 taken = !are_alike && left & 1 ? 1 : left;
        const u32 n = is_listed ? list_kinds(mem, own, taken) : b.count;
        left &= ~taken;
        reduce_kind(mem, b, n, is_listed, power, output@{given.argument});
    }
    if (eight == 0) return;
    const u32 n = is_listed ? list_kinds(mem, own, eight) : b.count;
    reduce_by_eight(mem, b, n, is_listed, output@{given.argument});
}

//@ if not ahead then
// Asks for the offsets of a batch, so that they are near when they are loaded.
__device__ __forceinline__ void prefetch_offsets(const segments &s, u64 base, u64 left)
{
    const u64 at = threadIdx.x % 32 * EACH, from = s.begin + (base + at) * (s.wide ? 8 : 4);
    if (at <= left) asm volatile("prefetch.global.L2 [%0];" : : "l"(from));
}

//@ end
// The segments of a stretch@{ahead and ", and the offsets of the first batch" or ""}.
__device__ __forceinline__ void begin_course(course &c, @{offsets}const stretch &mine,
                                             const segments &s, const deal &d)
{
    c.first = c.there = mine.first;
    c.end = mine.last + 1;
    c.crossing = 0;
    if (c.first >= c.end) return;
    // The last one may begin behind the stretch.
    const u64 last_before = work_before(s, d, mine.last);
    c.there = last_before < mine.to ? c.end : mine.last;
    if (work_before(s, d, mine.first) < mine.from) c.crossing |= 1;
    if (last_before < mine.to && work_before(s, d, c.end) > mine.to) c.crossing |= 2;
//@ if ahead then
    load_offsets(s, c.first, c.end - c.first, next);
//@ end
}

// The batch that has these offsets. How far its first element is behind b.aligned.
__device__ __forceinline__ u32 begin_batch(packed &mem, batch &b, const i64 (&next)[EACH + 1], i64 origin,
                                           const segments &s, const element *input)
{
    const u32 lane = threadIdx.x % 32;
    const u64 begin = (u64)(input + origin), behind = (u64)(input + next[EACH]);
    b.low = (u64)(input + mem.dealt.origin);
    b.high = (u64)(input + mem.dealt.origin + (mem.dealt.total - s.count * COST));
    b.aligned = begin / LOAD_BYTES * LOAD_BYTES;
    b.is_outside = b.aligned < b.low || behind + (0 - behind) % LOAD_BYTES > b.high;
    const u32 skew = (u32)(begin - b.aligned) / (u32)sizeof(element);
    __syncwarp();
#pragma unroll
    for (u32 j = 0; j < EACH; j++) {
        const u64 at = next[j] - origin;
        mem.at[j * 32 + lane] = skew + (at < SPAN ? (u32)at : SPAN);
    }
    const u64 all = next[EACH] - origin;
    if (lane == 0) mem.at[BATCH] = skew + (all < SPAN ? (u32)all : SPAN);
    __syncwarp();
    return skew;
}

// Whether the offsets are seen to decrease.@{ahead and " `next` has those of the first batch." or ""}
__device__ __forceinline__ bool reduce_packed(packed &mem, @{offsets}const segments &s,
                                              edge *edges, const element *input,
                                              @{given.output})
{
    const course &c = mem.run;
    batch b;
    for (u64 base = c.first; base < c.end; base += BATCH) {
        const u64 left = c.end - base;
//@ if not ahead then
        i64 next[EACH + 1];
        load_offsets(s, base, left, next);
//@ end
        const i64 origin = __shfl_sync(ALL, next[0], 0);
        const bool is_large = (u64)(next[EACH] - origin) >= SPAN;
        b.number = base;
        b.count = c.there - base < BATCH ? c.there - base : BATCH;
        const u32 skew = begin_batch(mem, b, next, origin, s, input);
//@ if ahead then
        if (left > BATCH) load_offsets(s, base + BATCH, left - BATCH, next);
//@ else
        if (left > BATCH) prefetch_offsets(s, base + BATCH, left - BATCH);
//@ end
        const u32 crossing =
            (base == c.first ? c.crossing & 1 : 0) | (base + b.count == c.end ? c.crossing & 2 : 0);
        if (!is_large && !crossing && reduce_tiny(mem, b, output@{given.argument})) continue;
        u32 own, kinds;
        const bool falls = is_large ? sort_large(s, b, left, own, kinds)
                                    : sort_batch(mem, b, crossing, own, kinds, output@{given.argument});
        if (falls) return true;
        reduce_kinds(mem, b, own, kinds, output@{given.argument});
        if (!(kinds >> BY_WARP & 1)) continue;
#pragma unroll 1
        for (u32 j = 0; j < EACH; j++) {
            u32 mask = __ballot_sync(ALL, kind_of(own, j) == BY_WARP);
            for (; mask; mask &= mask - 1) {
                const u32 r = j * 32 + __ffs(mask) - 1;
                segment one = {(u64)origin + (mem.at[r] - skew), mem.at[r + 1] - mem.at[r], false};
                if (is_large) one = segment_of(s, base + r);
                reduce_one(mem.mine, mem.dealt, input, one, base + r, edges, output@{given.argument});
            }
        }
    }
    return false;
}

