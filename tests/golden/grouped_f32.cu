// redtune: the sum of f32 into f32, by the template "grouped" with
// block=128,lanes=32,segments=1,vec=4,unroll=8,resident=8,load=no_allocate
//
// output[i] = x[0] + ... + x[n-1]
// for each segment i, n = its elements, wherever they are. Start it with 128 threads per block, on
// a block for every 4 segments and some more, which share giants; any number is right.
//
// A group of 32 threads takes a segment.
// Groups come and go with their blocks, so that nothing is dealt and nothing is searched: a thread needs
// registers for little more than its loads. A segment that is long for a group is taken by its block, when
// the others of the block are done, and a giant by blocks that do nothing else. How a segment is combined
// depends on the table and the grid alone.

typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;
typedef float element;  // in memory
typedef float value;  // in registers
typedef float accumulator;

constexpr u32 BLOCK = 128;  // threads per block
constexpr u32 WARPS = BLOCK / 32;
constexpr u32 GROUP = 32;  // threads per segment
constexpr u32 GROUPS = BLOCK / GROUP;
constexpr u32 EACH = 1;  // segments that a group takes at once
constexpr u32 SHARE = GROUPS * EACH;  // segments of a block
constexpr u32 VEC = 4;  // elements per load
constexpr u32 UNROLL = 8;  // independent loads in flight per thread
constexpr u32 LANES = 4;  // accumulators per thread
constexpr u64 LOAD_BYTES = VEC * 4;

// Loads of each thread, one after the other, that a group takes at most: one that is its block has to wait for nobody.
constexpr u64 OWN_TILES = 8;
constexpr u64 OWN = OWN_TILES * GROUP * UNROLL * VEC;  // elements

constexpr u32 ALL = 0xffffffff;  // lanes of a warp

static_assert(sizeof(element) == 4, "");
static_assert(LOAD_BYTES <= 16 && BLOCK % 32 == 0 && BLOCK % GROUP == 0, "");

// As model/launch.h has it.
struct segments {
    u64 begin, end;  // tables; end is 0 where a segment ends at the next one's begin; begin, at 0
    u64 count, wide;
    u64 arrays;  // table of where segments are, each in an array of its own; 0: in the input
};

static_assert(sizeof(segments) == 40, "");


struct segment {
    u64 offset, count;  // of its first element; of elements
    bool backwards;  // it ends before it begins, and has none
};

__device__ __forceinline__ i64 offset_at(const segments &s, u64 table, u64 i)
{
    return s.wide ? ((const i64 *)table)[i] : ((const int *)table)[i];
}

__device__ __forceinline__ segment segment_of(const segments &s, u64 i)
{
    const i64 begin = s.begin ? offset_at(s, s.begin, i) : 0;
    const i64 end = s.end ? offset_at(s, s.end, i) : offset_at(s, s.begin, i + 1);
    return segment{(u64)begin, end > begin ? (u64)(end - begin) : 0, end < begin};
}

// Whether the offsets must be looked at: those of arrays are made with them.
__device__ __forceinline__ bool are_doubtful(const segments &s)
{
    return !s.end && !s.arrays;
}

__device__ __forceinline__ const element *elements_of(const segments &s, const element *input, u64 i,
                                                      const segment &one)
{
    // Arrays without ends have offsets that say how many elements come before them.
    if (!s.arrays) return input + one.offset;
    return ((const element *const *)s.arrays)[i] + (s.end ? one.offset : 0);
}

// An offset as it is loaded. All are asked for before the first is looked at: a conversion of one would wait
// for it, and the next be asked for a round trip later.
struct raw_offset {
    u32 low, high;
};

__device__ __forceinline__ raw_offset load_offset(const segments &s, u64 table, u64 i)
{
    const u32 *const at = (const u32 *)table + (i << s.wide);
    return raw_offset{at[0], s.wide ? at[1] : 0};
}

__device__ __forceinline__ i64 value_of(const segments &s, const raw_offset &offset)
{
    return s.wide ? (i64)((u64)offset.high << 32 | offset.low) : (i64)(int)offset.low;
}

struct vector {
    float word[4];
};

__device__ __forceinline__ vector load_vector(u64 from)
{
    vector v;
    asm volatile("ld.global.nc.L1::no_allocate.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(v.word[0]), "=f"(v.word[1]), "=f"(v.word[2]), "=f"(v.word[3])
                 : "l"(from));
    return v;
}

__device__ __forceinline__ value load_element(const element *from)
{
    float word[1];
    asm volatile("ld.global.nc.L1::no_allocate.f32 %0, [%1];"
                 : "=f"(word[0])
                 : "l"(from));
    return word[0];
}

