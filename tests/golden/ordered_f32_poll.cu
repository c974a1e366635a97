// redtune: the sum of f32 into f32, by the template "ordered" with
// block=256,chunks=2,unroll=4,resident=1536,load=no_allocate,finish=poll
// compile with --fmad=false
//
// output[0] = x[0] + ... + x[n-1]
// for any n = count and any element-aligned input, combined in the order of docs/order.md. Start it
// with 256 threads per block.

typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;
typedef float element;  // in memory
typedef float value;  // in registers
typedef float accumulator;

constexpr u32 BLOCK = 256;  // threads per block
constexpr u32 WARPS = BLOCK / 32;
constexpr u32 VEC = 4;  // elements per load
constexpr u32 LOADS = 8;  // loads of a thread in a chunk
constexpr u32 CHUNKS = 2;  // that a warp takes at least
constexpr u32 UNROLL = 4;  // independent loads in flight per thread
constexpr u32 STEPS = LOADS / UNROLL;

constexpr u64 LOAD_BYTES = 16;
constexpr u64 CHUNK_BYTES = 32 * LOADS * LOAD_BYTES;
constexpr u64 CHUNK = CHUNK_BYTES / sizeof(element);
constexpr u32 AT_ONCE = 4;  // values that a thread asks for at a time
constexpr u32 LEVELS = 3;  // of their tree in a thread
constexpr u64 NODES_MAX = 4096;  // there are places for as many

static_assert(sizeof(element) == 4 && sizeof(accumulator) <= 16, "");
static_assert(LOADS % UNROLL == 0, "");

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
    return x;
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

__device__ __forceinline__ accumulator fold_vector(const vector &v)
{
    accumulator a[VEC];
    a[0] = map(v.word[0]);
    a[1] = map(v.word[1]);
    a[2] = map(v.word[2]);
    a[3] = map(v.word[3]);
    return fold(a);
}

// A step brings UNROLL loads of a lane's eight, which are taken with the bits of their numbers
// reversed: 0, 4, 2, 6, 1, 5, 3, 7. So neighbours are those that halving combines.
template <bool ALIGNED>
__device__ __forceinline__ void load_step(vector (&v)[UNROLL], u64 chunk, u32 step)
{
    const u64 from = chunk + threadIdx.x % 32 * LOAD_BYTES;
#pragma unroll
    for (u32 i = 0; i < UNROLL; i++) {
        const u32 k = step * UNROLL + i, load = k % 2 * 4 + k / 2 % 2 * 2 + k / 4;
        v[i] = bring_vector<ALIGNED>(from + load * 32 * LOAD_BYTES);
    }
}

// A step's loads, neighbours first.
__device__ __forceinline__ accumulator fold_step(const vector (&v)[UNROLL])
{
    accumulator a[UNROLL];
#pragma unroll
    for (u32 i = 0; i < UNROLL; i++) a[i] = fold_vector(v[i]);
    a[0] = combine(a[0], a[1]);
    a[2] = combine(a[2], a[3]);
    a[0] = combine(a[0], a[2]);
    return a[0];
}

// A lane's share of the last chunk, of which the input may have a part only.
template <bool ALIGNED>
__device__ __forceinline__ accumulator take_last(u64 chunk, u64 end)
{
    accumulator a[LOADS];
#pragma unroll
    for (u32 i = 0; i < LOADS; i++) {
        const u64 from = chunk + (threadIdx.x % 32 + i * 32) * LOAD_BYTES;
        if (from + LOAD_BYTES <= end) {
            a[i] = fold_vector(bring_vector<ALIGNED>(from));
        } else {
            accumulator each[VEC];
            each[0] = 0.0f;
            const u64 at0 = from + 0;
            if (at0 < end) each[0] = map(load_element_word(at0));
            each[1] = 0.0f;
            const u64 at1 = from + 4;
            if (at1 < end) each[1] = map(load_element_word(at1));
            each[2] = 0.0f;
            const u64 at2 = from + 8;
            if (at2 < end) each[2] = map(load_element_word(at2));
            each[3] = 0.0f;
            const u64 at3 = from + 12;
            if (at3 < end) each[3] = map(load_element_word(at3));
            a[i] = fold(each);
        }
    }
    a[0] = combine(a[0], a[4]);
    a[1] = combine(a[1], a[5]);
    a[2] = combine(a[2], a[6]);
    a[3] = combine(a[3], a[7]);
    a[0] = combine(a[0], a[2]);
    a[1] = combine(a[1], a[3]);
    a[0] = combine(a[0], a[1]);
    return a[0];
}

