// redtune: the sum of f16 into f32, by the template "ordered" with
// block=256,lanes=128,chunks=1,unroll=2,resident=1024,load=no_allocate,rows=1,finish=poll
// compile with --fmad=false
//
// output[0] = x[0] + ... + x[n-1]
// for any n = count and any element-aligned input, combined in the order of docs/order.md. Start it
// with 256 threads per block.

typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;
typedef unsigned short element;  // in memory
typedef float value;  // in registers
typedef float accumulator;

constexpr u32 BLOCK = 256;  // threads per block
constexpr u32 LANES = 128;  // threads that share a chunk: a group
constexpr u32 GROUPS = BLOCK / LANES;
constexpr u32 VEC = 8;  // elements per load
constexpr u32 LOADS = 8;  // loads of a thread in a chunk
constexpr u32 UNROLL = 2;  // independent loads in flight per thread
constexpr u32 STEPS = LOADS / UNROLL;
constexpr u32 ROWS = 1;  // results that a block makes one after the other

constexpr u64 LOAD_BYTES = 16;
constexpr u64 CHUNK_BYTES = 32 * LOADS * LOAD_BYTES;
constexpr u64 CHUNK = CHUNK_BYTES / sizeof(element);
constexpr u64 PLACES = 65536;  // of nodes in scratch
constexpr u64 NODES_MAX = 16 * BLOCK;  // of a result: a thread combines 16 at most

static_assert(sizeof(element) == 2 && sizeof(accumulator) <= 16, "");
static_assert(LOADS % UNROLL == 0, "");

struct vector {
    u32 word[4];
};

__device__ __forceinline__ float half_to_float(u32 bits)
{
    float x;
    asm("{ .reg .b16 h; cvt.u16.u32 h, %1; cvt.f32.f16 %0, h; }" : "=f"(x) : "r"(bits));
    return x;
}

__device__ __forceinline__ vector load_vector(u64 from)
{
    vector v;
    asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.word[0]), "=r"(v.word[1]), "=r"(v.word[2]), "=r"(v.word[3])
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

__device__ __forceinline__ u32 load_element_word(u64 from)
{
    u32 word[1];
    asm volatile("ld.global.u16 %0, [%1];"
                 : "=r"(word[0])
                 : "l"(from));
    return word[0];
}

// What load_vector() brings, element by element: from where it stands at no multiple of 16 bytes.
__device__ __forceinline__ vector gather_vector(u64 from)
{
    vector v;
    v.word[0] = load_element_word(from + 0) | load_element_word(from + 2) << 16;
    v.word[1] = load_element_word(from + 4) | load_element_word(from + 6) << 16;
    v.word[2] = load_element_word(from + 8) | load_element_word(from + 10) << 16;
    v.word[3] = load_element_word(from + 12) | load_element_word(from + 14) << 16;
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
    a[0] = combine(a[0], a[4]);
    a[1] = combine(a[1], a[5]);
    a[2] = combine(a[2], a[6]);
    a[3] = combine(a[3], a[7]);
    a[0] = combine(a[0], a[2]);
    a[1] = combine(a[1], a[3]);
    a[0] = combine(a[0], a[1]);
    return a[0];
}

__device__ __forceinline__ accumulator fold_vector(vector v)
{
    accumulator a[VEC];
    a[0] = map(half_to_float(v.word[0]));
    a[1] = map(half_to_float(v.word[0] >> 16));
    a[2] = map(half_to_float(v.word[1]));
    a[3] = map(half_to_float(v.word[1] >> 16));
    a[4] = map(half_to_float(v.word[2]));
    a[5] = map(half_to_float(v.word[2] >> 16));
    a[6] = map(half_to_float(v.word[3]));
    a[7] = map(half_to_float(v.word[3] >> 16));
    return fold(a);
}

