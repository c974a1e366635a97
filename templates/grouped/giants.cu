//@ -- Giants: segments that are too long for those that have them, a block or, in the family "tiled", a warp.
//@ -- One has more than `long` elements, and more than `times` average segments. Threads that help look for them at
//@ -- `looks` places at once.
// A launch has more blocks than take segments of their own: helpers. Where the offsets of a table are those of
// neighbours, the elements from the first offset up to the last are dealt to these in equal ranges, and each
// takes what giants have of its range: a warp of it a small share, the block a large one. It finds them by a search
// and the table alone, so that nobody waits. A giant that crosses an end of a range has parts in scratch, and whoever
// leaves the last one combines all, in their order.
//
// Helpers are functions that are called, lest those with segments of their own keep registers for them, or worse, store
// some to memory for each thread.
//@ local accumulators = math.min(scratch.all_words_bytes // scratch.words_bytes, scratch.all_slots_bytes // (2 * acc.bytes))
constexpr u32 RANGES_MAX = @{accumulators};  // that scratch has room for
static_assert(sizeof(accumulator) == @{acc.bytes}, "");

constexpr u64 LONG = @{long};  // a giant has more elements
//@ local registers = 65536 // (block * resident)
//@ local help_loads = registers >= 64 and math.max(unroll, 4) or unroll
constexpr u32 HELP_LOADS = @{help_loads};  // independent loads in flight of a thread that helps
// A share of a giant is large if it is more than such a part of its range, which has fewer of these, and more elements
// than a warp takes by some loads.
constexpr u32 LARGE = 16;
constexpr u64 WARP_SHARE = 4 * 32 * HELP_LOADS * VEC;
constexpr u32 LOOKS = @{looks};  // that a thread takes at once
constexpr u32 BUNCH = 32;  // segments from one place of the search's last step but one to the next
constexpr u64 LONGEST = (1 << 18) / sizeof(element);  // a segment of more is a giant in every table of neighbours

// Blocks that take segments of their own, and those in front of them, which help with giants.
struct duties {
    u64 owners;
    u32 helpers;
};

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

// Elements of all, and of a range; no ranges where `each` is 0.
struct ranges {
    i64 from;  // the offset of the first one
    u64 total, each, owners;
};

// Whether segment i ends where the next one begins, by the addresses of the tables.
__device__ __forceinline__ bool are_neighbours(const segments &s)
{
    if (s.arrays) return !s.end;
    return !s.end || s.end == s.begin + (s.wide ? 8 : 4);
}

__device__ __forceinline__ ranges ranges_of(const segments &s)
{
    const duties d = duties_of(s.count);
    const u32 many = d.helpers < RANGES_MAX ? d.helpers : RANGES_MAX;
    if (many == 0 || !are_neighbours(s)) return ranges{0, 0, 0, 0};
    const raw_offset begin = load_offset(s, s.begin, 0), end = load_offset(s, s.begin, s.count);
    const i64 low = value_of(s, begin), high = value_of(s, end);
    const u64 between = high > low ? (u64)high - (u64)low : 0, total = between >> 48 ? 0 : between;
    const u64 each = (total + many - 1) / many;
    return ranges{low, total, (each + 32 * VEC - 1) / (32 * VEC) * (32 * VEC), d.owners};
}

// Whether a segment of `count` elements is too long.
__device__ __forceinline__ bool is_long(const ranges &r, u64 count)
{
    if (r.each == 0 || count <= LONG) return false;
    return count > LONGEST || (double)count * (double)(SHARE * r.owners) > (double)r.total * @{times};
}

// Elements from segment i up to segment `end`, or to the last one.
__device__ __forceinline__ u64 elements_between(const segments &s, u64 i, u64 end)
{
    const i64 low = offset_at(s, s.begin, i), high = offset_at(s, s.begin, end < s.count ? end : s.count);
    return high > low ? (u64)high - (u64)low : 0;
}

// The last segment that begins at or before that offset, by a search: 32 parts at a time. All lanes of a warp.
__device__ __forceinline__ u64 holder_of(const segments &s, i64 target)
{
    const u32 lane = threadIdx.x % 32;
    u64 found = 0;
#pragma unroll 1
    for (int shift = first_shift(s.count); shift >= 0; shift -= 5) {
        const u64 at = found + ((u64)(lane + 1) << shift);
        const bool passes = lane < 31 && at < s.count && offset_at(s, s.begin, at) <= target;
        found += (u64)(__ffs(~__ballot_sync(ALL, passes)) - 1) << shift;
    }
    return found;
}

// The offsets that four steps of the search compare before it comes to a bunch: a lane has one of each step.
struct way {
    raw_offset offset[4];
    bool is_there[4], is_before[4];
};

