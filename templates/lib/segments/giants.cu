//@ -- Giants: segments that are too long for those that have them, a block or, in the family
//@ -- "tiled", a warp. One has more than `long` elements, and more than `times` average segments.
//@ -- Threads that help look for them at `looks` places at once.
//@ takes op, acc, given, indexed, scratch, help_loads, long, looks, times, two_tiles
// A launch has more blocks than take segments of their own: helpers. Where the offsets of a table are those of
// neighbours, the elements from the first offset up to the last are dealt to these in equal ranges, and each
// takes what giants have of its range: a warp of it a small share, the block a large one. It finds them by a search
// and the table alone, so that nobody waits. A giant that crosses an end of a range has parts in scratch, and whoever
// leaves the last one combines all, in their order.
//
// What helpers do is in functions that are called, lest those with segments of their own keep registers for it, or worse,
// store some to memory for each thread. A block goes through this code once, so it waits for much of it to be fetched: less
// code is worth as much as fewer looks at the table.
//@ local accumulators = math.min(scratch.all_words_bytes // scratch.words_bytes, scratch.all_slots_bytes // (2 * acc.bytes))
constexpr u32 RANGES_MAX = @{accumulators};  // that scratch has room for
static_assert(sizeof(accumulator) == @{acc.bytes}, "");

constexpr u64 LONG = @{long};  // a giant has more elements
constexpr u32 HELP_LOADS = @{help_loads};  // independent loads in flight of a thread that helps
// A share of a giant is large if it is more than such a part of its range, which has fewer of these, and more elements
// than a warp takes by some loads.
constexpr u32 LARGE = 16;
constexpr u64 WARP_SHARE = 4 * 32 * HELP_LOADS * VEC;
constexpr u32 LOOKS = @{looks};  // that a thread takes at once
constexpr u32 PARTS = sizeof(accumulator) <= 8 ? 8 : 2;  // of a giant, that a lane takes at once
constexpr u32 BUNCH = 32;  // segments of a look, where there are many
constexpr u32 TABLE_LOOKS = BLOCK < 256 ? 256 / BLOCK : 1;  // of a thread at a small table
constexpr u32 WINDOW_LOOKS = BLOCK < 512 ? 512 / BLOCK : 1;  // of a thread at the segments about a place
constexpr u64 LONGEST = (1 << 18) / sizeof(element);  // a segment of more is a giant in every table of neighbours

// Blocks that take segments of their own, and those in front of them, which help with giants.
struct duties {
    u64 owners;
    u32 helpers;
};

// Called, since it is much code.
__device__ __noinline__ u64 divide(u64 n, u64 by)
{
    return n / by;
}

__device__ __forceinline__ duties duties_of(u64 count)
{
    const u64 owners = (count + SHARE - 1) / SHARE;
    return duties{owners, gridDim.x > owners ? gridDim.x - (u32)owners : 0};
}

// The first segment of an owner.
__device__ __forceinline__ u64 first_of(u64 count)
{
    return (u64)(blockIdx.x - duties_of(count).helpers) * SHARE;
}

// Where the search begins.
__device__ __forceinline__ int first_shift(u64 count)
{
    return (63 - __clzll(count | 1)) / 5 * 5;
}

// Whether blocks help with the giants of that table: not where it has 2^32 segments or more, since a search takes more steps
// among these than a warp has lanes.
__device__ __forceinline__ bool are_shared(const segments &s)
{
    return duties_of(s.count).helpers > 0 && are_neighbours(s) && s.count >> 32 == 0;
}

// What lies between the first and the last offset; nothing is shared where that is no element.
struct span {
    i64 from;
    u64 elements;
};

__device__ __forceinline__ span span_of(const segments &s, const raw_offset &first, const raw_offset &last)
{
    const i64 low = value_of(s, first), high = value_of(s, last);
    const u64 between = high > low ? (u64)high - (u64)low : 0;
    return span{low, between >> 48 ? 0 : between};
}

