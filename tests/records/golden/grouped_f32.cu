// redtune: the sum of f32 into f32, by the template "grouped" with
// block=128,lanes=32,segments=1,vec=4,unroll=8,resident=8,load=no_allocate
//
// output[i] = x[0] + ... + x[n-1]
// for each segment i, n = its elements, wherever they are.
// Start it with 128 threads per block.
// There is to be a block for every 4 segments and some more, which share giants; any number is right.
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
constexpr u32 GROUP = 32;  // threads of a group, which take a result
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

// Whether segment i ends where the next one begins, by the addresses of the tables.
__device__ __forceinline__ bool are_neighbours(const segments &s)
{
    if (s.arrays) return !s.end;
    return !s.end || s.end == s.begin + (s.wide ? 8 : 4);
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
    return raw_offset{at[0], at[s.wide]};
}

__device__ __forceinline__ i64 value_of(const segments &s, const raw_offset &offset)
{
    const u32 sign = (u32)((int)offset.low >> 31);
    return (i64)((u64)(s.wide ? offset.high : sign) << 32 | offset.low);
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
    __device__ __forceinline__ void load_whole(SIZE tile, vector (&v)[N]) const
    {
#pragma unroll
        for (u32 i = 0; i < N; i++) v[i] = load_vector(body + place_of(tile, i));
    }
    // All loads of a tile before the first use; those from stop on are left out.
    __device__ __forceinline__ void load_tile(SIZE tile, vector (&v)[N]) const
    {
        if (!APART && tile + tile_bytes() <= stop) {
            load_whole(tile, v);
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
// What helpers do is in functions that are called, lest those with segments of their own keep registers for it, or worse,
// store some to memory for each thread. A block goes through this code once, so it waits for much of it to be fetched: less
// code is worth as much as fewer looks at the table.
constexpr u32 RANGES_MAX = 16384;  // that scratch has room for
static_assert(sizeof(accumulator) == 4, "");

constexpr u64 LONG = 4 * (BLOCK * UNROLL * VEC) < OWN ? OWN : 4 * (BLOCK * UNROLL * VEC);  // a giant has more elements
constexpr u32 HELP_LOADS = 8;  // independent loads in flight of a thread that helps
// A share of a giant is large if it is more than such a part of its range, which has fewer of these, and more elements
// than a warp takes by some loads.
constexpr u32 LARGE = 16;
constexpr u64 WARP_SHARE = 4 * 32 * HELP_LOADS * VEC;
constexpr u32 LOOKS = 1;  // that a thread takes at once
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
    return count > LONGEST || (double)count * (double)(SHARE * duties_of(s.count).owners) > (double)all.elements * (SHARE + 3);
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
    return (accumulator *)((char *)scratch + 524544) + 2 * range + begins;
}

// What a thread has of elements side by side that as many as `wide` take.
__device__ __noinline__ accumulator reduce_share(const element *from, u64 count, u32 rank, u32 wide)
{
    return reduce_run<HELP_LOADS>(from, count, rank, wide);
}

// The same of all threads of a block, of which thread 0 has the combination.
__device__ __noinline__ accumulator reduce_by_block(const element *from, u64 count)
{
    return reduce_block(reduce_share(from, count, threadIdx.x, BLOCK));
}

// One thread leaves what a share was combined to. Whether all others of that giant have been left.
__device__ __forceinline__ bool leave_part(const share &its, accumulator a, void *scratch)
{
    u32 *const counter = (u32 *)((char *)scratch + 256 + (u64)its.first * 32);
    *part_of(scratch, blockIdx.x, its.first == blockIdx.x) = a;
    __threadfence();
    const bool complete = atomicInc(counter, its.last - its.first) == its.last - its.first;
    __threadfence();
    return complete;
}

// A warp whose lane 0 has what a share was combined to: leaves that, and writes the result of a giant that is complete
// so. Nobody else waits for it.
__device__ __noinline__ void leave_share(const share &its, accumulator a, void *scratch, float *output)
{
    const u32 lane = threadIdx.x % 32;
    if (its.first != its.last) {
        if (!__any_sync(ALL, lane == 0 && leave_part(its, a, scratch))) return;
        __syncwarp();
        a = 0.0f;
#pragma unroll 1
        for (u32 first = its.first; first <= its.last; first += 32 * PARTS) {
            accumulator parts[PARTS];
#pragma unroll
            for (u32 k = 0; k < PARTS; k++) {
                const u32 range = first + 32 * k + lane;
                const accumulator *part = part_of(scratch, range, range == its.first);
                parts[k] = 0.0f;
                if (range <= its.last) parts[k] = __ldcg(part);
            }
#pragma unroll
            for (u32 k = 0; k < PARTS; k++) a = combine(a, parts[k]);
        }
        a = reduce_warp(a);
    }
    if (lane == 0) finish(output, its.number, a, its.whole);
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
                                            void *scratch, float *output)
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
        const accumulator a = reduce_share(now.from, now.count, lane, 32);
        leave_share(mem.now[warp], reduce_warp(a), scratch, output);
    }
}

// All threads of a block that helps: its shares of the giants in its range.
__device__ __noinline__ void help(help_memory &mem, const element *input, segments s, void *scratch, float *output)
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
            take_shares(mem, input, s, base + wide * mem.candidates[k], wide, last, scratch, output);
        __syncthreads();
#pragma unroll 1
        for (u32 k = 0; k < mem.many; k++) {
            const share &its = mem.large[k];
            const accumulator a = reduce_by_block(its.from, its.count);
            if (threadIdx.x == 0) mem.sum[k] = a;
            __syncthreads();
        }
#pragma unroll 1
        for (u32 k = warp; k < mem.many; k += WARPS) leave_share(mem.large[k], mem.sum[k], scratch, output);
        __syncthreads();
    }
}
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
            if (is_giant(s, i, one.offset, one.count)) continue;
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