// Every lane returns the combination of the lanes' values, the upper half combined into the lower.
__device__ __forceinline__ accumulator reduce_lanes(accumulator a)
{
    a = combine(a, __shfl_down_sync(0xffffffff, a, 16));
    a = combine(a, __shfl_down_sync(0xffffffff, a, 8));
    a = combine(a, __shfl_down_sync(0xffffffff, a, 4));
    a = combine(a, __shfl_down_sync(0xffffffff, a, 2));
    a = combine(a, __shfl_down_sync(0xffffffff, a, 1));
    return __shfl_sync(0xffffffff, a, 0);
}

// Adds the value of chunk number c of a run to those that wait: neighbours are combined.
__device__ __forceinline__ accumulator carry(accumulator waiting, accumulator a, u32 c)
{
    u32 level = 0;
    for (; c >> level & 1; level++) a = combine(__shfl_sync(0xffffffff, waiting, level), a);
    return threadIdx.x % 32 == level ? a : waiting;
}

// The value of a run of n chunks, which wait: behind them is nothing.
__device__ __forceinline__ accumulator settle(accumulator waiting, u32 n)
{
    accumulator a = 0.0f;
    for (u32 level = 0; n >> level; level++)
        if (n >> level & 1) a = combine(__shfl_sync(0xffffffff, waiting, level), a);
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
__device__ __forceinline__ accumulator reduce_warps(accumulator a, u32 turn)
{
    __shared__ accumulator warp_value[2][WARPS];
    const u32 warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    if (lane == 0) warp_value[turn][warp] = a;
    __syncthreads();
    if (warp == 0) {
        a = lane < WARPS ? warp_value[turn][lane] : 0.0f;
        a = combine(a, __shfl_down_sync(0xffffffff, a, 1));
        a = combine(a, __shfl_down_sync(0xffffffff, a, 2));
        a = combine(a, __shfl_down_sync(0xffffffff, a, 4));
    }
    return a;
}

// Where a warp's chunks of a node begin.
__device__ __forceinline__ u64 run_of(const element *input, u64 node, u32 span)
{
    const u64 first = (node << span) + threadIdx.x / 32 * ((1ull << span) / WARPS);
    return (u64)input + first * CHUNK_BYTES;
}

// A block hands over its value in words of 32 bits of it and, above them, a flag. A word is one
// store, so that whoever sees the flag has the bits: no fence, no atomic operation. Words are zero
// before and after. Every access is relaxed, the clearing too: a plain store would race.
constexpr u32 WORDS = 1;

__device__ __forceinline__ u64 *words_of(void *scratch, u32 block)
{
    return (u64 *)((char *)scratch + 256) + block * WORDS;
}

__device__ __forceinline__ void store_word(u64 *to, u64 word)
{
    asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" : : "l"(to), "l"(word) : "memory");
}

__device__ __forceinline__ u64 load_word(const u64 *from)
{
    u64 word;
    asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(word) : "l"(from) : "memory");
    return word;
}

__device__ __forceinline__ void publish(u64 *to, accumulator a)
{
    store_word(to + 0, 1ull << 32 | __float_as_uint(a));
}

__device__ __forceinline__ void leave(void *scratch, u32 node, accumulator a)
{
    publish(words_of(scratch, node), a);
}

// Ends a node of which this thread's warp has `taken` chunks: its value is left in its place, or
// becomes `own`, which is that of node 0 where block 0 combines the nodes.
__device__ __forceinline__ void end_node(accumulator waiting, u32 taken, u32 node, u32 turn,
                                         accumulator &own, void *scratch)
{
    const accumulator a = reduce_warps(settle(waiting, taken), turn);
    if (node == 0)
        own = a;
    else if (threadIdx.x == 0)
        leave(scratch, node, a);
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
                                                  u32 span, u32 &turn, void *scratch)
{
    const u64 end = (u64)(input + count);
    const u32 run = (1u << span) / WARPS;  // chunks of a warp in a node
    accumulator own = 0.0f, waiting = own;
    u32 node = blockIdx.x, taken = 0;
    u64 at = run_of(input, node, span);
    u32 left = node < nodes ? whole_chunks(at, end, run) : 0;
    vector v[UNROLL];
    if (left > 0) load_step<ALIGNED>(v, at, 0);
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
                part[i] = fold_step(v);
                if (i + 1 < STEPS)
                    load_step<ALIGNED>(v, at, i + 1);
                else if (taken + 1 < left || behind > 0)
                    load_step<ALIGNED>(v, taken + 1 < left ? at + CHUNK_BYTES : ahead, 0);
            }
            part[0] = combine(part[0], part[1]);
            waiting = carry(waiting, reduce_lanes(part[0]), taken);
        }
        if (node == nodes - 1) break;
        end_node(waiting, taken, node, turn, own, scratch);
        turn ^= 1;
        at = ahead;
        left = behind;
    }
    // Of the last chunk of all there may be a part only.
    if (node < nodes) {
        if (taken < run && at < end) {
            const accumulator a = reduce_lanes(take_last<ALIGNED>(at, end));
            waiting = carry(waiting, a, taken++);
        }
        end_node(waiting, taken, node, turn, own, scratch);
        turn ^= 1;
    }
    return own;
}