// Whether a segment of `count` elements is too long.
__device__ __forceinline__ bool is_long(const segments &s, const span &all, u64 count)
{
    if (all.elements == 0 || count <= LONG) return false;
    return count > LONGEST || (double)count * (double)(SHARE * duties_of(s.count).owners) > (double)all.elements * @{times};
}

// Elements from segment i up to segment `end`, or to the last one.
__device__ __forceinline__ u64 elements_between(const segments &s, u64 i, u64 end)
{
    const i64 low = offset_at(s, s.begin, i), high = offset_at(s, s.begin, end < s.count ? end : s.count);
    return high > low ? (u64)high - (u64)low : 0;
}

// The last segment that begins at or before that offset, by a binary search. Its next five steps look at some of 31 places,
// which are asked for at once. All lanes of a warp.
__device__ __forceinline__ u64 holder_of(const segments &s, i64 target)
{
    const u32 lane = threadIdx.x % 32;
    u64 found = 0;
#pragma unroll 1
    for (int shift = first_shift(s.count); shift >= 0; shift -= 5) {
        const u64 at = found + ((u64)(lane + 1) << shift);
        const u32 passed = __ballot_sync(ALL, lane < 31 && at < s.count && offset_at(s, s.begin, at) <= target);
        u32 part = 0;
#pragma unroll
        for (u32 step = 16; step > 0; step /= 2)
            if (passed >> (part + step - 1) & 1) part += step;
        found += (u64)part << shift;
    }
    return found;
}

// Whether segment i is a giant: helpers take it, and its owner does not. It is one only if the search leads to it from
// each of its elements, as it does where offsets do not decrease. Then it leads to one before from those before them,
// and to one behind from those behind. So all whose ranges have some find it, and no two giants overlap. All lanes of a
// warp: a lane looks at a step of the search.
__device__ __noinline__ bool is_giant(segments s, u64 i, u64 offset, u64 count)
{
    if (count <= LONG || !are_shared(s)) return false;
    const raw_offset first = load_offset(s, s.begin, 0), last = load_offset(s, s.begin, s.count);
    const i64 low = (i64)offset, high = low + (i64)count;
    const u32 step = threadIdx.x % 32;
    const u32 place = ((u32)i >> step | 1) << step;
    bool is_right = true;
    if (place < s.count) {
        const i64 its = offset_at(s, s.begin, place);
        is_right = i >> step & 1 ? its <= low : its >= high;
    }
    const span all = span_of(s, first, last);
    is_right &= is_long(s, all, count) && low >= all.from && (u64)high - (u64)all.from <= all.elements;
    return __all_sync(ALL, is_right);
}

// A helper's share of a giant: of segment `number`, of `whole` elements, those at `from`, which begin with that of index
// `origin`. It has elements in the ranges `first` to `last`.
struct share {
    const element *from;
    u64 number, whole, count, origin;
    u32 first, last;
};

// What a helper knows.
struct help_memory {
    span all;
    u64 each;  // elements of a range
    u64 ends[2];  // the segments in which its range begins and ends
    share now[WARPS], large[LARGE];
    accumulator sum[LARGE];  // of large shares
    u32 found, many, left[WARPS];
    unsigned short candidates[LOOKS * BLOCK];  // looks that may have met giants
};

// A range's share of segment i; no elements where that is no giant.
__device__ __forceinline__ share share_of(const element *input, const segments &s, const help_memory &mem, u64 i)
{
    const segment one = segment_of(s, i);
    const u64 begin = one.offset - (u64)mem.all.from, end = begin + one.count;
    const u64 from = blockIdx.x * mem.each, to = from + mem.each;
    const u64 low = begin > from ? begin : from, high = end < to ? end : to;
    share its = {elements_of(s, input, i, one) + (low - begin), i, one.count, 0, low - begin, blockIdx.x, blockIdx.x};
    if (high <= low || !is_giant(s, i, one.offset, one.count)) return its;
    its.count = high - low;
    if (begin < from) its.first = (u32)divide(begin, mem.each);
    if (end > to) its.last = (u32)divide(end - 1, mem.each);
    return its;
}

