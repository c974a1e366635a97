// redtune: the sum of f32 into f32, by the template "grouped" with
// block=128,lanes=32,vec=4,unroll=8,resident=8,load=no_allocate
//
// output[i] = x[0] + ... + x[n-1]
// for each segment i, n = its elements, wherever they are. Start it with 128 threads per block, on
// a block for every 4 segments; any number is right.
//
// A group of 32 threads takes a segment. Groups come and go with their blocks, so that nothing is
// dealt and nothing is searched: a thread needs registers for little more than its loads. A segment that
// is long for a group is taken by its block, when the others of the block are done. How a segment is
// combined depends on its length alone.

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
constexpr u32 VEC = 4;  // elements per load
constexpr u32 UNROLL = 8;  // independent loads in flight per thread
constexpr u32 LANES = 4;  // accumulators per thread
constexpr u64 LOAD_BYTES = VEC * 4;

constexpr u64 OWN_TILES = 8;  // loads of each thread, one after the other, that a group takes at most
constexpr u64 OWN = OWN_TILES * GROUP * UNROLL * VEC;  // elements; where a group is a block, it takes any

constexpr u32 ALL = 0xffffffff;  // lanes of a warp

static_assert(sizeof(element) == 4, "");
static_assert(LOAD_BYTES <= 16 && BLOCK % 32 == 0 && BLOCK % GROUP == 0 && GROUP >= 8, "");

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

// Loads of `count` elements side by side, by `wide` lanes: aligned ones, from body up to stop. A lane has
// N of them in flight, a tile's.
template <u32 N> struct run {
    u64 begin, body, stop;
    u32 rank, wide;

    __device__ __forceinline__ run(const element *input, u64 count, u32 lane, u32 lanes)
        : begin((u64)input), body((begin + LOAD_BYTES - 1) / LOAD_BYTES * LOAD_BYTES), rank(lane), wide(lanes)
    {
        // No elements may be anywhere, and their address may round up beyond the end of all addresses.
        stop = count > 0 ? (begin + count * sizeof(element)) / LOAD_BYTES * LOAD_BYTES : 0;
    }
    __device__ __forceinline__ u64 tile_bytes() const { return wide * (N * LOAD_BYTES); }
    // Where this lane's load i of the tile at that address is.
    __device__ __forceinline__ u64 place_of(u64 tile, u32 i) const
    {
        return tile + (rank + i * wide) * LOAD_BYTES;
    }
    // All loads of a tile before the first use; those from stop on are left out.
    __device__ __forceinline__ void load_tile(u64 tile, vector (&v)[N]) const
    {
        if (tile + tile_bytes() <= stop) {
#pragma unroll
            for (u32 i = 0; i < N; i++) v[i] = load_vector(place_of(tile, i));
        } else {
#pragma unroll
            for (u32 i = 0; i < N; i++)
                if (place_of(tile, i) < stop) v[i] = load_vector(place_of(tile, i));
        }
    }
};

// Takes a run of `count` elements, whose first tile v has: this lane's share.
// Calls `then` as soon as v is free.
template <u32 UNROLL, class THEN>
__device__ __forceinline__ accumulator reduce_loaded(const run<UNROLL> r, vector (&v)[UNROLL],
                                                     u64 count, THEN then)
{
    const u64 begin = r.begin, body = r.body, stop = r.stop, TILE_BYTES = r.tile_bytes();
    const u32 rank = r.rank, wide = r.wide;
    const element *const input = (const element *)begin;
    const auto place_of = [&](u64 tile, u32 i) { return r.place_of(tile, i); };
    u64 tile = body;

    accumulator part[LANES];
#pragma unroll
    for (u32 j = 0; j < LANES; j++) part[j] = 0.0f;
    accumulator edge = 0.0f;
    // Fewer than VEC elements stand before body and behind stop: all, if nothing is between these.
    const u64 head = (u32)(body - begin) / sizeof(element);
    const u64 between = stop > body ? (stop - body) / sizeof(element) : 0;
    // Each lane has one of them at most: at least eight take a run.
    const u64 i = rank;
    if (i < count - between) {
        const u64 at = i < head ? i : i + between;
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
template <u32 UNROLL>
__device__ __forceinline__ accumulator reduce_run(const element *input, u64 count,
                                                  u32 rank, u32 wide)
{
    const run<UNROLL> r(input, count, rank, wide);
    vector v[UNROLL];
    r.load_tile(r.body, v);
    return reduce_loaded<UNROLL>(r, v, count, [] {});
}

// Segment i, and where its elements are; there are none if it is not there. All that the tables say is
// asked for at once.
__device__ __forceinline__ segment load_segment(const segments &s, const element *input, u64 i, bool is_there,
                                                const element *&from)
{
    raw_offset begin = {0, 0};
    u64 array = 0;
    if (s.begin) begin = load_offset(s, s.begin, i);
    const raw_offset end = s.end ? load_offset(s, s.end, i) : load_offset(s, s.begin, i + 1);
    if (s.arrays) array = ((const u64 *)s.arrays)[i];
    const i64 low = value_of(s, begin), high = value_of(s, end);
    from = s.arrays ? (const element *)array + (s.end ? low : 0) : input + low;
    return segment{(u64)low, is_there && high > low ? (u64)(high - low) : 0, false};
}

// The group's first thread returns the combination of its threads' values. All threads of the block call it;
// between two calls stands a barrier.
__device__ __forceinline__ accumulator reduce_group(accumulator a)
{
    a = reduce_warp(a);
    return a;
}

// All threads of the block: those segments from base on that wait for it, one after the other.
__device__ __forceinline__ void reduce_waiting(const element *input, const segments &s, u64 base,
                                               const bool *waits, float *output)
{
#pragma unroll 1
    for (u32 group = 0; group < GROUPS; group++) {
        if (!waits[group]) continue;
        const segment one = segment_of(s, base + group);
        const element *const from = elements_of(s, input, base + group, one);
        accumulator a = reduce_run<UNROLL>(from, one.count, threadIdx.x, BLOCK);
        a = reduce_block(a);
        if (threadIdx.x == 0) finish(output, base + group, a, one.count);
        __syncthreads();
    }
}

__device__ __forceinline__ void reduce_all(const element *input, const segments &s, float *output)
{
    const u32 rank = threadIdx.x % GROUP, group = threadIdx.x / GROUP;
#pragma unroll 1
    for (u32 turn = 0;; turn++) {
        const u64 base = ((u64)turn * gridDim.x + blockIdx.x) * GROUPS, i = base + group;
        if (base >= s.count) return;
        const bool is_there = i < s.count;
        const element *from;
        const segment one = load_segment(s, input, is_there ? i : base, is_there, from);
        __shared__ bool waits[GROUPS];
        const bool is_own = one.count <= OWN;
        const u32 count = is_own ? (u32)one.count : 0;
        if (rank == 0) waits[group] = !is_own;
        accumulator a = reduce_run<UNROLL>(from, count, rank, GROUP);
        a = reduce_group(a);
        if (is_there && is_own && rank == 0) finish(output, i, a, count);
        if (__syncthreads_or(!is_own)) reduce_waiting(input, s, base, waits, output);
        if (gridDim.x * (u64)GROUPS >= s.count) return;
        __syncthreads();
    }
}

extern "C" __global__ void __launch_bounds__(128, 8)
redtune_reduce(const element *input, segments s, float *output, void *scratch, u32 overlaps)
{
    reduce_all(input, s, output);
}