// The steps that tell parts of 1 << first segments apart, and of 32, 32^2 and 32^3 times as many.
__device__ __forceinline__ way load_way(const segments &s, u64 bunch, int first)
{
    const u32 lane = threadIdx.x % 32;
    way w;
#pragma unroll
    for (int k = 0; k < 4; k++) {
        const int shift = first + 5 * k;
        const u64 node = bunch >> (shift - 5), at = (node / 32 * 32 + lane + 1) << shift;
        const u32 part = (u32)node % 32;
        w.is_before[k] = lane < part;
        w.is_there[k] = s.count >> shift && lane < 31 && lane <= part && at < s.count;
        if (w.is_there[k]) w.offset[k] = load_offset(s, s.begin, at);
    }
    return w;
}

// Whether these steps lead to the bunch from all offsets from low up to high, as far as the lane knows.
__device__ __forceinline__ bool leads(const segments &s, const way &w, i64 low, i64 high)
{
    bool is_right = true;
#pragma unroll
    for (int k = 0; k < 4; k++)
        if (w.is_there[k]) is_right &= w.is_before[k] ? value_of(s, w.offset[k]) <= low : value_of(s, w.offset[k]) >= high;
    return is_right;
}

// The giants among a bunch's segments from `first` to `last`, a bit each: helpers take these, and their owners do not. The
// search leads to a giant from each of its elements, as it does to all segments where offsets do not decrease: then it
// leads to one before from those before them, and to one behind from those behind. So all whose ranges have some find
// it, and no two giants overlap. All lanes of a warp.
__device__ __forceinline__ u32 giants_of(const segments &s, const ranges &r, u64 bunch, u64 first, u64 last)
{
    const u32 lane = threadIdx.x % 32;
    const u64 its = bunch * BUNCH + lane, place = its < s.count ? its : s.count;
    // All that is looked at is asked for at once.
    const raw_offset begin = load_offset(s, s.begin, place), end = load_offset(s, s.begin, place < s.count ? place + 1 : place);
    const way w = load_way(s, bunch, 5);
    const i64 low = value_of(s, begin), high = value_of(s, end);
    const u64 count = high > low ? (u64)high - (u64)low : 0;
    u32 giants = 0;
#pragma unroll 1
    for (u32 left = __ballot_sync(ALL, its >= first && its <= last && is_long(r, count)); left; left &= left - 1) {
        const u32 one = __ffs(left) - 1;
        const i64 from = __shfl_sync(ALL, low, one), to = __shfl_sync(ALL, high, one);
        bool is_right = from >= r.from && (u64)to - (u64)r.from <= r.total && leads(s, w, from, to);
        if (lane > 0 && lane <= one) is_right &= low <= from;
#pragma unroll 1
        for (int shift = 25; shift < 64 && s.count >> shift; shift += 20) is_right &= leads(s, load_way(s, bunch, shift), from, to);
        if (__all_sync(ALL, is_right)) giants |= 1u << one;
    }
    return giants;
}

// Whether segment i, of `count` elements, is one. All lanes of a warp.
__device__ __noinline__ bool is_giant(segments s, u64 i, u64 count)
{
    if (count <= LONG) return false;
    const ranges r = ranges_of(s);
    return is_long(r, count) && giants_of(s, r, i / BUNCH, i, i);
}

// A helper's share of a giant: of segment `number`, of `whole` elements, those at `from`, which begin with that of index
// `origin`. It has elements in the ranges `first` to `last`.
struct share {
    const element *from;
    u64 number, whole, count, origin;
    u32 first, last;
};

__device__ __forceinline__ share share_of(const element *input, const segments &s, const ranges &r, u64 i)
{
    const segment one = segment_of(s, i);
    const u64 begin = one.offset - (u64)r.from, end = begin + one.count;
    const u64 from = blockIdx.x * r.each, to = from + r.each;
    const u64 low = begin > from ? begin : from, high = end < to ? end : to;
    const u64 count = high > low ? high - low : 0;
    return share{elements_of(s, input, i, one) + (low - begin), i, one.count, count, low - begin, (u32)(begin / r.each),
                 (u32)((end - 1) / r.each)};
}

// Of a range: in one slot what it has of the giant that comes from the one before, in the other what it has of the
// giant that goes on into the next.
__device__ __forceinline__ accumulator *part_of(void *scratch, u32 range, bool begins)
{
    return (accumulator *)((char *)scratch + @{scratch.slots_offset}) + 2 * range + begins;
}

// One thread leaves a share of a giant. Whether all others have been left.
__device__ __forceinline__ bool leave_part(const share &its, accumulator a, void *scratch)
{
    u32 *const counter = (u32 *)((char *)scratch + @{scratch.words_offset} + (u64)its.first * @{scratch.words_bytes});
    *part_of(scratch, blockIdx.x, its.first == blockIdx.x) = a;
    __threadfence();
    const bool complete = atomicInc(counter, its.last - its.first) == its.last - its.first;
    __threadfence();
    return complete;
}

