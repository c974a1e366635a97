// redtune: the dot of f16 into f32, by the template "ordered" with
// block=64,chunks=1,unroll=8,resident=1024,load=no_allocate,finish=ticket
// compile with --fmad=false
//
// output[0] = x[0] * y[0] + ... + x[n-1] * y[n-1]
// for any n = count and any element-aligned input, combined in the order of docs/order.md. Start it
// with 64 threads per block.

typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;
typedef unsigned short element;  // in memory
typedef float value;  // in registers
typedef float accumulator;

// As model/launch.h has it.
struct arguments {
    u64 input, output;
    double scalar[2];
    u64 scalars, count, resumes;
};

static_assert(sizeof(arguments) == 56, "");

struct values {
    u64 to_second;  // from an element of the first input to that of the second, in bytes
};

// Where the second input's element is that lies as that one of the first.
template <typename T>
__device__ __forceinline__ const T *second_of(const T *first, const values &given)
{
    return (const T *)((u64)first + given.to_second);
}

__device__ __forceinline__ values values_of(const arguments &rest, const void *input,
                                            float *output)
{
    values given;
    given.to_second = rest.input - (u64)input;
    return given;
}

constexpr u32 BLOCK = 64;  // threads per block
constexpr u32 WARPS = BLOCK / 32;
constexpr u32 VEC = 8;  // elements per load
constexpr u32 LOADS = 8;  // loads of a thread in a chunk
constexpr u32 CHUNKS = 1;  // that a warp takes at least
constexpr u32 UNROLL = 8;  // independent loads in flight per thread
constexpr u32 STEPS = LOADS / UNROLL;

constexpr u64 LOAD_BYTES = 16;
constexpr u64 CHUNK_BYTES = 32 * LOADS * LOAD_BYTES;
constexpr u64 CHUNK = CHUNK_BYTES / sizeof(element);
constexpr u32 AT_ONCE = 4;  // values that a thread asks for at a time
constexpr u32 LEVELS = 3;  // of their tree in a thread
constexpr u64 NODES_MAX = 1024;  // there are places for as many

static_assert(sizeof(element) == 2 && sizeof(accumulator) <= 16, "");
static_assert(LOADS % UNROLL == 0, "");

struct vector {
    u32 word[4];
    u32 other[4];  // of the second input
};

__device__ __forceinline__ float half_to_float(u32 bits)
{
    float x;
    asm("{ .reg .b16 h; cvt.u16.u32 h, %1; cvt.f32.f16 %0, h; }" : "=f"(x) : "r"(bits));
    return x;
}

__device__ __forceinline__ u32 load_piece(u64 from)
{
    u32 word[1];
    asm volatile("ld.global.nc.L1::no_allocate.u16 %0, [%1];"
                 : "=r"(word[0])
                 : "l"(from));
    return word[0];
}

__device__ __forceinline__ vector load_vector(u64 from, const values &given)
{
    vector v;
    asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.word[0]), "=r"(v.word[1]), "=r"(v.word[2]), "=r"(v.word[3])
                 : "l"(from));
    const u64 second = from + given.to_second;
    if (given.to_second % LOAD_BYTES > 0) {
        // Nothing but its elements may be read, and one may lie anywhere.
        v.other[0] = load_piece(second + 0) | load_piece(second + 2) << 16;
        v.other[1] = load_piece(second + 4) | load_piece(second + 6) << 16;
        v.other[2] = load_piece(second + 8) | load_piece(second + 10) << 16;
        v.other[3] = load_piece(second + 12) | load_piece(second + 14) << 16;
        return v;
    }
    asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.other[0]), "=r"(v.other[1]), "=r"(v.other[2]), "=r"(v.other[3])
                 : "l"(second));
    return v;
}

__device__ __forceinline__ accumulator combine(accumulator a, accumulator b, const values &given)
{
    return a + b;
}

__device__ __forceinline__ accumulator map(value x, value y, const values &given)
{
    return x * y;
}

__device__ __forceinline__ u32 load_element_word(u64 from)
{
    u32 word[1];
    asm volatile("ld.global.u16 %0, [%1];"
                 : "=r"(word[0])
                 : "l"(from));
    return word[0];
}

