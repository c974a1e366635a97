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
constexpr u32 VEC = 4;  // elements per load
constexpr u32 UNROLL = 8;  // independent loads in flight per thread
constexpr u32 ROWS = 1;  // results that a thread, a group or a block takes at once or one after the other
constexpr u32 BITS = 3;  // 2^BITS loads or vectors of a chunk are a thread's
constexpr u32 LEVELS = 48;  // of the tree above chunks
constexpr u64 LOAD_BYTES = 16;
constexpr u64 CHUNK_BYTES = 256 * LOAD_BYTES;  // of the fixed order

static_assert(sizeof(element) == 4, "");
static_assert(BLOCK % 32 == 0 && BLOCK % GROUP == 0 && UNROLL <= 1u << BITS, "");

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

// A thread's share of the chunk at that address: 2^bits loads, every GROUP-th, which are taken with
// the bits of their numbers reversed, so that neighbours are those that halving combines. `edge` is
// the value of the vector that the row has a part of.
template <bool ALIGNED>
__device__ __forceinline__ accumulator take_chunk(u64 chunk, u64 end, u32 bits, accumulator edge)
{
    const u64 first = chunk + threadIdx.x % GROUP * LOAD_BYTES;
    accumulator level[BITS + 1];
#pragma unroll
    for (u32 k = 0; k <= BITS; k++) level[k] = 0.0f;
    accumulator a = 0.0f;
    for (u32 step = 0; step << 3 < 1u << bits; step++) {
        vector v[UNROLL];
        u64 at[UNROLL];
#pragma unroll
        for (u32 i = 0; i < UNROLL; i++) {
            const u32 number = step * UNROLL + i;
            const u32 load = bits == 0 ? 0 : __brev(number) >> (32 - bits);
            at[i] = number < 1u << bits ? first + load * GROUP * LOAD_BYTES : end;
            if (at[i] + LOAD_BYTES <= end) v[i] = bring_vector<ALIGNED>(at[i]);
        }
        accumulator part[UNROLL];
#pragma unroll
        for (u32 i = 0; i < UNROLL; i++) {
            part[i] = at[i] < end ? edge : 0.0f;
            if (at[i] + LOAD_BYTES <= end) part[i] = fold_vector(v[i]);
        }
    part[0] = combine(part[0], part[1]);
    part[2] = combine(part[2], part[3]);
    part[4] = combine(part[4], part[5]);
    part[6] = combine(part[6], part[7]);
    part[0] = combine(part[0], part[2]);
    part[4] = combine(part[4], part[6]);
    part[0] = combine(part[0], part[4]);
        a = part[0];
#pragma unroll
        for (u32 k = 0; k <= BITS; k++) {
            if ((step >> k & 1) == 0) {
                level[k] = a;
                break;
            }
            a = combine(level[k], a);
        }
    }
    return a;
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

// The first lane of the group returns the value of n chunks from `from` on.
template <bool ALIGNED>
__device__ __forceinline__ accumulator reduce_run(u64 from, u64 n, u64 end, u32 bits)
{
    accumulator edge = 0.0f;
    const u64 behind = (end - from) % LOAD_BYTES;
    if (from < end && behind > 0) edge = take_edge(end - behind, end);
    if (n == 1) return reduce_members(take_chunk<ALIGNED>(from, end, bits, edge));
    // What waits for its neighbour: after n chunks there is a value of 2^k for each bit k of n.
    accumulator level[LEVELS];
    for (u64 i = 0; i < n; i++) {
        accumulator a = take_chunk<ALIGNED>(from + i * CHUNK_BYTES, end, bits, edge);
        a = reduce_members(a);
        u32 k = 0;
        for (; i >> k & 1; k++) a = combine(level[k], a);
        level[k] = a;
    }
    accumulator all = 0.0f;
    for (u32 k = 0; n >> k; k++)
        if (n >> k & 1) all = combine(level[k], all);
    return all;
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
    const u64 chunks = (e.count * sizeof(element) + CHUNK_BYTES - 1) / CHUNK_BYTES;
    // A row of less than a chunk has fewer loads.
    u32 bits = BITS;
    while (bits > 0 && (GROUP * LOAD_BYTES << (bits - 1)) >= e.count * sizeof(element)) bits--;
    // A block's threads go on together, those too that have no row left.
    for (u64 first = (u64)blockIdx.x * GROUPS; first < e.outer; first += (u64)gridDim.x * GROUPS) {
        const u64 row = first + threadIdx.x / GROUP;
        const bool is_there = row < e.outer;
        const u64 begin = (u64)(input + (is_there ? row * e.outer_step : 0));
        const u64 end = begin + (is_there ? e.count * sizeof(element) : 0);
        accumulator a = aligned ? reduce_run<true>(begin, chunks, end, bits)
                                : reduce_run<false>(begin, chunks, end, bits);
        a = combine(0.0f, a);
        if (is_there && threadIdx.x % GROUP == 0) output[row] = a;
    }
}