// Thread 0 returns the combination of the values of all nodes: a thread takes an aligned run of
// them, and block 0 has node 0's already.
__device__ __forceinline__ accumulator reduce_nodes(void *scratch, u32 nodes, accumulator own, u32 turn)
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
        u64 word[AT_ONCE][WORDS];
        u64 flags;
        // All words are asked for before one is looked at.
        do {
            flags = 1ull << 32;
#pragma unroll
            for (u32 i = 0; i < AT_ONCE; i++)
#pragma unroll
                for (u32 k = 0; k < WORDS; k++) {
                    word[i][k] = 1ull << 32;
                    if (at + i > 0 && at + i < end)
                        word[i][k] = load_word(words_of(scratch, at + i) + k);
                }
#pragma unroll
            for (u32 i = 0; i < AT_ONCE; i++)
#pragma unroll
                for (u32 k = 0; k < WORDS; k++) flags &= word[i][k];
        } while (flags >> 32 == 0);
#pragma unroll
        for (u32 i = 0; i < AT_ONCE; i++) {
            if (at + i > 0 && at + i < end)
#pragma unroll
                for (u32 k = 0; k < WORDS; k++) store_word(words_of(scratch, at + i) + k, 0);
            const u32 half0 = (u32)word[i][0];
            value[i] = __uint_as_float(half0);
            if (at + i >= end) value[i] = 0.0f;
        }
        if (at == 0) value[0] = own;
        value[0] = combine(value[0], value[1]);
        value[2] = combine(value[2], value[3]);
        value[0] = combine(value[0], value[2]);
        // A value of 2^k of these waits for its neighbour in level[k].
        a = value[0];
#pragma unroll
        for (u32 k = 0; k < LEVELS; k++) {
            if ((taken >> k & 1) == 0) {
                level[k] = a;
                break;
            }
            a = combine(level[k], a);
        }
        taken++;
    }
    a = 0.0f;
#pragma unroll
    for (u32 k = 0; k < LEVELS; k++)
        if (taken >> k & 1) a = combine(level[k], a);
    // Neighbours are combined first, within a warp and above it.
    a = combine(a, __shfl_down_sync(0xffffffff, a, 1));
    a = combine(a, __shfl_down_sync(0xffffffff, a, 2));
    a = combine(a, __shfl_down_sync(0xffffffff, a, 4));
    a = combine(a, __shfl_down_sync(0xffffffff, a, 8));
    a = combine(a, __shfl_down_sync(0xffffffff, a, 16));
    return reduce_warps(a, turn);
}

extern "C" __global__ void __launch_bounds__(256, 6)
redtune_reduce(const element *input, u64 count, float *output, void *scratch, u32 overlaps)
{
    // A node has 2^span chunks: more than the warps need where there would be too many nodes.
    const u64 chunks = (count + CHUNK - 1) / CHUNK;
    u32 span = 4, turn = 0;
    while (nodes_of(chunks, span) > NODES_MAX) span++;
    const u32 nodes = nodes_of(chunks, span);
    accumulator a;
    if ((u64)input % LOAD_BYTES == 0)
        a = take_nodes<true>(input, count, nodes, span, turn, scratch);
    else
        a = take_nodes<false>(input, count, nodes, span, turn, scratch);
    // Block 0 waits for all others, which wait for nobody.
    if (blockIdx.x > 0) return;
    if (nodes > 1) a = reduce_nodes(scratch, nodes, a, turn);
    a = combine(0.0f, a);
    if (threadIdx.x == 0) *output = a;
}