// What load_vector() brings, element by element: from where it stands at no multiple of 16 bytes.
__device__ __forceinline__ vector gather_vector(u64 from, const values &given)
{
    vector v;
    v.word[0] = load_element_word(from + 0) | load_element_word(from + 2) << 16;
    v.word[1] = load_element_word(from + 4) | load_element_word(from + 6) << 16;
    v.word[2] = load_element_word(from + 8) | load_element_word(from + 10) << 16;
    v.word[3] = load_element_word(from + 12) | load_element_word(from + 14) << 16;
    v.other[0] = load_element_word(from + given.to_second + 0) | load_element_word(from + given.to_second + 2) << 16;
    v.other[1] = load_element_word(from + given.to_second + 4) | load_element_word(from + given.to_second + 6) << 16;
    v.other[2] = load_element_word(from + given.to_second + 8) | load_element_word(from + given.to_second + 10) << 16;
    v.other[3] = load_element_word(from + given.to_second + 12) | load_element_word(from + given.to_second + 14) << 16;
    return v;
}

template <bool ALIGNED>
__device__ __forceinline__ vector bring_vector(u64 from, const values &given)
{
    return ALIGNED ? load_vector(from, given) : gather_vector(from, given);
}

// The elements of a vector, the upper half combined into the lower until one is left.
__device__ __forceinline__ accumulator fold(accumulator (&a)[VEC], const values &given)
{
    a[0] = combine(a[0], a[4], given);
    a[1] = combine(a[1], a[5], given);
    a[2] = combine(a[2], a[6], given);
    a[3] = combine(a[3], a[7], given);
    a[0] = combine(a[0], a[2], given);
    a[1] = combine(a[1], a[3], given);
    a[0] = combine(a[0], a[1], given);
    return a[0];
}

__device__ __forceinline__ accumulator fold_vector(const vector &v, const values &given)
{
    accumulator a[VEC];
    a[0] = map(half_to_float(v.word[0]), half_to_float(v.other[0]), given);
    a[1] = map(half_to_float(v.word[0] >> 16), half_to_float(v.other[0] >> 16), given);
    a[2] = map(half_to_float(v.word[1]), half_to_float(v.other[1]), given);
    a[3] = map(half_to_float(v.word[1] >> 16), half_to_float(v.other[1] >> 16), given);
    a[4] = map(half_to_float(v.word[2]), half_to_float(v.other[2]), given);
    a[5] = map(half_to_float(v.word[2] >> 16), half_to_float(v.other[2] >> 16), given);
    a[6] = map(half_to_float(v.word[3]), half_to_float(v.other[3]), given);
    a[7] = map(half_to_float(v.word[3] >> 16), half_to_float(v.other[3] >> 16), given);
    return fold(a, given);
}

// A step brings UNROLL loads of a lane's eight, which are taken with the bits of their numbers
// reversed: 0, 4, 2, 6, 1, 5, 3, 7. So neighbours are those that halving combines.
template <bool ALIGNED>
__device__ __forceinline__ void load_step(vector (&v)[UNROLL], u64 chunk, u32 step, const values &given)
{
    const u64 from = chunk + threadIdx.x % 32 * LOAD_BYTES;
#pragma unroll
    for (u32 i = 0; i < UNROLL; i++) {
        const u32 k = step * UNROLL + i, load = k % 2 * 4 + k / 2 % 2 * 2 + k / 4;
        v[i] = bring_vector<ALIGNED>(from + load * 32 * LOAD_BYTES, given);
    }
}

// A step's loads, neighbours first.
__device__ __forceinline__ accumulator fold_step(const vector (&v)[UNROLL], const values &given)
{
    accumulator a[UNROLL];
#pragma unroll
    for (u32 i = 0; i < UNROLL; i++) a[i] = fold_vector(v[i], given);
    a[0] = combine(a[0], a[1], given);
    a[2] = combine(a[2], a[3], given);
    a[4] = combine(a[4], a[5], given);
    a[6] = combine(a[6], a[7], given);
    a[0] = combine(a[0], a[2], given);
    a[4] = combine(a[4], a[6], given);
    a[0] = combine(a[0], a[4], given);
    return a[0];
}

