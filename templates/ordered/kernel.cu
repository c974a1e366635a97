//@ local by_rows = layout == "rows"
//@ local op, given, acc, layout, vec = require("lib/kernel").of_order(_ENV)
//@ local warps, groups, own, shared = block // 32, block // lanes, 256 // lanes, finish ~= "single"
//@ local log2 = require("lib/kernel").log2
//@ local room = scratch.all_words_bytes // (8 * acc.halves)
//@ local span, node_levels = log2(groups * chunks), log2(16 // math.max(1, 8 // acc.halves))
//@ local is_split = not shared and "false" or by_rows and "p.mine.splits > 1" or "true" -- results, by blocks
//@ local count, extents = by_rows and "e.count" or "count", by_rows and "extents e" or "u64 count"
//@ include("lib/title.cu", { by = "ordered", of = by_rows and "rows" or "whole" })

//@ include "lib/head.cu"
constexpr u32 LANES = @{lanes};  // threads that share a chunk: a group
constexpr u32 GROUPS = BLOCK / LANES;
//@ include("lib/constants.cu", { names = "VEC, LOADS, UNROLL, STEPS, ROWS, LOAD_BYTES = 16, CHUNK_BYTES, CHUNK", unroll = unroll, rows = rows })
//@ if shared then
constexpr u64 PLACES = @{room};  // of nodes in scratch
constexpr u64 NODES_MAX = 16 * BLOCK;  // of a result: a thread combines 16 at most
//@ end
//@ local node = ("NODE_BYTES = GROUPS * %d * CHUNK_BYTES, AHEAD_BYTES = 1 << 20"):format(chunks)
//@ include("lib/constants.cu", { names = given.ahead and node or "" })

//@ include("lib/asserts.cu", { accumulator = "<= " .. math.max(scratch.slot_bytes, acc.bytes), that = { "LOADS % UNROLL == 0" } })

