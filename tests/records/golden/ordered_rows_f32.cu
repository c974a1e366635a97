// redtune: the sumsq of f32 into f32, by the template "ordered_rows" with
// block=128,lanes=32,unroll=8,rows=1,load=no_allocate
// compile with --fmad=false
//
// output[r] = x[0]^2 + ... + x[n-1]^2
// for each of `outer` rows r: n = count elements side by side from input[r * outer_step] on,
// wherever that is.
// They are combined in the order of docs/order.md.
// Start it with 128 threads per block, on any number of blocks.

typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;
typedef float element;  // in memory
typedef float value;  // in registers
typedef float accumulator;

constexpr u32 BLOCK = 128;  // threads per block
constexpr u32 GROUP = 32;  // threads of a group, which take a result
constexpr u32 GROUPS = BLOCK / GROUP;
constexpr u32 WARPS = BLOCK / 32;
constexpr u32 VEC = 4;  // elements per load
constexpr u32 LOADS = 8;  // loads of a thread in a chunk
constexpr u32 UNROLL = 8;  // independent loads in flight per thread
constexpr u32 STEPS = LOADS / UNROLL;
constexpr u32 ROWS = 1;  // results that a thread, a group or a block takes at once or one after the other
constexpr u64 LOAD_BYTES = 16;
constexpr u64 CHUNK_BYTES = 32 * LOADS * LOAD_BYTES;  // of the fixed order

static_assert(sizeof(element) == 4, "");
static_assert(BLOCK % 32 == 0 && BLOCK % GROUP == 0 && LOADS % UNROLL == 0, "");

// As model/launch.h has it. Of rows inner and step are 1.
struct extents {
    u64 count, outer, inner, outer_step, step;
};

static_assert(sizeof(extents) == 40, "");

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

__device__ __forceinline__ accumulator combine(accumulator a, accumulator b)
{
    return a + b;
}

__device__ __forceinline__ accumulator map(value x)
{
    return x * x;
}

__device__ __forceinline__ float load_element_word(u64 from)
{
    float word[1];
    asm volatile("ld.global.f32 %0, [%1];"
                 : "=f"(word[0])
                 : "l"(from));
    return word[0];
}

// What load_vector() brings, element by element: from where it stands at no multiple of 16 bytes.
__device__ __forceinline__ vector gather_vector(u64 from)
{
    vector v;
    v.word[0] = load_element_word(from + 0);
    v.word[1] = load_element_word(from + 4);
    v.word[2] = load_element_word(from + 8);
    v.word[3] = load_element_word(from + 12);
    return v;
}

template <bool ALIGNED>
__device__ __forceinline__ vector bring_vector(u64 from)
{
    return ALIGNED ? load_vector(from) : gather_vector(from);
}

// The elements of a vector, the upper half combined into the lower until one is left.
__device__ __forceinline__ accumulator fold(accumulator (&a)[VEC])
{
    a[0] = combine(a[0], a[2]);
    a[1] = combine(a[1], a[3]);
    a[0] = combine(a[0], a[1]);
    return a[0];
}

__device__ __forceinline__ accumulator fold_vector(vector v)
{
    accumulator a[VEC];
    a[0] = map(v.word[0]);
    a[1] = map(v.word[1]);
    a[2] = map(v.word[2]);
    a[3] = map(v.word[3]);
    return fold(a);
}

// The value of the vector that begins there, of which there is a part only: up to `end`.
__device__ __forceinline__ accumulator take_edge(u64 from, u64 end)
{
    // All loads before the first use. Those of missing elements bring the first one.
    const u64 at0 = from;
    const float x0 = load_element_word(at0);
    const u64 at1 = from + 4 < end ? from + 4 : from;
    const float x1 = load_element_word(at1);
    const u64 at2 = from + 8 < end ? from + 8 : from;
    const float x2 = load_element_word(at2);
    const u64 at3 = from + 12 < end ? from + 12 : from;
    const float x3 = load_element_word(at3);
    accumulator a[VEC];
    a[0] = map(x0);
    a[1] = map(x1);
    if (from + 4 >= end) a[1] = 0.0f;
    a[2] = map(x2);
    if (from + 8 >= end) a[2] = 0.0f;
    a[3] = map(x3);
    if (from + 12 >= end) a[3] = 0.0f;
    return fold(a);
}