// Of a range: in one slot what it has of the giant that comes from the one before, in the other what it has of the
// giant that goes on into the next.
__device__ __forceinline__ accumulator *part_of(void *scratch, u32 range, bool begins)
{
    return (accumulator *)((char *)scratch + @{scratch.slots_offset}) + 2 * range + begins;
}

// What a thread has of elements side by side that as many as `wide` take@{indexed and ", of which the first has the index `origin`" or ""}.
__device__ __noinline__ accumulator reduce_share(const element *from, u64 count@{indexed and ", u64 origin" or ""}, u32 rank, u32 wide@{given.parameter})
{
    return reduce_run<HELP_LOADS@{two_tiles and ", true" or ""}>(from, count@{indexed and ", origin" or ""}, rank, wide@{given.argument});
}

// The same of all threads of a block, of which thread 0 has the combination.
__device__ __noinline__ accumulator reduce_by_block(const element *from, u64 count@{indexed and ", u64 origin" or ""}@{given.parameter})
{
    return reduce_block(reduce_share(from, count@{indexed and ", origin" or ""}, threadIdx.x, BLOCK@{given.argument})@{given.argument});
}

// One thread leaves what a share was combined to. Whether all others of that giant have been left.
__device__ __forceinline__ bool leave_part(const share &its, accumulator a, void *scratch)
{
    u32 *const counter = (u32 *)((char *)scratch + @{scratch.words_offset} + (u64)its.first * @{scratch.words_bytes});
    *part_of(scratch, blockIdx.x, its.first == blockIdx.x) = a;
    __threadfence();
    const bool complete = atomicInc(counter, its.last - its.first) == its.last - its.first;
    __threadfence();
    return complete;
}

// A warp whose lane 0 has what a share was combined to: leaves that, and writes the result of a giant that is complete
// so. Nobody else waits for it.
__device__ __noinline__ void leave_share(const share &its, accumulator a, void *scratch, @{given.output})
{
    const u32 lane = threadIdx.x % 32;
    if (its.first != its.last) {
        if (!__any_sync(ALL, lane == 0 && leave_part(its, a, scratch))) return;
        __syncwarp();
        a = @{op.identity};
#pragma unroll 1
        for (u32 first = its.first; first <= its.last; first += 32 * PARTS) {
            accumulator parts[PARTS];
#pragma unroll
            for (u32 k = 0; k < PARTS; k++) {
                const u32 range = first + 32 * k + lane;
                const accumulator *part = part_of(scratch, range, range == its.first);
                parts[k] = @{op.identity};
                if (range <= its.last) parts[k] = @{acc.reload("part")};
            }
#pragma unroll
            for (u32 k = 0; k < PARTS; k++) a = combine(a, parts[k]@{given.argument});
        }
        a = reduce_warp(a@{given.argument});
    }
    if (lane == 0) finish(output, its.number, a, its.whole@{given.argument});
}

// A thread's share of PER_THREAD * BLOCK looks at the segments from `begin` up to `end`: whether some are long. A look is at
// `wide` segments, a power of two: the search leads to a giant by the first and the last offset of such a bunch, so that no
// bunch is shorter than a giant in it.
template <u32 PER_THREAD>
__device__ __forceinline__ bool has_long(const segments &s, const span &all, u64 begin, u64 end, u64 wide)
{
    raw_offset low[PER_THREAD], high[PER_THREAD];
#pragma unroll
    for (u32 k = 0; k < PER_THREAD; k++) {
        const u64 i = begin + wide * (k * BLOCK + threadIdx.x);
        low[k] = load_offset(s, s.begin, i < end ? i : end);
        high[k] = load_offset(s, s.begin, i + wide < end ? i + wide : end);
    }
    bool has = false;
#pragma unroll
    for (u32 k = 0; k < PER_THREAD; k++) {
        const i64 from = value_of(s, low[k]), to = value_of(s, high[k]);
        has |= to > from && is_long(s, all, (u64)to - (u64)from);
    }
    return has;
}