__device__ __forceinline__ accumulator combine(accumulator a, accumulator b)
{
    return a + b;
}

__device__ __forceinline__ accumulator map(value x)
{
    return x;
}

__device__ __forceinline__ void take(accumulator (&part)[LANES], const vector &v)
{
    part[0] = combine(part[0], map(v.word[0]));
    part[1] = combine(part[1], map(v.word[1]));
    part[2] = combine(part[2], map(v.word[2]));
    part[3] = combine(part[3], map(v.word[3]));
}

// Lane 0 returns the combination of the warp's values.
__device__ __forceinline__ accumulator reduce_warp(accumulator a)
{
    a = combine(a, __shfl_down_sync(0xffffffff, a, 16));
    a = combine(a, __shfl_down_sync(0xffffffff, a, 8));
    a = combine(a, __shfl_down_sync(0xffffffff, a, 4));
    a = combine(a, __shfl_down_sync(0xffffffff, a, 2));
    a = combine(a, __shfl_down_sync(0xffffffff, a, 1));
    return a;
}

// Thread 0 returns the combination of the block's values. All threads call it; between two calls
// stands a barrier.
__device__ __forceinline__ accumulator reduce_block(accumulator a)
{
    __shared__ accumulator warp_value[4];
    const u32 warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    a = reduce_warp(a);
    if (lane == 0) warp_value[warp] = a;
    __syncthreads();
    if (warp == 0) {
        a = lane < 4 ? warp_value[lane] : 0.0f;
        a = combine(a, __shfl_down_sync(0xffffffff, a, 2));
        a = combine(a, __shfl_down_sync(0xffffffff, a, 1));
    }
    return a;
}

__device__ __forceinline__ void finish(float *output, u64 segment, accumulator a, u64 count)
{
    output[segment] = a;
}

// Loads of `count` elements side by side, by `wide` lanes: aligned ones, from body up to `stop` bytes behind it. A lane
// has N of them in flight, a tile's. SIZE holds the bytes of any run that is taken so. APART: lanes of a warp have runs of
// their own, so that most of them end at different loads.
template <u32 N, class SIZE = u64, bool APART = false> struct run {
    u64 begin, body;
    SIZE stop;
    u32 rank, wide;

    run() = default;
    __device__ __forceinline__ run(const element *input, SIZE count, u32 lane, u32 lanes)
        : begin((u64)input), body((begin + LOAD_BYTES - 1) / LOAD_BYTES * LOAD_BYTES), rank(lane), wide(lanes)
    {
        // Without elements body may be any address, and nothing is loaded.
        const SIZE bytes = count * (SIZE)sizeof(element), before = (u32)(body - begin);
        stop = bytes > before ? (bytes - before) / (SIZE)LOAD_BYTES * (SIZE)LOAD_BYTES : 0;
    }
    __device__ __forceinline__ u32 tile_bytes() const { return wide * (N * (u32)LOAD_BYTES); }
    // The place of this lane's load i in a tile. Places and tiles count bytes from body on.
    __device__ __forceinline__ SIZE place_of(SIZE tile, u32 i) const
    {
        return tile + (rank + i * wide) * (u32)LOAD_BYTES;
    }
    // All loads of a tile before the first use; those from stop on are left out.
    __device__ __forceinline__ void load_tile(SIZE tile, vector (&v)[N]) const
    {
        if (!APART && tile + tile_bytes() <= stop) {
#pragma unroll
            for (u32 i = 0; i < N; i++) v[i] = load_vector(body + place_of(tile, i));
            return;
        }
#pragma unroll
        for (u32 i = 0; i < N; i++)
            if (place_of(tile, i) < stop) v[i] = load_vector(body + place_of(tile, i));
    }
};