// The value of the vector that begins there, of which there is a part only: up to `end`.
__device__ __forceinline__ accumulator take_edge(u64 from, u64 end)
{
    // All loads before the first use. Those of missing elements bring the first one.
    const u64 at0 = from;
    const u32 x0 = load_element_word(at0);
    const u64 at1 = from + 2 < end ? from + 2 : from;
    const u32 x1 = load_element_word(at1);
    const u64 at2 = from + 4 < end ? from + 4 : from;
    const u32 x2 = load_element_word(at2);
    const u64 at3 = from + 6 < end ? from + 6 : from;
    const u32 x3 = load_element_word(at3);
    const u64 at4 = from + 8 < end ? from + 8 : from;
    const u32 x4 = load_element_word(at4);
    const u64 at5 = from + 10 < end ? from + 10 : from;
    const u32 x5 = load_element_word(at5);
    const u64 at6 = from + 12 < end ? from + 12 : from;
    const u32 x6 = load_element_word(at6);
    const u64 at7 = from + 14 < end ? from + 14 : from;
    const u32 x7 = load_element_word(at7);
    accumulator a[VEC];
    a[0] = map(half_to_float(x0));
    a[1] = map(half_to_float(x1));
    if (from + 2 >= end) a[1] = 0.0f;
    a[2] = map(half_to_float(x2));
    if (from + 4 >= end) a[2] = 0.0f;
    a[3] = map(half_to_float(x3));
    if (from + 6 >= end) a[3] = 0.0f;
    a[4] = map(half_to_float(x4));
    if (from + 8 >= end) a[4] = 0.0f;
    a[5] = map(half_to_float(x5));
    if (from + 10 >= end) a[5] = 0.0f;
    a[6] = map(half_to_float(x6));
    if (from + 12 >= end) a[6] = 0.0f;
    a[7] = map(half_to_float(x7));
    if (from + 14 >= end) a[7] = 0.0f;
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
    part[0] = combine(part[0], part[1]);
    part[2] = combine(part[2], part[3]);
    part[0] = combine(part[0], part[2]);
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

// Which of the sets of results that blocks make a block makes, from which of the splits of their
// elements.
struct share {
    u64 sets, set;
    u32 splits, split;
};

// Where there are two blocks for each set, all are shared by as many. Block b takes split b /
// sets: those that read side by side start together, and those of the last split after all others.
// So these may wait for the others, which have multiprocessors already. There is no set for what
// is left over.
__device__ __forceinline__ share share_of(u64 sets)
{
    if (sets > gridDim.x / 2) return share{sets, blockIdx.x, 1, 0};
    const u32 n = sets, splits = gridDim.x / n, split = blockIdx.x / n;
    return share{sets, split < splits ? blockIdx.x - split * n : sets, splits, split};
}

// The number of the block that has that split of the same set.
__device__ __forceinline__ u32 number_of(const share &mine, u32 split)
{
    return (u32)mine.set + split * (u32)mine.sets;
}

constexpr u32 AT_ONCE = 8;  // values that a thread asks for at a time

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

// A thread hands over a value, which is the one of that number of its launch.
__device__ __forceinline__ void leave(void *scratch, u32 number, accumulator a)
{
    publish(words_of(scratch, number), a);
}

// The combination of n nodes' values, neighbours first: the first is the one of that number of the
// launch, and each of the others `step` behind the one before it. No thread of the block has more
// than `most`, which is the same for all of them.
__device__ __forceinline__ accumulator reduce_nodes(void *scratch, u32 number, u32 step, u32 n, u32 most)
{
    constexpr u32 LEVELS = 2;
    accumulator level[LEVELS], a = 0.0f;
#pragma unroll
    for (u32 k = 0; k < LEVELS; k++) level[k] = 0.0f;
    u32 taken = 0;
    // All lanes of a warp go on together: lanes that leave a loop of such loads at different times
    // came to the next barrier at different times on an H200, and the first of them counted for all.
    for (u32 first = 0; first < most; first += AT_ONCE, taken++) {
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
                    if (first + i < n)
                        word[i][k] = load_word(words_of(scratch, number + (first + i) * step) + k);
                }
#pragma unroll
            for (u32 i = 0; i < AT_ONCE; i++)
#pragma unroll
                for (u32 k = 0; k < WORDS; k++) flags &= word[i][k];
        } while (__any_sync(0xffffffff, flags >> 32 == 0));
#pragma unroll
        for (u32 i = 0; i < AT_ONCE; i++) {
            if (first + i < n)
#pragma unroll
                for (u32 k = 0; k < WORDS; k++)
                    store_word(words_of(scratch, number + (first + i) * step) + k, 0);
            const u32 half0 = (u32)word[i][0];
            value[i] = __uint_as_float(half0);
            if (first + i >= n) value[i] = 0.0f;
        }
        value[0] = combine(value[0], value[1]);
        value[2] = combine(value[2], value[3]);
        value[4] = combine(value[4], value[5]);
        value[6] = combine(value[6], value[7]);
        value[0] = combine(value[0], value[2]);
        value[4] = combine(value[4], value[6]);
        value[0] = combine(value[0], value[4]);
            do {
                if ((taken >> 0 & 1) == 0) {
                    level[0] = value[0];
                    break;
                }
                value[0] = combine(level[0], value[0]);
                level[1] = value[0];
            } while (false);
    }
    a = 0.0f;
#pragma unroll
    for (u32 k = 0; k < LEVELS; k++)
        if (taken >> k & 1) a = combine(level[k], a);
    return a;
}