// All threads of a block that helps: whether a look at a small table shows that it has no giant. Nothing is waited for before
// that, so all are taken to be one element: any of more than LONG is long then.
__device__ __forceinline__ bool table_has_none(const segments &s)
{
    constexpr u32 MANY = BLOCK * TABLE_LOOKS;
    constexpr span LEAST = {0, 1};
    if (s.count > 8 * MANY) return false;
    const u32 wide = 1 << (32 - __clz(((u32)s.count - 1) / MANY));
    return !__syncthreads_or(has_long<TABLE_LOOKS>(s, LEAST, 0, s.count, wide));
}

// All threads of a block that helps: whether a look at the segments about where its range would be, if all were of one
// length, shows that the range has nothing of a giant. It does if none of these is long, and the search leads to them both
// from the range's first element, the first warp's `target`, and from its last one, the second warp's: then it leads to
// them from each element between, and so to every giant there. Not where ranges have too many segments for that.
__device__ __forceinline__ bool range_has_none(const segments &s, const span &all, u64 middle, i64 target)
{
    constexpr u32 WINDOW = BLOCK * WINDOW_LOOKS;
    if (s.count > WINDOW / 4 * (u64)duties_of(s.count).helpers) return false;
    // 24 bits suffice: it is off by a part of a segment at most.
    const u64 guess = (u64)(__fdividef((float)middle, (float)all.elements) * (float)s.count);
    const u64 begin = guess > WINDOW / 2 ? guess - WINDOW / 2 : 0;
    const u64 end = begin + WINDOW < s.count ? begin + WINDOW : s.count;
    // A search leads to `bound` or behind it if and only if what its steps find on the way to `bound`, a lane each, is no less
    // as a number.
    const u32 warp = threadIdx.x / 32, step = threadIdx.x % 32;
    const u32 bound = (u32)(warp == 0 ? begin : end), place = (bound >> step | 1) << step;
    const raw_offset its = load_offset(s, s.begin, place < s.count ? place : 0);
    const bool has = has_long<WINDOW_LOOKS>(s, all, begin, end, 1);
    const u32 found = __ballot_sync(ALL, place < s.count && value_of(s, its) <= target);
    return __syncthreads_and(!has && (warp == 0 ? found >= begin : warp > 1 || found < end));
}

// All threads of a block that helps: where it looks. Whether there may be anything.
__device__ __forceinline__ bool begin_help(help_memory &mem, const segments &s)
{
    if (!are_shared(s) || blockIdx.x >= RANGES_MAX || table_has_none(s)) return false;
    const u32 warp = threadIdx.x / 32, helpers = duties_of(s.count).helpers;
    const u32 many = helpers < RANGES_MAX ? helpers : RANGES_MAX;
    const raw_offset first = load_offset(s, s.begin, 0), last = load_offset(s, s.begin, s.count);
    const span all = span_of(s, first, last);
    const u64 least = divide(all.elements + many - 1, many), each = (least + 32 * VEC - 1) / (32 * VEC) * (32 * VEC);
    const u64 from = blockIdx.x * each, to = from + each < all.elements ? from + each : all.elements;
    if (from >= all.elements) return false;
    const i64 target = all.from + (i64)(warp == 0 ? from : to - 1);
    if (range_has_none(s, all, (from + to) / 2, target)) return false;
    if (warp < 2) {
        const u64 i = holder_of(s, target);
        if (threadIdx.x % 32 == 0) mem.ends[warp] = i;
    }
    if (threadIdx.x == 0) {
        mem.all = all;
        mem.each = each;
    }
    __syncthreads();
    return true;
}