// Takes a run of `count` elements, whose first tile v has: this lane's share.
// Calls `then` as soon as v is free.
template <u32 UNROLL, class SIZE, bool APART, class THEN>
__device__ __forceinline__ accumulator reduce_loaded(const run<UNROLL, SIZE, APART> r, vector (&v)[UNROLL],
                                                     SIZE count, THEN then)
{
    const u32 rank = r.rank, wide = r.wide, TILE_BYTES = r.tile_bytes();
    const SIZE stop = r.stop;
    const element *const input = (const element *)r.begin;
    const auto place_of = [&](SIZE tile, u32 i) { return r.place_of(tile, i); };
    SIZE tile = 0;

    accumulator part[LANES];
#pragma unroll
    for (u32 j = 0; j < LANES; j++) part[j] = 0.0f;
    accumulator edge = 0.0f;
    // Fewer than VEC elements stand before body and behind stop: all, if nothing is between these.
    const u32 head = (u32)(r.body - r.begin) / (u32)sizeof(element);
    const SIZE between = stop / (SIZE)sizeof(element);
    // Each lane has one of them at most.
    const SIZE i = rank;
    if (i < count - between) {
        const SIZE at = i < head ? i : i + between;
        edge = combine(edge, map(load_element(input + at)));
    }

    while (tile < stop) {
        if (tile + TILE_BYTES <= stop) {
#pragma unroll
            for (u32 i = 0; i < UNROLL; i++) take(part, v[i]);
        } else {
#pragma unroll
            for (u32 i = 0; i < UNROLL; i++)
                if (place_of(tile, i) < stop) take(part, v[i]);
        }
        tile += TILE_BYTES;
        if (tile < stop) r.load_tile(tile, v);
    }
    then();
    part[0] = combine(part[0], part[2]);
    part[1] = combine(part[1], part[3]);
    part[0] = combine(part[0], part[1]);
    return combine(part[0], edge);
}

// The same of a run that nothing is loaded of yet.
template <u32 UNROLL, class SIZE>
__device__ __forceinline__ accumulator reduce_run(const element *input, SIZE count,
                                                  u32 rank, u32 wide)
{
    const run<UNROLL, SIZE> r(input, count, rank, wide);
    vector v[UNROLL];
    r.load_tile(0, v);
    return reduce_loaded<UNROLL>(r, v, count, [] {});
}

// A launch has more blocks than take segments of their own: helpers. Where the offsets of a table are those of
// neighbours, the elements from the first offset up to the last are dealt to these in equal ranges, and each
// takes what giants have of its range: a warp of it a small share, the block a large one. It finds them by a search
// and the table alone, so that nobody waits. A giant that crosses an end of a range has parts in scratch, and whoever
// leaves the last one combines all, in their order.
//
// Helpers are functions that are called, lest those with segments of their own keep registers for them, or worse, store
// some to memory for each thread.
constexpr u32 RANGES_MAX = 16384;  // that scratch has room for
static_assert(sizeof(accumulator) == 4, "");

constexpr u64 LONG = 4 * (BLOCK * UNROLL * VEC) < OWN ? OWN : 4 * (BLOCK * UNROLL * VEC);  // a giant has more elements
constexpr u32 HELP_LOADS = 8;  // independent loads in flight of a thread that helps
// A share of a giant is large if it is more than such a part of its range, which has fewer of these, and more elements
// than a warp takes by some loads.
constexpr u32 LARGE = 16;
constexpr u64 WARP_SHARE = 4 * 32 * HELP_LOADS * VEC;
constexpr u32 LOOKS = 1;  // that a thread takes at once
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
    return count > LONGEST || (double)count * (double)(SHARE * r.owners) > (double)r.total * (SHARE + 3);
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
    return (accumulator *)((char *)scratch + 524544) + 2 * range + begins;
}

// One thread leaves a share of a giant. Whether all others have been left.
__device__ __forceinline__ bool leave_part(const share &its, accumulator a, void *scratch)
{
    u32 *const counter = (u32 *)((char *)scratch + 256 + (u64)its.first * 32);
    *part_of(scratch, blockIdx.x, its.first == blockIdx.x) = a;
    __threadfence();
    const bool complete = atomicInc(counter, its.last - its.first) == its.last - its.first;
    __threadfence();
    return complete;
}

// A share of a giant, by a warp or by the block, and where that was the last one, the result.
template <bool BY_WARP>
__device__ __forceinline__ void reduce_share(const share &its, void *scratch, float *output)
{
    const u32 rank = BY_WARP ? threadIdx.x % 32 : threadIdx.x, wide = BY_WARP ? 32 : BLOCK;
    accumulator a = reduce_run<HELP_LOADS>(its.from, its.count, rank, wide);
    a = BY_WARP ? reduce_warp(a) : reduce_block(a);
    bool complete = false;
    if (rank == 0) {
        const bool alone = its.first == its.last;
        complete = !alone && leave_part(its, a, scratch);
        if (alone) finish(output, its.number, a, its.whole);
    }
    if (BY_WARP ? !__any_sync(ALL, complete) : !__syncthreads_or(complete)) return;
    __syncwarp();
    a = 0.0f;
    for (u32 range = its.first + rank; range <= its.last; range += wide) {
        const accumulator *part = part_of(scratch, range, range == its.first);
        a = combine(a, __ldcg(part));
    }
    a = BY_WARP ? reduce_warp(a) : reduce_block(a);
    if (rank == 0) finish(output, its.number, a, its.whole);
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
__device__ __noinline__ void help(help_memory &mem, const element *input, segments s, void *scratch, float *output)
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
                if (!is_large && part.count > 0) reduce_share<true>(mem.now[warp], scratch, output);
            }
        }
        __syncthreads();