// Nodes of 2^span chunks, at least one.
__device__ __forceinline__ u64 nodes_of(u64 chunks, u32 span)
{
    const u64 nodes = (chunks + (1ull << span) - 1) >> span;
    return nodes ? nodes : 1;
}

// Thread 0 returns the combination of the values of the first threads of each THREADS, neighbours
// first. All threads of the block call it, with turn = 0, 1, 0, 1, ...: who writes a set of values
// again has passed the barrier of the other, before which this one was read.
template <u32 THREADS>
__device__ __forceinline__ accumulator reduce_groups(accumulator a, u32 turn)
{
    constexpr u32 VALUES = BLOCK / THREADS;
    if (VALUES == 1) return a;
    __shared__ accumulator group_value[2][VALUES];
    if (threadIdx.x % THREADS == 0) group_value[turn][threadIdx.x / THREADS] = a;
    __syncthreads();
    if (threadIdx.x < 32) {
        a = threadIdx.x < VALUES ? group_value[turn][threadIdx.x] : 0.0f;
        if (1 < VALUES) a = combine(a, __shfl_down_sync(0xffffffff, a, 1));
        if (2 < VALUES) a = combine(a, __shfl_down_sync(0xffffffff, a, 2));
        if (4 < VALUES) a = combine(a, __shfl_down_sync(0xffffffff, a, 4));
    }
    return a;
}

// The rows that are reduced. A whole array is one.
struct rows {
    const element *input;
    u64 count, number, pitch;
};

// What a block has to do: nodes of 2^span chunks, of a share of the rows.
struct plan {
    share mine;
    u32 nodes, span;  // of each row
};

__device__ __forceinline__ plan plan_of(const rows &all)
{
    plan p;
    p.mine = share{1, 0, gridDim.x, blockIdx.x};
    // A node has as many chunks as the groups need, or more where there would be too many nodes.
    const u64 chunks = (all.count + CHUNK - 1) / CHUNK;
    u64 most = 1;
    if (true) most = PLACES / p.mine.sets < NODES_MAX ? PLACES / p.mine.sets : NODES_MAX;
    p.span = 1;
    while (nodes_of(chunks, p.span) > most) p.span++;
    p.nodes = nodes_of(chunks, p.span);
    return p;
}

// This warp's part of a node of a row. Chunks are the node's at most, and those that the row has.
__device__ __forceinline__ run run_of(const rows &all, u64 row, u32 node, u32 span)
{
    const u32 most = (1u << span) / GROUPS;
    const u64 begin = (u64)(all.input + row * all.pitch);
    const u64 at = begin + (((u64)node << span) + threadIdx.x / 32 * most) * CHUNK_BYTES;
    return run_between(at, begin + all.count * sizeof(element), most);
}

// The row and number of the block's first node, and whether there is one.
__device__ __forceinline__ u64 first_row(const plan &p)
{
    return 0;
}

__device__ __forceinline__ u32 first_node(const plan &p)
{
    // The last block, which waits for the others, has none of which there may be a part only.
    if (p.nodes <= p.mine.splits) return p.nodes - 1 - p.mine.split;
    return p.mine.split;
}

__device__ __forceinline__ bool has_node(const plan &p)
{
    return p.mine.split < p.nodes;
}

// Goes on to the block's next node, of the same row or another.
__device__ __forceinline__ void step_on(u64 &row, u32 &node, const plan &p)
{
    if (true) node += p.mine.splits;
}

// Ends a node of which the first thread of each group has its value: a row that is not split is finished, and
// the value of another node is left.
__device__ __forceinline__ void end_node(accumulator a, u64 row, u32 node, u32 &turn,
                                         const plan &p, u64 count, float *output, void *scratch)
{
    a = reduce_groups<LANES>(a, turn);
    turn ^= 1;
    if (true) {
        if (threadIdx.x == 0) leave(scratch, number_of(p.mine, node), a);
        return;
    }
    a = combine(0.0f, a);
    if (threadIdx.x == 0) output[row] = a;
}

constexpr u32 OWN = 256 / LANES;  // loads of a thread in a chunk