// Where a lane's load i of a step is. A step brings UNROLL loads of a lane's eight, which are taken with
// the bits of their numbers reversed: 0, 4, 2, 6, 1, 5, 3, 7. So neighbours are those that halving
// combines.
__device__ __forceinline__ u64 place_of(u64 chunk, u32 step, u32 i)
{
    const u32 k = step * UNROLL + i, load = k % 2 * 4 + k / 2 % 2 * 2 + k / 4;
    return chunk + (threadIdx.x % 32 + load * 32) * LOAD_BYTES;
}

// PART: of the chunk there is a part only, up to `end`. What is missing of it is not loaded.
template <bool ALIGNED, bool PART>
__device__ __forceinline__ void load_step(vector (&v)[UNROLL], u64 chunk, u64 end,
                                          u32 step)
{
#pragma unroll
    for (u32 i = 0; i < UNROLL; i++) {
        const u64 at = place_of(chunk, step, i);
        if (!PART || at + LOAD_BYTES <= end) v[i] = bring_vector<ALIGNED>(at);
    }
}

// A step's loads, neighbours first. `edge` is the value of the vector of which there is a part.
template <bool PART>
__device__ __forceinline__ accumulator fold_step(const vector (&v)[UNROLL], u64 chunk, u64 end,
                                                u32 step, accumulator edge)
{
    accumulator a[UNROLL];
#pragma unroll
    for (u32 i = 0; i < UNROLL; i++) {
        const u64 at = place_of(chunk, step, i);
        a[i] = fold_vector(v[i]);
        if (PART && at + LOAD_BYTES > end) a[i] = at < end ? edge : 0.0f;
    }
    a[0] = combine(a[0], a[1]);
    a[2] = combine(a[2], a[3]);
    a[4] = combine(a[4], a[5]);
    a[6] = combine(a[6], a[7]);
    a[0] = combine(a[0], a[2]);
    a[4] = combine(a[4], a[6]);
    a[0] = combine(a[0], a[4]);
    return a[0];
}

// Lane 0 returns the combination of the lanes' values, the upper half combined into the lower.
__device__ __forceinline__ accumulator reduce_lanes(accumulator a)
{
    a = combine(a, __shfl_down_sync(0xffffffff, a, 16));
    a = combine(a, __shfl_down_sync(0xffffffff, a, 8));
    a = combine(a, __shfl_down_sync(0xffffffff, a, 4));
    a = combine(a, __shfl_down_sync(0xffffffff, a, 2));
    a = combine(a, __shfl_down_sync(0xffffffff, a, 1));
    return a;
}

// A run of chunks of a warp from that address on: whole ones, and behind them a part of one, if the row ends
// there.
struct run {
    u64 at;
    u32 whole, part_bytes;
};

// At most so many chunks of those between the two addresses.
__device__ __forceinline__ run run_between(u64 at, u64 end, u32 most)
{
    const u64 left = at < end ? end - at : 0;
    if (left >= most * CHUNK_BYTES) return run{at, most, 0};
    return run{at, (u32)left / (u32)CHUNK_BYTES, (u32)left % (u32)CHUNK_BYTES};
}

// Asks for the first step of a run, if it has any.
template <bool ALIGNED>
__device__ __forceinline__ void load_first(vector (&v)[UNROLL], const run &r)
{
    if (r.whole > 0)
        load_step<ALIGNED, false>(v, r.at, 0, 0);
    else if (r.part_bytes > 0)
        load_step<ALIGNED, true>(v, r.at, r.at + r.part_bytes, 0);
}

