// redtune: the var of f64 into f64, by the template "ordered" with
// block=128,lanes=32,chunks=1,unroll=2,resident=512,load=no_allocate,rows=1,finish=single
// compile with --fmad=false
//
// output[0] = ((x[0] - mean)^2 + ... + (x[n-1] - mean)^2) / (n - ddof)
// for any n = count and any element-aligned input, combined in the order of docs/order.md. Start it
// with 128 threads per block.

typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;
struct record {
    double from;
    double off;
    double m2;
    double n;
};
struct portion {
    double from, sum, squares;
    u64 n;
    bool begun;
};
typedef double element;  // in memory
typedef double value;  // in registers
typedef record accumulator;

// As model/launch.h has it.
struct arguments {
    u64 input, output;
    double scalar[2];
    u64 scalars, count, resumes;
};

static_assert(sizeof(arguments) == 56, "");

struct values {
    double ddof;  // a parameter of the op
};

__device__ __forceinline__ values values_of(const arguments &rest, const void *input,
                                            double *output)
{
    values given;
    given.ddof = rest.scalars ? ((const double *)rest.scalars)[0] : rest.scalar[0];
    return given;
}

constexpr u32 BLOCK = 128;  // threads per block
constexpr u32 LANES = 32;  // threads that share a chunk: a group
constexpr u32 GROUPS = BLOCK / LANES;
constexpr u32 VEC = 2;  // elements per load
constexpr u32 LOADS = 8;  // loads of a thread in a chunk
constexpr u32 UNROLL = 2;  // independent loads in flight per thread
constexpr u32 STEPS = LOADS / UNROLL;
constexpr u32 ROWS = 1;  // results that a block makes one after the other

constexpr u64 LOAD_BYTES = 16;
constexpr u64 CHUNK_BYTES = 32 * LOADS * LOAD_BYTES;
constexpr u64 CHUNK = CHUNK_BYTES / sizeof(element);

static_assert(sizeof(element) == 8 && sizeof(accumulator) <= 32, "");
static_assert(LOADS % UNROLL == 0, "");

struct vector {
    double word[2];
};

__device__ __forceinline__ vector load_vector(u64 from, const values &given)
{
    vector v;
    asm volatile("ld.global.nc.L1::no_allocate.v2.f64 {%0, %1}, [%2];"
                 : "=d"(v.word[0]), "=d"(v.word[1])
                 : "l"(from));
    return v;
}

__device__ __forceinline__ record join_moments(record a, record b)
{
    if (a.n == 0 || b.n == 0) return a.n == 0 ? b : a;
    const double n = a.n + b.n, share = a.n == b.n ? 0.5 : b.n / n;
    const double apart = b.from - a.from, delta = apart + (b.off - a.off);
    const bool finite = delta - delta == 0;
    return record{a.from, finite ? a.off + delta * share : a.off + b.off + apart * 0,
                  a.m2 + b.m2 + delta * delta * (share * a.n), n};
}

// The lanes of a group of N, which all get the same, at once: first their mean, then their squares
// about that. Distances are from where one of them has its mean, so that they have all their digits.
template <u32 N>
__device__ __forceinline__ record join_lanes(record a)
{
    const u32 first = threadIdx.x % 32 / N * N;
    const u32 filled = __ballot_sync(0xffffffff, a.n > 0) >> first & (0xffffffff >> (32 - N));
    const double from = __shfl_sync(0xffffffff, a.from, filled ? first + __ffs(filled) - 1 : first);
    const double near = (a.from - from) + a.off;
    double n = a.n, sum = a.n * near;
#pragma unroll
    for (u32 step = N / 2; step > 0; step /= 2) {
        n += __shfl_xor_sync(0xffffffff, n, step);
        sum += __shfl_xor_sync(0xffffffff, sum, step);
    }
    const double off = sum / fmax(n, 1.0), apart = near - off;
    double m2 = a.m2 + a.n * apart * apart;
#pragma unroll
    for (u32 step = N / 2; step > 0; step /= 2) m2 += __shfl_xor_sync(0xffffffff, m2, step);
    return record{from, off, m2, n};
}

__device__ __forceinline__ portion add_to_portion(portion p, double x)
{
    if (!p.begun) p.from = x - x == 0 ? x : 0;
    const double distance = x - p.from;
    return portion{p.from, p.sum + distance, p.squares + distance * distance, p.n + 1, true};
}

