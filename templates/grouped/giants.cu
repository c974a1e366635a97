//@ -- Giants: segments that are too long for one block.
// A launch has more blocks than take segments of their own: helpers. Where the offsets of a table are those of
// neighbours, the elements from the first offset up to the last are dealt to these in equal ranges, and each
// takes what giants have of its range. It finds them by a search and the table alone, so that nobody waits. A giant
// that crosses an end of a range has parts in scratch, and the block that leaves the last one combines all, in their order.
//@ local accumulators = math.min(scratch.all_words_bytes // scratch.words_bytes, scratch.all_slots_bytes // (2 * acc.bytes))
constexpr u32 RANGES_MAX = @{accumulators};  // that scratch has room for
static_assert(sizeof(accumulator) == @{acc.bytes}, "");

constexpr u64 TILE = BLOCK * UNROLL * VEC;  // elements that a block loads at once
constexpr u64 LONG = 4 * TILE < OWN ? OWN : 4 * TILE;  // a giant has more
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

// The number of segments, anew: what follows from it is computed where it is used, lest it take registers, or worse,
// memory of each thread, where blocks do without it.
__device__ __forceinline__ u64 count_anew(const segments &s)
{
    u64 count = s.count;
    asm volatile("" : "+l"(count));
    return count;
}

// Likewise.
__device__ __forceinline__ u32 thread_anew()
{
    u32 thread;
    asm volatile("mov.u32 %0, %%tid.x;" : "=r"(thread));
    return thread;
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
    const u64 count = count_anew(s);
    const duties d = duties_of(count);
    const u32 helpers = d.helpers < RANGES_MAX ? d.helpers : RANGES_MAX;
    if (helpers == 0 || !are_neighbours(s)) return ranges{0, 0, 0, 0};
    const raw_offset begin = load_offset(s, s.begin, 0), end = load_offset(s, s.begin, count);
    const i64 low = value_of(s, begin), high = value_of(s, end);
    const u64 between = high > low ? (u64)high - (u64)low : 0, total = between >> 48 ? 0 : between;
    const u64 each = (total + helpers - 1) / helpers;
    return ranges{low, total, (each + 32 * VEC - 1) / (32 * VEC) * (32 * VEC), d.owners};
}

// Whether a segment of `count` elements is too long for a block: it has more than an average block and three average
// segments together.
__device__ __forceinline__ bool is_long(const ranges &r, u64 count)
{
    if (r.each == 0 || count <= LONG) return false;
    return count > LONGEST || (double)count * (double)(SHARE * r.owners) > (double)r.total * (SHARE + 3);
}

// Elements from segment i up to segment `end`, or to the last one.
__device__ __forceinline__ u64 elements_between(const segments &s, u64 i, u64 end)
{
    const u64 count = count_anew(s);
    const i64 low = offset_at(s, s.begin, i), high = offset_at(s, s.begin, end < count ? end : count);
    return high > low ? (u64)high - (u64)low : 0;
}

// The last segment that begins at or before that offset, by a search: 32 parts at a time. All lanes of a warp.
__device__ __forceinline__ u64 holder_of(const segments &s, i64 target)
{
    const u32 lane = thread_anew() % 32;
    const u64 count = count_anew(s);
    u64 found = 0;
#pragma unroll 1
    for (int shift = first_shift(count); shift >= 0; shift -= 5) {
        const u64 at = found + ((u64)(lane + 1) << shift);
        const bool passes = lane < 31 && at < count && offset_at(s, s.begin, at) <= target;
        found += (u64)(__ffs(~__ballot_sync(ALL, passes)) - 1) << shift;
    }
    return found;
}

// Whether the search leads to segment i from each of its elements, as it does where offsets do not decrease: then it
// leads to one before from those before them, and to one behind from those behind. So all whose ranges have some find it, and no
// two giants overlap. All lanes of a warp.
__device__ __forceinline__ bool is_found(const segments &s, const ranges &r, u64 i, i64 low, i64 high)
{
    const u32 lane = thread_anew() % 32;
    const u64 count = count_anew(s);
    bool is_right = low >= r.from && (u64)high - (u64)r.from <= r.total;
#pragma unroll 1
    for (int shift = first_shift(count); shift >= 0; shift -= 5) {
        const u64 base = i >> shift >> 5 << 5 << shift, at = base + ((u64)(lane + 1) << shift);
        const u32 part = (u32)(i >> shift) & 31;
        if (lane < 31 && lane <= part && at < count) {
            const i64 offset = offset_at(s, s.begin, at);
            is_right &= lane < part ? offset <= low : offset >= high;
        }
    }
    return __all_sync(ALL, is_right);
}