// A lane's share of the last chunk, of which the input may have a part only.
template <bool ALIGNED>
__device__ __forceinline__ accumulator take_last(u64 chunk, u64 end, const values &given)
{
    accumulator a[LOADS];
#pragma unroll
    for (u32 i = 0; i < LOADS; i++) {
        const u64 from = chunk + (threadIdx.x % 32 + i * 32) * LOAD_BYTES;
        if (from + LOAD_BYTES <= end) {
            a[i] = fold_vector(bring_vector<ALIGNED>(from, given), given);
        } else {
            accumulator each[VEC];
            each[0] = 0.0f;
            const u64 at0 = from + 0;
            if (at0 < end) each[0] = map(half_to_float(load_element_word(at0)), half_to_float(load_element_word(at0 + given.to_second)), given);
            each[1] = 0.0f;
            const u64 at1 = from + 2;
            if (at1 < end) each[1] = map(half_to_float(load_element_word(at1)), half_to_float(load_element_word(at1 + given.to_second)), given);
            each[2] = 0.0f;
            const u64 at2 = from + 4;
            if (at2 < end) each[2] = map(half_to_float(load_element_word(at2)), half_to_float(load_element_word(at2 + given.to_second)), given);
            each[3] = 0.0f;
            const u64 at3 = from + 6;
            if (at3 < end) each[3] = map(half_to_float(load_element_word(at3)), half_to_float(load_element_word(at3 + given.to_second)), given);
            each[4] = 0.0f;
            const u64 at4 = from + 8;
            if (at4 < end) each[4] = map(half_to_float(load_element_word(at4)), half_to_float(load_element_word(at4 + given.to_second)), given);
            each[5] = 0.0f;
            const u64 at5 = from + 10;
            if (at5 < end) each[5] = map(half_to_float(load_element_word(at5)), half_to_float(load_element_word(at5 + given.to_second)), given);
            each[6] = 0.0f;
            const u64 at6 = from + 12;
            if (at6 < end) each[6] = map(half_to_float(load_element_word(at6)), half_to_float(load_element_word(at6 + given.to_second)), given);
            each[7] = 0.0f;
            const u64 at7 = from + 14;
            if (at7 < end) each[7] = map(half_to_float(load_element_word(at7)), half_to_float(load_element_word(at7 + given.to_second)), given);
            a[i] = fold(each, given);
        }
    }
    a[0] = combine(a[0], a[4], given);
    a[1] = combine(a[1], a[5], given);
    a[2] = combine(a[2], a[6], given);
    a[3] = combine(a[3], a[7], given);
    a[0] = combine(a[0], a[2], given);
    a[1] = combine(a[1], a[3], given);
    a[0] = combine(a[0], a[1], given);
    return a[0];
}

// Every lane returns the combination of the lanes' values, the upper half combined into the lower.
__device__ __forceinline__ accumulator reduce_lanes(accumulator a, const values &given)
{
    a = combine(a, __shfl_down_sync(0xffffffff, a, 16), given);
    a = combine(a, __shfl_down_sync(0xffffffff, a, 8), given);
    a = combine(a, __shfl_down_sync(0xffffffff, a, 4), given);
    a = combine(a, __shfl_down_sync(0xffffffff, a, 2), given);
    a = combine(a, __shfl_down_sync(0xffffffff, a, 1), given);
    return __shfl_sync(0xffffffff, a, 0);
}

// Adds the value of chunk number c of a run to those that wait: neighbours are combined.
__device__ __forceinline__ accumulator carry(accumulator waiting, accumulator a, u32 c, const values &given)
{
    u32 level = 0;
    for (; c >> level & 1; level++) a = combine(__shfl_sync(0xffffffff, waiting, level), a, given);
    return threadIdx.x % 32 == level ? a : waiting;
}

// The value of a run of n chunks, which wait: behind them is nothing.
__device__ __forceinline__ accumulator settle(accumulator waiting, u32 n, const values &given)
{
    accumulator a = 0.0f;
    for (u32 level = 0; n >> level; level++)
        if (n >> level & 1) a = combine(__shfl_sync(0xffffffff, waiting, level), a, given);
    return a;
}