// Lane 0 returns the value of the first chunk of a run, whose first step is on its way. The first step
// of `next` is asked for before the last one of the chunk is done with.
template <bool ALIGNED, bool PART>
__device__ __forceinline__ accumulator take_chunk(vector (&v)[UNROLL], const run &own, accumulator edge,
                                                  const run &next)
{
    const u64 end = own.at + own.part_bytes;  // of a part
    accumulator part[STEPS];
#pragma unroll
    for (u32 i = 0; i < STEPS; i++) {
        part[i] = fold_step<PART>(v, own.at, end, i, edge);
        if (i + 1 < STEPS)
            load_step<ALIGNED, PART>(v, own.at, end, i + 1);
        else
            load_first<ALIGNED>(v, next);
    }
    return reduce_lanes(part[0]);
}

// Adds the value of chunk number c of a run, which lane 0 has, to those that wait: neighbours are
// combined.
__device__ __forceinline__ accumulator carry(accumulator waiting, accumulator a, u32 c)
{
    u32 level = 0;
    if (c & 1) a = __shfl_sync(0xffffffff, a, 0);
    for (; c >> level & 1; level++) a = combine(__shfl_sync(0xffffffff, waiting, level), a);
    return threadIdx.x % 32 == level ? a : waiting;
}

// Lane 0 returns the value of a run of n chunks, which wait: behind them is nothing.
__device__ __forceinline__ accumulator settle(accumulator waiting, u32 n)
{
    if (n <= 1) return waiting; // lane 0 has the only one, or nothing waits
    accumulator a = 0.0f;
    for (u32 level = 0; n >> level; level++)
        if (n >> level & 1) a = combine(__shfl_sync(0xffffffff, waiting, level), a);
    return a;
}

// Lane 0 returns the value of a run whose first step is on its way. The first step of the run `next` is
// asked for before the last one is done with: a warp that has no chunks of a run has none of the next.
template <bool ALIGNED>
__device__ __forceinline__ accumulator take_run(vector (&v)[UNROLL], run own, const run &next)
{
    // Lane i of `waiting` has the value of 2^i chunks that waits for its neighbour.
    accumulator waiting = 0.0f;
    u32 taken = 0;
    const u32 behind = own.part_bytes % (u32)LOAD_BYTES;
    accumulator edge = 0.0f;
    if (behind > 0) {
        // Its loads are asked for while those of the first step are on their way.
        const u64 end = own.at + own.whole * CHUNK_BYTES + own.part_bytes;
        edge = take_edge(end - behind, end);
    }
    while (own.whole > 0) {
        const run rest = {own.at + CHUNK_BYTES, own.whole - 1, own.part_bytes};
        const bool is_last = rest.whole + rest.part_bytes == 0;
        const run further = {is_last ? next.at : rest.at, is_last ? next.whole : rest.whole,
                             is_last ? next.part_bytes : rest.part_bytes};
        waiting = carry(waiting, take_chunk<ALIGNED, false>(v, own, edge, further), taken++);
        own = rest;
    }
    if (own.part_bytes > 0)
        waiting = carry(waiting, take_chunk<ALIGNED, true>(v, own, edge, next), taken++);
    return settle(waiting, taken);
}

// The first lane returns the value of `bytes` bytes of elements side by side, by a warp. A call of it costs sums a
// fifth of their time; what takes long to combine would take NVRTC a minute in five places.
__device__ __forceinline__ accumulator reduce_run(u64 begin, u64 bytes)
{
    const run own = {begin, (u32)(bytes / CHUNK_BYTES), (u32)(bytes % CHUNK_BYTES)}, none = {0, 0, 0};
    vector v[UNROLL];
    if (begin % LOAD_BYTES == 0) {
        load_first<true>(v, own);
        return take_run<true>(v, own, none);
    }
    load_first<false>(v, own);
    return take_run<false>(v, own, none);
}