#pragma unroll 1
        for (u32 k = 0; k < mem.many; k++) {
            reduce_share<false>(mem.large[k], scratch, output);
            __syncthreads();
        }
        __syncthreads();
    }
}
// A group's segments, and where their elements are; there are none of a segment that is not there. All
// that the tables say is asked for at once.
__device__ __forceinline__ void load_segments(const segments &s, const element *input, u64 base, segment (&one)[EACH],
                                              const element *(&from)[EACH])
{
    raw_offset begin[EACH] = {}, end[EACH];
    u64 array[EACH] = {};
    const auto number_of = [&](u32 k) { return base + k * GROUPS + threadIdx.x / GROUP; };
    const auto place_of = [&](u32 k) { return number_of(k) < s.count ? number_of(k) : base; };
    const auto set = [&](u32 k, i64 low, i64 high) {
        one[k] = segment{(u64)low, number_of(k) < s.count && high > low ? (u64)(high - low) : 0, false};
    };
#pragma unroll
    for (u32 k = 0; k < EACH; k++) {
        const u64 i = place_of(k);
        if (s.begin) begin[k] = load_offset(s, s.begin, i);
        end[k] = s.end ? load_offset(s, s.end, i) : load_offset(s, s.begin, i + 1);
        if (s.arrays) array[k] = ((const u64 *)s.arrays)[i];
    }
#pragma unroll
    for (u32 k = 0; k < EACH; k++) {
        const i64 low = value_of(s, begin[k]);
        from[k] = s.arrays ? (const element *)array[k] + (s.end ? low : 0) : input + low;
        set(k, low, value_of(s, end[k]));
    }
}

// The group's first thread returns the combination of its threads' values. All threads of the block call it;
// between two calls stands a barrier.
__device__ __forceinline__ accumulator reduce_group(accumulator a)
{
    a = reduce_warp(a);
    return a;
}

// All threads of the block: those segments from base on that wait for it and are no giants, one after the other. Where
// there are too few blocks, those of others, too.
__device__ __noinline__ void reduce_waiting(const element *input, segments s, const bool *waits,
                                               float *output)
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
            if (is_giant(s, i, one.count)) continue;
            accumulator a = reduce_run<UNROLL>(elements_of(s, input, i, one), one.count, thread, BLOCK);
            a = reduce_block(a);
            if (thread == 0) finish(output, i, a, one.count);
            __syncthreads();
        }
    }
}

// All threads of a block with segments of its own.
__device__ __forceinline__ void reduce_own(const element *input, const segments &s, float *output)
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
#pragma unroll
    for (u32 k = 0; k < EACH; k++) {
        const bool is_own = one[k].count <= OWN;
        count[k] = is_own ? (u32)one[k].count : 0;
        if (rank == 0) waits[k * GROUPS + threadIdx.x / GROUP] = !is_own;
        r[k] = run<UNROLL, u32, (GROUP < 32)>(from[k], count[k], rank, GROUP);
        r[k].load_tile(0, v[k]);
    }
    bool is_left = false;
#pragma unroll
    for (u32 k = 0; k < EACH; k++) {
        accumulator a = reduce_loaded<UNROLL>(r[k], v[k], count[k], [] {});
        a = reduce_group(a);
        const u32 number = k * GROUPS + threadIdx.x / GROUP;
        const u64 its = base + number;
        // What this says was written by the same thread.
        const bool is_first = rank == 0, is_waiting = is_first && waits[number];
        if (its < s.count && is_first && !is_waiting) finish(output, its, a, count[k]);
        is_left |= is_waiting;
    }
    const bool is_more = (gridDim.x - duties_of(s.count).helpers) * (u64)SHARE < s.count;
    if (__syncthreads_or(is_left) || is_more) reduce_waiting(input, s, waits, output);
}
__device__ __forceinline__ void reduce_all(const element *input, const segments &s, float *output, void *scratch)
{
    __shared__ help_memory mem;
    if (blockIdx.x < duties_of(s.count).helpers) {
        help(mem, input, s, scratch, output);
        return;
    }
    reduce_own(input, s, output);
}

extern "C" __global__ void __launch_bounds__(128, 8)
redtune_reduce(const element *input, segments s, float *output, void *scratch, u32 overlaps)
{
    reduce_all(input, s, output, scratch);
}