// Nodes of 2^span chunks, at least one.
__device__ __forceinline__ u64 nodes_of(u64 chunks, u32 span)
{
    const u64 nodes = (chunks + (1ull << span) - 1) >> span;
    return nodes ? nodes : 1;
}

// Thread 0 returns the combination of the values of the warps' first lanes, neighbours first. All
// threads of the block call it, with turn = 0, 1, 0, 1, ...: who writes a set of values again has
// passed the barrier of the other, before which this one was read.
__device__ __forceinline__ accumulator reduce_warps(accumulator a, u32 turn, const values &given)
{
    __shared__ accumulator warp_value[2][WARPS];
    const u32 warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    if (lane == 0) warp_value[turn][warp] = a;
    __syncthreads();
    if (warp == 0) {
        a = lane < WARPS ? warp_value[turn][lane] : 0.0f;
        a = combine(a, __shfl_down_sync(0xffffffff, a, 1), given);
    }
    return a;
}

// Where a warp's chunks of a node begin.
__device__ __forceinline__ u64 run_of(const element *input, u64 node, u32 span)
{
    const u64 first = (node << span) + threadIdx.x / 32 * ((1ull << span) / WARPS);
    return (u64)input + first * CHUNK_BYTES;
}

// The partial results of the blocks, in the order of their indices.
__device__ __forceinline__ accumulator *partials(void *scratch)
{
    return (accumulator *)((char *)scratch + 524544);
}

__device__ __forceinline__ void leave(void *scratch, u32 node, accumulator a)
{
    partials(scratch)[node] = a;
}

// Ends a node of which this thread's warp has `taken` chunks: its value is left in its place, or
// becomes `own`, which is that of node 0 where block 0 combines the nodes.
__device__ __forceinline__ void end_node(accumulator waiting, u32 taken, u32 node, u32 turn,
                                         accumulator &own, void *scratch, const values &given)
{
    const accumulator a = reduce_warps(settle(waiting, taken, given), turn, given);
    if (threadIdx.x == 0) leave(scratch, node, a);
}

// How many whole chunks there are from there on, at most `most`.
__device__ __forceinline__ u32 whole_chunks(u64 from, u64 end, u32 most)
{
    const u64 chunks = from < end ? (end - from) / CHUNK_BYTES : 0;
    return chunks < most ? (u32)chunks : most;
}

// Goes through the block's nodes: every gridDim.x-th. The loads of a warp's next step are on their
// way before the step before it is done with.
template <bool ALIGNED>
__device__ __forceinline__ accumulator take_nodes(const element *input, u64 count, u32 nodes,
                                                  u32 span, u32 &turn, void *scratch, const values &given)
{
    const u64 end = (u64)(input + count);
    const u32 run = (1u << span) / WARPS;  // chunks of a warp in a node
    accumulator own = 0.0f, waiting = own;
    u32 node = blockIdx.x, taken = 0;
    u64 at = run_of(input, node, span);
    u32 left = node < nodes ? whole_chunks(at, end, run) : 0;
    vector v[UNROLL];
    if (left > 0) load_step<ALIGNED>(v, at, 0, given);
    for (; node < nodes; node += gridDim.x) {
        // Lane i of `waiting` has the value of 2^i chunks that waits for its neighbour.
        waiting = 0.0f;
        u64 ahead = 0;
        u32 behind = 0;
        if (node + gridDim.x < nodes) {
            ahead = run_of(input, node + gridDim.x, span);
            behind = whole_chunks(ahead, end, run);
        }
        for (taken = 0; taken < left; taken++, at += CHUNK_BYTES) {
            accumulator part[STEPS];
#pragma unroll
            for (u32 i = 0; i < STEPS; i++) {
                part[i] = fold_step(v, given);
                if (i + 1 < STEPS)
                    load_step<ALIGNED>(v, at, i + 1, given);
                else if (taken + 1 < left || behind > 0)
                    load_step<ALIGNED>(v, taken + 1 < left ? at + CHUNK_BYTES : ahead, 0, given);
            }
            waiting = carry(waiting, reduce_lanes(part[0], given), taken, given);
        }
        if (node == nodes - 1) break;
        end_node(waiting, taken, node, turn, own, scratch, given);
        turn ^= 1;
        at = ahead;
        left = behind;
    }
    // Of the last chunk of all there may be a part only.
    if (node < nodes) {
        if (taken < run && at < end) {
            const accumulator a = reduce_lanes(take_last<ALIGNED>(at, end, given), given);
            waiting = carry(waiting, a, taken++, given);
        }
        end_node(waiting, taken, node, turn, own, scratch, given);
        turn ^= 1;
    }
    return own;
}