// A thread's share of the chunk at that address, of which there is what lies before `end`.
template <bool ALIGNED>
__device__ __forceinline__ accumulator take_share(u64 chunk, u64 end)
{
    const u64 first = chunk + threadIdx.x % LANES * LOAD_BYTES;
    vector v[OWN];
    u64 at[OWN];
    // With the bits of their numbers reversed, so that neighbours are those that halving combines.
#pragma unroll
    for (u32 i = 0; i < OWN; i++) {
        at[i] = first + (__brev(i) >> 31) * LANES * LOAD_BYTES;
        if (at[i] + LOAD_BYTES <= end) v[i] = bring_vector<ALIGNED>(at[i]);
    }
    accumulator a[OWN], edge = 0.0f;
    // The vector that the end cuts is asked for by the thread that it belongs to.
    const u64 behind = (end - chunk) % LOAD_BYTES;
    const bool is_cut = behind > 0 && end > first && end - chunk < CHUNK_BYTES;
    if (is_cut && (end - first) % (LANES * LOAD_BYTES) == behind)
        edge = take_edge(end - behind, end);
#pragma unroll
    for (u32 i = 0; i < OWN; i++) {
        a[i] = fold_vector(v[i]);
        if (at[i] + LOAD_BYTES > end) a[i] = at[i] < end ? edge : 0.0f;
    }
    a[0] = combine(a[0], a[1]);
    return a[0];
}

// The first thread of each group returns the combination of its threads' values, the upper half
// combined into the lower. All threads of the block call it, with turn = 0, 1, 0, 1, ..., as
// reduce_groups().
__device__ __forceinline__ accumulator reduce_group(accumulator a, u32 turn)
{
    __shared__ accumulator thread_value[2][BLOCK];
    thread_value[turn][threadIdx.x] = a;
    __syncthreads();
    if (threadIdx.x % LANES < 32) {
        accumulator x[LANES / 32];
#pragma unroll
        for (u32 i = 0; i < LANES / 32; i++) x[i] = thread_value[turn][threadIdx.x + 32 * i];
        x[0] = combine(x[0], x[2]);
        x[1] = combine(x[1], x[3]);
        x[0] = combine(x[0], x[1]);
        a = reduce_lanes(x[0]);
    }
    return a;
}

// Goes through the block's nodes. All groups take as many chunks of each, those too that are missing.
template <bool ALIGNED>
__device__ __forceinline__ void take_nodes(const rows &all, const plan &p, u32 &turn, float *output,
                                           void *scratch)
{
    const u32 each = (1u << p.span) / GROUPS;
    u64 row = first_row(p);
    u32 node = first_node(p), set = 0;
    for (bool is_there = has_node(p); is_there; is_there = row < all.number && node < p.nodes) {
        const u64 begin = (u64)(all.input + row * all.pitch), end = begin + all.count * sizeof(element);
        const u64 at = begin + ((u64)node << p.span) * CHUNK_BYTES;
        const u64 own = at + (u64)(threadIdx.x / LANES * each) * CHUNK_BYTES;
        // Lane i of `waiting` has the value of 2^i chunks that waits for its neighbour.
        accumulator waiting = 0.0f;
        u32 taken = 0;
        do {
            const accumulator a = take_share<ALIGNED>(own + taken * CHUNK_BYTES, end);
            const accumulator value = reduce_group(a, set);
            waiting = each > 1 ? carry(waiting, value, taken) : value;
            set ^= 1;
            taken++;
        } while (taken < each && at + taken * CHUNK_BYTES < end);
        end_node(settle(waiting, taken), row, node, turn, p, all.count, output, scratch);
        step_on(row, node, p);
    }
}

extern "C" __global__ void __launch_bounds__(256, 4)
redtune_reduce(const element *input, u64 count, float *output, void *scratch, u32 overlaps)
{
    // What the arguments alone say is made before the kernel waits for the one before it.
    const rows all = rows{input, count, 1, 0};
    const plan p = plan_of(all);
    u32 turn = 0;
    if (((u64)input | (all.number > 1 ? all.pitch : 0) * sizeof(element)) % LOAD_BYTES == 0)
        take_nodes<true>(all, p, turn, output, scratch);
    else
        take_nodes<false>(all, p, turn, output, scratch);
    const u32 nodes = p.nodes;
    // The last block waits for the others of its row, which wait for nobody.
    if (p.mine.split < p.mine.splits - 1) return;
    // A thread takes an aligned run of nodes. Neighbours are combined first, within a warp and above it.
    u32 each = 1;
    while (each * BLOCK < nodes) each *= 2;
    const u32 first = threadIdx.x * each, left = first < nodes ? nodes - first : 0;
    accumulator a = reduce_nodes(scratch, number_of(p.mine, first), (u32)p.mine.sets, left < each ? left : each, each);
    a = combine(a, __shfl_down_sync(0xffffffff, a, 1));
    a = combine(a, __shfl_down_sync(0xffffffff, a, 2));
    a = combine(a, __shfl_down_sync(0xffffffff, a, 4));
    a = combine(a, __shfl_down_sync(0xffffffff, a, 8));
    a = combine(a, __shfl_down_sync(0xffffffff, a, 16));
    a = combine(0.0f, reduce_groups<32>(a, turn));
    if (threadIdx.x == 0) output[p.mine.set] = a;
}