//@ if by_rows then
//@ include "lib/extents.cu"
//@ end
//@ include "lib/vector.cu"
//@ include "lib/combine.cu"
//@ include "lib/order_vectors.cu"
//@ local apart = dtype.bytes < 4
//@ if apart then
//@     include "lib/order_chunks_apart.cu"
//@ else
//@     include "lib/order_chunks.cu"
//@ end
//@ include("lib/splits.cu", { node_levels = node_levels })
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
__device__ __forceinline__ accumulator reduce_groups(accumulator a, u32 turn@{given.parameter})
{
    constexpr u32 VALUES = BLOCK / THREADS;
    if (VALUES == 1) return a;
    __shared__ accumulator group_value[2][VALUES];
    if (threadIdx.x % THREADS == 0) group_value[turn][threadIdx.x / THREADS] = a;
    __syncthreads();
    if (threadIdx.x < 32) {
        a = threadIdx.x < VALUES ? group_value[turn][threadIdx.x] : @{op.identity};
//@ include("lib/fold_lanes.cu", { lanes = warps, neighbours = true, when = "%d < VALUES" })
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
//@ if by_rows or not shared then
    p.mine = share_of((all.number + ROWS - 1) / ROWS);
//@ else
    p.mine = share{1, 0, gridDim.x, blockIdx.x};
//@ end
    // A node has as many chunks as the groups need, or more where there would be too many nodes.
    const u64 chunks = (all.count + CHUNK - 1) / CHUNK;
    u64 most = 1;
//@ if shared then
    if (@{is_split}) most = PLACES / p.mine.sets < NODES_MAX ? PLACES / p.mine.sets : NODES_MAX;
//@ end
    p.span = @{span};
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
    return @{by_rows and "p.mine.set * ROWS" or "0"};
}

__device__ __forceinline__ u32 first_node(const plan &p)
{
//@ if shared then
    // The last block, which waits for the others, has none of which there may be a part only.
    if (p.nodes <= p.mine.splits) return p.nodes - 1 - p.mine.split;
//@ end
    return p.mine.split;
}

__device__ __forceinline__ bool has_node(const plan &p)
{
    return @{by_rows and "p.mine.set < p.mine.sets && " or ""}p.mine.split < p.nodes;
}

// Goes on to the block's next node, of the same row or another.
__device__ __forceinline__ void step_on(u64 &row, u32 &node, const plan &p)
{
//@ if shared then
    if (@{is_split}) node += p.mine.splits;
//@ end
//@ if is_split ~= "true" then
    if (!(@{is_split})) {
        row++;
        if (row % ROWS == 0) row += (u64)(gridDim.x - 1) * ROWS;
    }
//@ end
}

// Ends a node of which the first thread of each group has its value: a row that is not split is finished, and
// the value of another node is left.
__device__ __forceinline__ void end_node(accumulator a, u64 row, u32 node, u32 &turn,
                                         const plan &p, u64 count, @{result.c} *output, void *scratch@{given.parameter})
{
    a = reduce_groups<LANES>(a, turn@{given.argument});
    turn ^= 1;
//@ if shared then
    if (@{is_split}) {
        if (threadIdx.x == 0) leave(scratch, number_of(p.mine, node), a);
        return;
    }
//@ end
    a = combine(@{op.identity}, a@{given.argument});
    if (threadIdx.x == 0) @{given.write("output[row]", "a", "count")}
}

//@ if lanes > 32 then
//@     include "ordered/shared_chunks.cu"
//@ else
// Goes through the block's nodes. The loads of a warp's next step are on their way before the step
// before it is done with.
__device__ __forceinline__ void take_nodes(const rows &all, const plan &p, bool aligned, run own, u32 &turn,
                                           @{result.c} *output, void *scratch@{given.parameter})
{
    u64 row = first_row(p);
    u32 node = first_node(p);
    bool is_there = has_node(p);
    vector v[UNROLL];
//@ if apart then
    load_first(v, aligned, own@{given.argument});
//@ else
    load_step(v, aligned, own.at, first_bytes(own), 0@{given.argument});
//@ end
    while (is_there) {
        u64 next_row = row;
        u32 next_node = node;
        step_on(next_row, next_node, p);
        is_there = next_row < all.number && next_node < p.nodes;
        run next = {};
        if (is_there) next = run_of(all, next_row, next_node, p.span);
        const accumulator a = take_run(v, aligned, own, next@{given.argument});
        end_node(a, row, node, turn, p, all.count, output, scratch@{given.argument});
        row = next_row;
        node = next_node;
        own = next;
    }
}

//@ end
//@ if given.ahead then
// Asks for the block's first chunks to be brought into L2, a line of 128 bytes at a time. That
// reads nothing, so it is right even while the kernel before may still write.
__device__ __forceinline__ void prefetch_node(const rows &all, const plan &p@{given.inputs > 1 and ", u64 second" or ""})
{
    if (p.mine.set >= p.mine.sets) return;
    const u64 begin = (u64)(all.input + p.mine.set * ROWS * all.pitch);
    const u64 stop = begin + all.count * sizeof(element);
    const u64 node = begin + ((u64)first_node(p) << p.span) * CHUNK_BYTES;
    for (u64 at = threadIdx.x * 128; at < NODE_BYTES; at += BLOCK * 128) {
        if (node + at >= stop) break;
//@     include("lib/prefetch_line.cu", { place = "node + at", first = "(u64)all.input" })
    }
}

//@ end
//@ include("lib/entry.cu", { extents = extents, least = math.max(1, math.min(16, resident // block)) })
{
//@ local begin = { prefetch = given.ahead and { by_rows and "e.count * e.outer" or "count", "\n        prefetch_node(all, p" }, count = count }
//@ -- With a count on the GPU the nodes are those of as many elements as it says.
//@ local reads_first = given.counts
//@ if reads_first then
//@     include("lib/begin.cu", begin)
//@ else
    // What the arguments alone say is made before the kernel waits for the one before it.
//@ end
    const rows all = @{by_rows and "rows{input, e.count, e.outer, e.outer_step}" or "rows{input, count, 1, 0}"};
    const plan p = plan_of(all);
//@ if lanes == 32 then
    run own = {};
    if (has_node(p)) own = run_of(all, first_row(p), first_node(p), p.span);
//@ end
//@ if not reads_first then
//@     include("lib/begin.cu", begin)
//@ end
    u32 turn = 0;
    const bool aligned = ((u64)input | (all.number > 1 ? all.pitch : 0) * sizeof(element)) % LOAD_BYTES == 0;
//@ for _, constant in ipairs(apart and { "true", "false" } or { "aligned" }) do
    @{constant == "true" and "if (aligned) " or constant == "false" and "else " or ""}take_nodes(all, p, @{constant}, @{lanes == 32 and "own, " or ""}turn, output, scratch@{given.argument});
//@ end
//@ if shared then
//@     if by_rows then
    // Blocks beyond a multiple of the sets have none.
    if (p.mine.splits == 1 || p.mine.set >= p.mine.sets) return;
//@     end
    const u32 nodes = p.nodes;
    // The last block waits for the others of its row, which wait for nobody.
    if (p.mine.split < p.mine.splits - 1) return;
    // A thread takes an aligned run of nodes. Neighbours are combined first, within a warp and above it.
    u32 each = 1;
    while (each * BLOCK < nodes) each *= 2;
    const u32 first = threadIdx.x * each, left = first < nodes ? nodes - first : 0;
    accumulator a = reduce_nodes(scratch, number_of(p.mine, first), (u32)p.mine.sets, left < each ? left : each, each@{given.argument});
//@     include("lib/fold_lanes.cu", { lanes = 32, neighbours = true })
    a = combine(@{op.identity}, reduce_groups<32>(a, turn@{given.argument})@{given.argument});
    if (threadIdx.x == 0) @{given.write("output[p.mine.set]", "a", "all.count")}
//@ end
}