__device__ __forceinline__ record moments_of(portion p)
{
    const double n = (double)p.n;
    const double off = p.sum / fmax(n, 1.0), m2 = p.squares - p.sum * off;
    return record{p.from, off, m2 < 0 ? 0 : m2, n};
}

__device__ __forceinline__ accumulator combine(accumulator a, accumulator b, const values &given)
{
    return join_moments(a, b);
}

__device__ __forceinline__ accumulator map(value x, const values &given)
{
    return moments_of(add_to_portion(portion{0, 0, 0, 0, false}, x));
}

__device__ __forceinline__ double load_element_word(u64 from)
{
    double word[1];
    asm volatile("ld.global.f64 %0, [%1];"
                 : "=d"(word[0])
                 : "l"(from));
    return word[0];
}

// What load_vector() brings, element by element: from where it stands at no multiple of 16 bytes.
__device__ __forceinline__ vector gather_vector(u64 from, const values &given)
{
    vector v;
    v.word[0] = load_element_word(from + 0);
    v.word[1] = load_element_word(from + 8);
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
    a[0] = combine(a[0], a[1], given);
    return a[0];
}

__device__ __noinline__ accumulator fold_vector(vector v, const values &given)
{
    accumulator a[VEC];
    a[0] = map(v.word[0], given);
    a[1] = map(v.word[1], given);
    return fold(a, given);
}

// The value of the vector that begins there, of which there is a part only: up to `end`.
__device__ __noinline__ accumulator take_edge(u64 from, u64 end, const values &given)
{
    // All loads before the first use. Those of missing elements bring the first one.
    const u64 at0 = from;
    const double x0 = load_element_word(at0);
    const u64 at1 = from + 8 < end ? from + 8 : from;
    const double x1 = load_element_word(at1);
    accumulator a[VEC];
    a[0] = map(x0, given);
    a[1] = map(x1, given);
    if (from + 8 >= end) a[1] = record{0, 0, 0, 0};
    return fold(a, given);
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
                                          u32 step, const values &given)
{
#pragma unroll
    for (u32 i = 0; i < UNROLL; i++) {
        const u64 at = place_of(chunk, step, i);
        if (!PART || at + LOAD_BYTES <= end) v[i] = bring_vector<ALIGNED>(at, given);
    }
}

// A step's loads, neighbours first. `edge` is the value of the vector of which there is a part.
template <bool PART>
__device__ __forceinline__ accumulator fold_step(const vector (&v)[UNROLL], u64 chunk, u64 end,
                                                u32 step, accumulator edge, const values &given)
{
    accumulator a[UNROLL];
#pragma unroll
    for (u32 i = 0; i < UNROLL; i++) {
        const u64 at = place_of(chunk, step, i);
        a[i] = fold_vector(v[i], given);
        if (PART && at + LOAD_BYTES > end) a[i] = at < end ? edge : record{0, 0, 0, 0};
    }
    a[0] = combine(a[0], a[1], given);
    return a[0];
}