// All threads of a block that helps: looks at segments from `base` on, and none behind `last`, for what may be giants.
__device__ __forceinline__ void look(help_memory &mem, const segments &s, u64 base, u32 wide, u64 last)
{
    u64 elements[LOOKS] = {};
#pragma unroll
    for (u32 k = 0; k < LOOKS; k++) {
        const u64 i = base + wide * (k * BLOCK + threadIdx.x);
        if (i <= last) elements[k] = elements_between(s, i, i + wide);
    }
#pragma unroll
    for (u32 k = 0; k < LOOKS; k++)
        if (is_long(s, mem.all, elements[k]))
            mem.candidates[atomicAdd(&mem.found, 1)] = (unsigned short)(k * BLOCK + threadIdx.x);
}

// A warp of a block that helps: takes the shares of giants among `wide` segments from `first` on, but large ones, which it
// leaves to the block.
__device__ __forceinline__ void take_shares(help_memory &mem, const element *input, const segments &s, u64 first, u32 wide, u64 last,
                                            void *scratch, @{given.output})
{
    const u32 warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    {
        const u64 its = first + lane;
        const bool is_there = lane < wide && its <= last;
        const u32 longs = __ballot_sync(ALL, is_there && is_long(s, mem.all, elements_between(s, its, its + 1)));
        __syncwarp();
        if (lane == 0) mem.left[warp] = longs;
        __syncwarp();
    }
#pragma unroll 1
    while (mem.left[warp]) {
        const share part = share_of(input, s, mem, first + __ffs(mem.left[warp]) - 1);
        const bool is_large = part.count > mem.each / LARGE && part.count > WARP_SHARE;
        __syncwarp();
        if (lane == 0) {
            mem.left[warp] &= mem.left[warp] - 1;
            mem.now[warp] = part;
            if (is_large) mem.large[atomicAdd(&mem.many, 1)] = part;
        }
        __syncwarp();
        if (is_large || part.count == 0) continue;
        const share &now = mem.now[warp];
        const accumulator a = reduce_share(now.from, now.count@{indexed and ", now.origin" or ""}, lane, 32@{given.argument_of("values_in(s, given, mem.now[warp].number)")});
        leave_share(mem.now[warp], reduce_warp(a@{given.argument}), scratch, output@{given.argument});
    }
}

// All threads of a block that helps: its shares of the giants in its range.
__device__ __noinline__ void help(help_memory &mem, const element *input, segments s, void *scratch, @{given.output})
{
    if (!begin_help(mem, s)) return;
    const u32 warp = threadIdx.x / 32;
    const u64 first = mem.ends[0], last = mem.ends[1], n = last - first;
    // A look is at one segment, or, where there are many short ones, at a bunch of them.
    const u32 wide = n > 4 * BLOCK && mem.each / (LONG / (2 * BUNCH)) <= n ? BUNCH : 1;
#pragma unroll 1
    for (u64 base = first / wide * wide; base <= last; base += wide * (LOOKS * BLOCK)) {
        if (threadIdx.x == 0) mem.found = mem.many = 0;
        __syncthreads();
        look(mem, s, base, wide, last);
        __syncthreads();
#pragma unroll 1
        for (u32 k = warp; k < mem.found; k += WARPS)
            take_shares(mem, input, s, base + wide * mem.candidates[k], wide, last, scratch, output@{given.argument});
        __syncthreads();
#pragma unroll 1
        for (u32 k = 0; k < mem.many; k++) {
            const share &its = mem.large[k];
            const accumulator a = reduce_by_block(its.from, its.count@{indexed and ", its.origin" or ""}@{given.argument_of("values_in(s, given, its.number)")});
            if (threadIdx.x == 0) mem.sum[k] = a;
            __syncthreads();
        }
#pragma unroll 1
        for (u32 k = warp; k < mem.many; k += WARPS) leave_share(mem.large[k], @{acc.copy("mem.sum[k]")}, scratch, output@{given.argument});
        __syncthreads();
    }
}