// The group's first lane returns the combination of the lanes' values.
__device__ __forceinline__ accumulator reduce_members(accumulator a)
{
    a = combine(a, __shfl_down_sync(0xffffffff, a, 16));
    a = combine(a, __shfl_down_sync(0xffffffff, a, 8));
    a = combine(a, __shfl_down_sync(0xffffffff, a, 4));
    a = combine(a, __shfl_down_sync(0xffffffff, a, 2));
    a = combine(a, __shfl_down_sync(0xffffffff, a, 1));
    return a;
}

// Rows of which a step of the group's loads brings all: ROWS of them at once.
template <bool ALIGNED>
__device__ __forceinline__ void take_short(const element *input, const extents &e, float *output)
{
    const u32 bytes = e.count * sizeof(element), behind = bytes % LOAD_BYTES;
    const u32 lane = threadIdx.x % GROUP * LOAD_BYTES;
    constexpr u32 APART = GROUP * LOAD_BYTES;
    u64 first = (u64)blockIdx.x * (GROUPS * ROWS);
    for (; first < e.outer; first += (u64)gridDim.x * (GROUPS * ROWS)) {
        vector v[ROWS][UNROLL];
        accumulator edge[ROWS];
        u64 begin[ROWS];
#pragma unroll
        for (u32 r = 0; r < ROWS; r++) {
            const u64 row = first + r * GROUPS + threadIdx.x / GROUP;
            // In place of a row that is not there the last one is loaded.
            begin[r] = (u64)(input + (row < e.outer ? row : e.outer - 1) * e.outer_step);
#pragma unroll
            for (u32 i = 0; i < UNROLL; i++) {
                const u32 at = lane + (__brev(i) >> 29) * APART;
                if (at + LOAD_BYTES <= bytes) v[r][i] = bring_vector<ALIGNED>(begin[r] + at);
            }
        }
        if (behind > 0)
#pragma unroll
            for (u32 r = 0; r < ROWS; r++)
                edge[r] = take_edge(begin[r] + bytes - behind, begin[r] + bytes);
#pragma unroll
        for (u32 r = 0; r < ROWS; r++) {
            accumulator part[UNROLL];
#pragma unroll
            for (u32 i = 0; i < UNROLL; i++) {
                const u32 at = lane + (__brev(i) >> 29) * APART;
                part[i] = fold_vector(v[r][i]);
                if (at + LOAD_BYTES > bytes) {
                    part[i] = 0.0f;
                    if (at < bytes) part[i] = edge[r];
                }
            }
    part[0] = combine(part[0], part[1]);
    part[2] = combine(part[2], part[3]);
    part[4] = combine(part[4], part[5]);
    part[6] = combine(part[6], part[7]);
    part[0] = combine(part[0], part[2]);
    part[4] = combine(part[4], part[6]);
    part[0] = combine(part[0], part[4]);
            const accumulator a = combine(0.0f, reduce_members(part[0]));
            const u64 row = first + r * GROUPS + threadIdx.x / GROUP;
            if (row < e.outer && lane == 0) output[row] = a;
        }
    }
}

extern "C" __global__ void __launch_bounds__(128)
redtune_reduce(const element *input, extents e, float *output, void *scratch, u32 overlaps)
{
    const bool aligned = ((u64)input | (e.outer > 1 ? e.outer_step : 0) * sizeof(element)) % LOAD_BYTES == 0;
    if (e.count * sizeof(element) <= GROUP * UNROLL * LOAD_BYTES) {
        if (aligned)
            take_short<true>(input, e, output);
        else
            take_short<false>(input, e, output);
        return;
    }
    // Longer rows are a warp's.
    for (u64 row = (u64)blockIdx.x * WARPS + threadIdx.x / 32; row < e.outer; row += (u64)gridDim.x * WARPS) {
        accumulator a = reduce_run((u64)(input + row * e.outer_step), e.count * sizeof(element));
        a = combine(0.0f, a);
        if (threadIdx.x % 32 == 0) output[row] = a;
    }
}