// A share of a giant, by a warp or by the block, and where that was the last one, the result.
template <bool BY_WARP>
__device__ __forceinline__ void reduce_share(const share &its, void *scratch, @{result.c} *output@{given.parameter})
{
    const u32 rank = BY_WARP ? threadIdx.x % 32 : threadIdx.x, wide = BY_WARP ? 32 : BLOCK;
    accumulator a = reduce_run<HELP_LOADS>(its.from, its.count@{indexed and ", its.origin" or ""}, rank, wide@{given.argument});
    a = BY_WARP ? reduce_warp(a@{given.argument}) : reduce_block(a@{given.argument});
    bool complete = false;
    if (rank == 0) {
        const bool alone = its.first == its.last;
        complete = !alone && leave_part(its, a, scratch);
        if (alone) finish(output, its.number, a, its.whole@{given.argument});
    }
    if (BY_WARP ? !__any_sync(ALL, complete) : !__syncthreads_or(complete)) return;
    __syncwarp();
    a = @{op.identity};
    for (u32 range = its.first + rank; range <= its.last; range += wide) {
        const accumulator *part = part_of(scratch, range, range == its.first);
        a = combine(a, @{acc.reload("part")}@{given.argument});
    }
    a = BY_WARP ? reduce_warp(a@{given.argument}) : reduce_block(a@{given.argument});
    if (rank == 0) finish(output, its.number, a, its.whole@{given.argument});
}

// What a helper knows.
struct help_memory {
    ranges r;
    u64 ends[2];  // the segments in which its range begins and ends
    share now[WARPS], large[LARGE];
    u32 found, many, left[WARPS];
    unsigned short candidates[LOOKS * BLOCK];  // looks that may have met giants
};

// All threads of a block that helps: where it looks. Whether there is anything.
__device__ __forceinline__ bool begin_help(help_memory &mem, const segments &s)
{
    const u32 warp = threadIdx.x / 32;
    const ranges r = ranges_of(s);
    const u64 from = blockIdx.x * r.each, to = from + r.each < r.total ? from + r.each : r.total;
    if (r.each == 0 || blockIdx.x >= RANGES_MAX || from >= r.total) return false;
    if (warp < 2) {
        const u64 i = holder_of(s, r.from + (i64)(warp == 0 ? from : to - 1));
        if (threadIdx.x % 32 == 0) mem.ends[warp] = i;
    }
    if (threadIdx.x == 0) mem.r = r;
    __syncthreads();
    return true;
}

// All threads of a block that helps: its shares of the giants in its range.
__device__ __noinline__ void help(help_memory &mem, const element *input, segments s, void *scratch, @{result.c} *output@{given.parameter})
{
    if (!begin_help(mem, s)) return;
    const u32 warp = threadIdx.x / 32;
    const u64 first_one = mem.ends[0], last_one = mem.ends[1], n = last_one - first_one;
    // A look is at one segment, or, where there are many short ones, at a bunch of them. The search leads to a giant by
    // the first and the last offset of its bunch, so that no bunch is shorter than a giant in it.
    const u32 wide = n > 4 * BLOCK && mem.r.each / (LONG / (2 * BUNCH)) <= n ? BUNCH : 1;
#pragma unroll 1
    for (u64 base = first_one / wide * wide; base <= last_one; base += wide * (LOOKS * BLOCK)) {
        if (threadIdx.x == 0) mem.found = mem.many = 0;
        __syncthreads();
        {
            u64 elements[LOOKS] = {};
#pragma unroll
            for (u32 k = 0; k < LOOKS; k++) {
                const u64 i = base + wide * (k * BLOCK + threadIdx.x);
                if (i <= last_one) elements[k] = elements_between(s, i, i + wide);
            }
#pragma unroll
            for (u32 k = 0; k < LOOKS; k++)
                if (is_long(mem.r, elements[k]))
                    mem.candidates[atomicAdd(&mem.found, 1)] = (unsigned short)(k * BLOCK + threadIdx.x);
        }
        __syncthreads();
        // A warp takes the shares of those that it finds, but large ones, which all take together.
#pragma unroll 1
        for (u32 k = warp; k < mem.found; k += WARPS) {
            const u64 first = base + wide * mem.candidates[k], bunch = first / BUNCH, last = first + wide - 1;
            {
                const u32 giants = giants_of(s, mem.r, bunch, first, last < last_one ? last : last_one);
                __syncwarp();
                if (threadIdx.x % 32 == 0) mem.left[warp] = giants;
                __syncwarp();
            }
#pragma unroll 1
            while (mem.left[warp]) {
                const share part = share_of(input, s, mem.r, bunch * BUNCH + __ffs(mem.left[warp]) - 1);
                const bool is_large = part.count > mem.r.each / LARGE && part.count > WARP_SHARE;
                __syncwarp();
                if (threadIdx.x % 32 == 0) {
                    mem.left[warp] &= mem.left[warp] - 1;
                    mem.now[warp] = part;
                    if (is_large) mem.large[atomicAdd(&mem.many, 1)] = part;
                }
                __syncwarp();
                if (!is_large && part.count > 0) reduce_share<true>(mem.now[warp], scratch, output@{given.argument});
            }
        }
        __syncthreads();
#pragma unroll 1
        for (u32 k = 0; k < mem.many; k++) {
            reduce_share<false>(mem.large[k], scratch, output@{given.argument});
            __syncthreads();
        }
        __syncthreads();
    }
}