// Lane 0 returns the combination of the lanes' values, the upper half combined into the lower.
__device__ __forceinline__ accumulator reduce_lanes(accumulator a, const values &given)
{
    a = combine(a, record{__shfl_down_sync(0xffffffff, a.from, 16), __shfl_down_sync(0xffffffff, a.off, 16), __shfl_down_sync(0xffffffff, a.m2, 16), __shfl_down_sync(0xffffffff, a.n, 16)}, given);
    a = combine(a, record{__shfl_down_sync(0xffffffff, a.from, 8), __shfl_down_sync(0xffffffff, a.off, 8), __shfl_down_sync(0xffffffff, a.m2, 8), __shfl_down_sync(0xffffffff, a.n, 8)}, given);
    a = combine(a, record{__shfl_down_sync(0xffffffff, a.from, 4), __shfl_down_sync(0xffffffff, a.off, 4), __shfl_down_sync(0xffffffff, a.m2, 4), __shfl_down_sync(0xffffffff, a.n, 4)}, given);
    a = combine(a, record{__shfl_down_sync(0xffffffff, a.from, 2), __shfl_down_sync(0xffffffff, a.off, 2), __shfl_down_sync(0xffffffff, a.m2, 2), __shfl_down_sync(0xffffffff, a.n, 2)}, given);
    a = combine(a, record{__shfl_down_sync(0xffffffff, a.from, 1), __shfl_down_sync(0xffffffff, a.off, 1), __shfl_down_sync(0xffffffff, a.m2, 1), __shfl_down_sync(0xffffffff, a.n, 1)}, given);
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
__device__ __forceinline__ void load_first(vector (&v)[UNROLL], const run &r, const values &given)
{
    if (r.whole > 0)
        load_step<ALIGNED, false>(v, r.at, 0, 0, given);
    else if (r.part_bytes > 0)
        load_step<ALIGNED, true>(v, r.at, r.at + r.part_bytes, 0, given);
}

// Lane 0 returns the value of the first chunk of a run, whose first step is on its way. The first step
// of `next` is asked for before the last one of the chunk is done with.
template <bool ALIGNED, bool PART>
__device__ __forceinline__ accumulator take_chunk(vector (&v)[UNROLL], const run &own, accumulator edge,
                                                  const run &next, const values &given)
{
    const u64 end = own.at + own.part_bytes;  // of a part
    accumulator part[STEPS];
#pragma unroll
    for (u32 i = 0; i < STEPS; i++) {
        part[i] = fold_step<PART>(v, own.at, end, i, edge, given);
        if (i + 1 < STEPS)
            load_step<ALIGNED, PART>(v, own.at, end, i + 1, given);
        else
            load_first<ALIGNED>(v, next, given);
    }
    part[0] = combine(part[0], part[1], given);
    part[2] = combine(part[2], part[3], given);
    part[0] = combine(part[0], part[2], given);
    return reduce_lanes(part[0], given);
}

// Adds the value of chunk number c of a run, which lane 0 has, to those that wait: neighbours are
// combined.
__device__ __forceinline__ accumulator carry(accumulator waiting, accumulator a, u32 c, const values &given)
{
    u32 level = 0;
    if (c & 1) a = record{__shfl_sync(0xffffffff, a.from, 0), __shfl_sync(0xffffffff, a.off, 0), __shfl_sync(0xffffffff, a.m2, 0), __shfl_sync(0xffffffff, a.n, 0)};
    for (; c >> level & 1; level++) a = combine(record{__shfl_sync(0xffffffff, waiting.from, level), __shfl_sync(0xffffffff, waiting.off, level), __shfl_sync(0xffffffff, waiting.m2, level), __shfl_sync(0xffffffff, waiting.n, level)}, a, given);
    return threadIdx.x % 32 == level ? a : waiting;
}

// Lane 0 returns the value of a run of n chunks, which wait: behind them is nothing.
__device__ __forceinline__ accumulator settle(accumulator waiting, u32 n, const values &given)
{
    if (n <= 1) return waiting; // lane 0 has the only one, or nothing waits
    accumulator a = record{0, 0, 0, 0};
    for (u32 level = 0; n >> level; level++)
        if (n >> level & 1) a = combine(record{__shfl_sync(0xffffffff, waiting.from, level), __shfl_sync(0xffffffff, waiting.off, level), __shfl_sync(0xffffffff, waiting.m2, level), __shfl_sync(0xffffffff, waiting.n, level)}, a, given);
    return a;
}

// Lane 0 returns the value of a run whose first step is on its way. The first step of the run `next` is
// asked for before the last one is done with: a warp that has no chunks of a run has none of the next.
template <bool ALIGNED>
__device__ __forceinline__ accumulator take_run(vector (&v)[UNROLL], run own, const run &next, const values &given)
{
    // Lane i of `waiting` has the value of 2^i chunks that waits for its neighbour.
    accumulator waiting = record{0, 0, 0, 0};
    u32 taken = 0;
    const u32 behind = own.part_bytes % (u32)LOAD_BYTES;
    accumulator edge = record{0, 0, 0, 0};
    if (behind > 0) {
        // Its loads are asked for while those of the first step are on their way.
        const u64 end = own.at + own.whole * CHUNK_BYTES + own.part_bytes;
        edge = take_edge(end - behind, end, given);
    }
    while (own.whole > 0) {
        const run rest = {own.at + CHUNK_BYTES, own.whole - 1, own.part_bytes};
        const bool is_last = rest.whole + rest.part_bytes == 0;
        const run further = {is_last ? next.at : rest.at, is_last ? next.whole : rest.whole,
                             is_last ? next.part_bytes : rest.part_bytes};
        waiting = carry(waiting, take_chunk<ALIGNED, false>(v, own, edge, further, given), taken++, given);
        own = rest;
    }
    if (own.part_bytes > 0)
        waiting = carry(waiting, take_chunk<ALIGNED, true>(v, own, edge, next, given), taken++, given);
    return settle(waiting, taken, given);
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
    return share{sets, blockIdx.x, 1, 0};
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
__device__ __forceinline__ accumulator reduce_groups(accumulator a, u32 turn, const values &given)
{
    constexpr u32 VALUES = BLOCK / THREADS;
    if (VALUES == 1) return a;
    __shared__ accumulator group_value[2][VALUES];
    if (threadIdx.x % THREADS == 0) group_value[turn][threadIdx.x / THREADS] = a;
    __syncthreads();
    if (threadIdx.x < 32) {
        a = threadIdx.x < VALUES ? group_value[turn][threadIdx.x] : record{0, 0, 0, 0};
        if (1 < VALUES) a = combine(a, record{__shfl_down_sync(0xffffffff, a.from, 1), __shfl_down_sync(0xffffffff, a.off, 1), __shfl_down_sync(0xffffffff, a.m2, 1), __shfl_down_sync(0xffffffff, a.n, 1)}, given);
        if (2 < VALUES) a = combine(a, record{__shfl_down_sync(0xffffffff, a.from, 2), __shfl_down_sync(0xffffffff, a.off, 2), __shfl_down_sync(0xffffffff, a.m2, 2), __shfl_down_sync(0xffffffff, a.n, 2)}, given);
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
    p.mine = share_of((all.number + ROWS - 1) / ROWS);
    // A node has as many chunks as the groups need, or more where there would be too many nodes.
    const u64 chunks = (all.count + CHUNK - 1) / CHUNK;
    u64 most = 1;
    p.span = 2;
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
    return p.mine.split;
}

__device__ __forceinline__ bool has_node(const plan &p)
{
    return p.mine.split < p.nodes;
}

// Goes on to the block's next node, of the same row or another.
__device__ __forceinline__ void step_on(u64 &row, u32 &node, const plan &p)
{
    if (!(false)) {
        row++;
        if (row % ROWS == 0) row += (u64)(gridDim.x - 1) * ROWS;
    }
}

// Ends a node of which the first thread of each group has its value: a row that is not split is finished, and
// the value of another node is left.
__device__ __forceinline__ void end_node(accumulator a, u64 row, u32 node, u32 &turn,
                                         const plan &p, u64 count, double *output, void *scratch, const values &given)
{
    a = reduce_groups<LANES>(a, turn, given);
    turn ^= 1;
    a = combine(record{0, 0, 0, 0}, a, given);
    if (threadIdx.x == 0) output[row] = (a.m2 / fmax((double)count - given.ddof, 0.0));
}

// Goes through the block's nodes. The loads of a warp's next step are on their way before the step
// before it is done with.
template <bool ALIGNED>
__device__ __forceinline__ void take_nodes(const rows &all, const plan &p, run own, u32 &turn,
                                           double *output, void *scratch, const values &given)
{
    u64 row = first_row(p);
    u32 node = first_node(p);
    bool is_there = has_node(p);
    vector v[UNROLL];
    load_first<ALIGNED>(v, own, given);
    while (is_there) {
        u64 next_row = row;
        u32 next_node = node;
        step_on(next_row, next_node, p);
        is_there = next_row < all.number && next_node < p.nodes;
        run next = {};
        if (is_there) next = run_of(all, next_row, next_node, p.span);
        const accumulator a = take_run<ALIGNED>(v, own, next, given);
        end_node(a, row, node, turn, p, all.count, output, scratch, given);
        row = next_row;
        node = next_node;
        own = next;
    }
}

extern "C" __global__ void __launch_bounds__(128, 4)
redtune_reduce(const element *input, u64 count, double *output, void *scratch, u32 overlaps, arguments rest)
{
    // What the arguments alone say is made before the kernel waits for the one before it.
    const rows all = rows{input, count, 1, 0};
    const plan p = plan_of(all);
    run own = {};
    if (has_node(p)) own = run_of(all, first_row(p), first_node(p), p.span);
    const values given = values_of(rest, input, output);
    u32 turn = 0;
    if (((u64)input | (all.number > 1 ? all.pitch : 0) * sizeof(element)) % LOAD_BYTES == 0)
        take_nodes<true>(all, p, own, turn, output, scratch, given);
    else
        take_nodes<false>(all, p, own, turn, output, scratch, given);
}