// Thread 0 returns the combination of the values of all nodes: a thread takes an aligned run of
// them, and block 0 has node 0's already.
__device__ __forceinline__ accumulator reduce_nodes(void *scratch, u32 nodes, accumulator own, u32 turn, const values &given)
{
    u32 each = 1;
    while (each * BLOCK < nodes) each *= 2;
    u32 at = threadIdx.x * each, taken = 0;
    const u32 end = at + each < nodes ? at + each : nodes;
    accumulator level[LEVELS], a = 0.0f;
#pragma unroll
    for (u32 k = 0; k < LEVELS; k++) level[k] = 0.0f;
    for (; at < end; at += AT_ONCE) {
        accumulator value[AT_ONCE];
#pragma unroll
        for (u32 i = 0; i < AT_ONCE; i++) {
            value[i] = 0.0f;
            if (at + i < end) value[i] = __ldcg(partials(scratch) + at + i);
        }
        value[0] = combine(value[0], value[1], given);
        value[2] = combine(value[2], value[3], given);
        value[0] = combine(value[0], value[2], given);
        // A value of 2^k of these waits for its neighbour in level[k].
        a = value[0];
#pragma unroll
        for (u32 k = 0; k < LEVELS; k++) {
            if ((taken >> k & 1) == 0) {
                level[k] = a;
                break;
            }
            a = combine(level[k], a, given);
        }
        taken++;
    }
    a = 0.0f;
#pragma unroll
    for (u32 k = 0; k < LEVELS; k++)
        if (taken >> k & 1) a = combine(level[k], a, given);
    // Neighbours are combined first, within a warp and above it.
    a = combine(a, __shfl_down_sync(0xffffffff, a, 1), given);
    a = combine(a, __shfl_down_sync(0xffffffff, a, 2), given);
    a = combine(a, __shfl_down_sync(0xffffffff, a, 4), given);
    a = combine(a, __shfl_down_sync(0xffffffff, a, 8), given);
    a = combine(a, __shfl_down_sync(0xffffffff, a, 16), given);
    return reduce_warps(a, turn, given);
}

extern "C" __global__ void __launch_bounds__(64, 16)
redtune_reduce(const element *input, u64 count, float *output, void *scratch, u32 overlaps, arguments rest)
{
    const values given = values_of(rest, input, output);
    // A node has 2^span chunks: more than the warps need where there would be too many nodes.
    const u64 chunks = (count + CHUNK - 1) / CHUNK;
    u32 span = 1, turn = 0;
    while (nodes_of(chunks, span) > NODES_MAX) span++;
    const u32 nodes = nodes_of(chunks, span);
    accumulator a;
    if ((u64)input % LOAD_BYTES == 0)
        a = take_nodes<true>(input, count, nodes, span, turn, scratch, given);
    else
        a = take_nodes<false>(input, count, nodes, span, turn, scratch, given);
    // The block that draws the last ticket finds all values written. atomicInc wraps, so the
    // counter is left at zero.
    __shared__ bool last;
    if (threadIdx.x == 0) {
        __threadfence();
        last = atomicInc((u32 *)scratch, gridDim.x - 1) == gridDim.x - 1;
        __threadfence();
    }
    __syncthreads();
    if (!last) return;
    a = reduce_nodes(scratch, nodes, a, turn, given);
    a = combine(0.0f, a, given);
    if (threadIdx.x == 0) *output = a;
}