// Whether segment i, of `count` elements, is a giant: helpers take it, and its owner does not. All lanes of a warp.
__device__ __forceinline__ bool is_giant(const segments &s, u64 i, u64 count)
{
    if (count <= LONG) return false;
    const ranges r = ranges_of(s);
    if (!is_long(r, count)) return false;
    return is_found(s, r, i, offset_at(s, s.begin, i), offset_at(s, s.begin, i + 1));
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
    const u64 count = is_found(s, r, i, (i64)one.offset, (i64)(one.offset + one.count)) && high > low ? high - low : 0;
    return share{elements_of(s, input, i, one) + (low - begin), i, one.count, count, low - begin, (u32)(begin / r.each),
                 (u32)((end - 1) / r.each)};
}

// Of a range: in one slot what it has of the giant that comes from the one before, in the other what it has of the
// giant that goes on into the next.
__device__ __forceinline__ accumulator *part_of(void *scratch, u32 range, bool begins)
{
    return (accumulator *)((char *)scratch + @{scratch.slots_offset}) + 2 * range + begins;
}

// One thread leaves what this block has of a giant. Whether all others have left theirs.
__device__ __forceinline__ bool leave_part(const share &its, accumulator a, void *scratch)
{
    u32 *const counter = (u32 *)((char *)scratch + @{scratch.words_offset} + (u64)its.first * @{scratch.words_bytes});
    *part_of(scratch, blockIdx.x, its.first == blockIdx.x) = a;
    __threadfence();
    const bool complete = atomicInc(counter, its.last - its.first) == its.last - its.first;
    __threadfence();
    return complete;
}

// All threads of the block: its share of a giant, and where that was the last one, the result.
__device__ __forceinline__ void reduce_share(const share &its, void *scratch, @{result.c} *output@{given.parameter})
{
    __shared__ bool complete;
    const u32 thread = thread_anew();
    const run<UNROLL> r(its.from, its.count, thread, BLOCK);
    // Each has a value, lest registers be kept for these from the beginning of the kernel.
    vector v[UNROLL] = {};
    r.load_tile(0, v@{given.argument});
    accumulator a = reduce_loaded<UNROLL>(r, v, its.count@{indexed and ", its.origin" or ""}, [] {}@{given.argument});
    a = reduce_block(a@{given.argument});
    if (thread == 0) {
        const bool alone = its.first == its.last;
        complete = !alone && leave_part(its, a, scratch);
        if (alone) finish(output, its.number, a, its.whole@{given.argument});
    }
    __syncthreads();
    if (!complete) return;
    a = @{op.identity};
    for (u32 range = its.first + thread; range <= its.last; range += BLOCK) {
        const accumulator *part = part_of(scratch, range, range == its.first);
        a = combine(a, @{acc.reload("part")}@{given.argument});
    }
    a = reduce_block(a@{given.argument});
    if (thread == 0) finish(output, its.number, a, its.whole@{given.argument});
}

// All threads of a block that helps: its shares of the giants in its range.
__device__ __forceinline__ void help(const element *input, const segments &s, void *scratch, @{result.c} *output@{given.parameter})
{
    __shared__ u64 ends[2];
    __shared__ unsigned short bunches[BLOCK];  // that may have giants, of those from base on
    __shared__ u32 found;
    __shared__ share now;
    const u32 thread = thread_anew(), warp = thread / 32;
    const ranges r = ranges_of(s);
    const u64 from = blockIdx.x * r.each, to = from + r.each < r.total ? from + r.each : r.total;
    if (r.each == 0 || blockIdx.x >= RANGES_MAX || from >= r.total) return;
    if (warp < 2) {
        const u64 i = holder_of(s, r.from + (i64)(warp == 0 ? from : to - 1));
        if (thread % 32 == 0) ends[warp] = i;
    }
    __syncthreads();
    // Each thread looks at one segment, or, where there are many short ones, at a bunch of them. The search leads to a
    // giant by the first and the last offset of its bunch, so that no bunch is shorter than a giant in it.
    const u32 wide = ends[1] - ends[0] > 4 * BLOCK && r.total / (LONG / (4 * BUNCH)) < count_anew(s) ? BUNCH : 1;
#pragma unroll 1
    for (u64 base = ends[0] / wide * wide; base <= ends[1]; base += wide * BLOCK) {
        const u64 i = base + wide * thread;
        if (thread == 0) found = 0;
        __syncthreads();
        if (i <= ends[1] && is_long(r, elements_between(s, i, i + wide))) bunches[atomicAdd(&found, 1)] = (unsigned short)thread;
        __syncthreads();
#pragma unroll 1
        for (u32 k = 0; k < found; k++) {
            const u64 first = base + wide * bunches[k], its = first + thread % 32;
            u32 giants = __ballot_sync(ALL, its < first + wide && its <= ends[1] && is_long(r, elements_between(s, its, its + 1)));
#pragma unroll 1
            for (; giants; giants &= giants - 1) {
                if (warp == 0) {
                    const share part = share_of(input, s, r, first + __ffs(giants) - 1);
                    if (thread == 0) now = part;
                }
                __syncthreads();
                if (now.count > 0) reduce_share(now, scratch, output@{given.argument});
                __syncthreads();
            }
        }
        __syncthreads();
    }
}
