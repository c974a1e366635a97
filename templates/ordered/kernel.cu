//@ local loads = require "lib/load"
//@ local name, formula = op.name, op.formula
//@ local given = require("lib/operands").of(_ENV)
//@ local indexed, op = false, given.made
//@ local acc = op.acc
//@ local vec = 16 // dtype.bytes
//@ local layout, single = loads.layout(dtype, vec), loads.layout(dtype, 1)
//@ local warps = block // 32
//@ local ahead = arch >= 90 and not counts
//@ local room = finish == "poll" and scratch.all_words_bytes // (8 * acc.halves) or scratch.all_slots_bytes // acc.bytes
//@ local span = math.floor(math.log(warps * chunks, 2) + 0.5)
//@ local at_once, levels = 4, 3
//@ while at_once > 1 and at_once * acc.halves > 8 do at_once, levels = at_once // 2, levels + 1 end
// redtune: the @{name} of @{dtype.name} into @{result.name}, by the template "ordered" with
// @{config}
// compile with --fmad=false
//
// output[0] = @{formula}
// for any n = count and any element-aligned input, combined in the order of docs/order.md. Start it
// with @{block} threads per block.

//@ include "lib/types.cu"
typedef @{dtype.c} element;  // in memory
typedef @{dtype.value} value;  // in registers
typedef @{acc.c} accumulator;

//@ include "lib/given.cu"
constexpr u32 BLOCK = @{block};  // threads per block
constexpr u32 WARPS = BLOCK / 32;
constexpr u32 VEC = @{vec};  // elements per load
constexpr u32 LOADS = 8;  // loads of a thread in a chunk
constexpr u32 CHUNKS = @{chunks};  // that a warp takes at least
constexpr u32 UNROLL = @{unroll};  // independent loads in flight per thread
constexpr u32 STEPS = LOADS / UNROLL;

constexpr u64 LOAD_BYTES = 16;
constexpr u64 CHUNK_BYTES = 32 * LOADS * LOAD_BYTES;
constexpr u64 CHUNK = CHUNK_BYTES / sizeof(element);
//@ if finish == "single" then
constexpr u64 NODES_MAX = 1;
//@ else
constexpr u32 AT_ONCE = @{at_once};  // values that a thread asks for at a time
constexpr u32 LEVELS = @{levels};  // of their tree in a thread
constexpr u64 NODES_MAX = @{math.min(16 * block, room)};  // there are places for as many
//@ end
//@ if ahead then
constexpr u64 AHEAD_BYTES = 1 << 20;  // larger inputs are not prefetched
//@ end

static_assert(sizeof(element) == @{dtype.bytes} && sizeof(accumulator) <= @{math.max(scratch.slot_bytes, acc.bytes)}, "");
static_assert(LOADS % UNROLL == 0, "");

//@ include "lib/vector.cu"
//@ include "lib/combine.cu"
//@ include "lib/chunk.cu"
// Nodes of 2^span chunks, at least one.
__device__ __forceinline__ u64 nodes_of(u64 chunks, u32 span)
{
    const u64 nodes = (chunks + (1ull << span) - 1) >> span;
    return nodes ? nodes : 1;
}

// Thread 0 returns the combination of the values of the warps' first lanes, neighbours first. All
// threads of the block call it, with turn = 0, 1, 0, 1, ...: who writes a set of values again has
// passed the barrier of the other, before which this one was read.
__device__ __forceinline__ accumulator reduce_warps(accumulator a, u32 turn@{given.parameter})
{
//@ if warps > 1 then
    __shared__ accumulator warp_value[2][WARPS];
    const u32 warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    if (lane == 0) warp_value[turn][warp] = a;
    __syncthreads();
    if (warp == 0) {
        a = lane < WARPS ? warp_value[turn][lane] : @{op.identity};
//@     for _, step in ipairs { 1, 2, 4, 8, 16 } do
//@         if step < warps then
        a = combine(a, @{acc.shuffle("a", step)}@{given.argument});
//@         end
//@     end
    }
//@ end
    return a;
}

// Where a warp's chunks of a node begin.
__device__ __forceinline__ u64 run_of(const element *input, u64 node, u32 span)
{
    const u64 first = (node << span) + threadIdx.x / 32 * ((1ull << span) / WARPS);
    return (u64)input + first * CHUNK_BYTES;
}

//@ if finish == "poll" then
//@     include "lib/flagged_words.cu"
__device__ __forceinline__ void leave(void *scratch, u32 node, accumulator a)
{
    publish(words_of(scratch, node), a);
}

//@ elseif finish == "ticket" then
//@     include "lib/slots.cu"
__device__ __forceinline__ void leave(void *scratch, u32 node, accumulator a)
{
    partials(scratch)[node] = a;
}

//@ end
// Ends a node of which this thread's warp has `taken` chunks: its value is left in its place, or
// becomes `own`, which is that of node 0 where block 0 combines the nodes.
__device__ __forceinline__ void end_node(accumulator waiting, u32 taken, u32 node, u32 turn,
                                         accumulator &own, void *scratch@{given.parameter})
{
    const accumulator a = reduce_warps(settle(waiting, taken@{given.argument}), turn@{given.argument});
//@ if finish == "single" then
    own = a;
//@ elseif finish == "poll" then
    if (node == 0)
        own = a;
    else if (threadIdx.x == 0)
        leave(scratch, node, a);
//@ else
    if (threadIdx.x == 0) leave(scratch, node, a);
//@ end
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
                                                  u32 span, u32 &turn, void *scratch@{given.parameter})
{
    const u64 end = (u64)(input + count);
    const u32 run = (1u << span) / WARPS;  // chunks of a warp in a node
    accumulator own = @{op.identity}, waiting = own;
    u32 node = blockIdx.x, taken = 0;
    u64 at = run_of(input, node, span);
    u32 left = node < nodes ? whole_chunks(at, end, run) : 0;
    vector v[UNROLL];
    if (left > 0) load_step<ALIGNED>(v, at, 0@{given.argument});
    for (; node < nodes; node += gridDim.x) {
        // Lane i of `waiting` has the value of 2^i chunks that waits for its neighbour.
        waiting = @{op.identity};
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
                part[i] = fold_step(v@{given.argument});
                if (i + 1 < STEPS)
                    load_step<ALIGNED>(v, at, i + 1@{given.argument});
                else if (taken + 1 < left || behind > 0)
                    load_step<ALIGNED>(v, taken + 1 < left ? at + CHUNK_BYTES : ahead, 0@{given.argument});
            }
//@ local apart, steps = 1, 8 // unroll
//@ while apart < steps do
//@     for i = 0, steps - 1, 2 * apart do
            part[@{i}] = combine(part[@{i}], part[@{i + apart}]@{given.argument});
//@     end
//@     apart = 2 * apart
//@ end
            waiting = carry(waiting, reduce_lanes(part[0]@{given.argument}), taken@{given.argument});
        }
        if (node == nodes - 1) break;
        end_node(waiting, taken, node, turn, own, scratch@{given.argument});
        turn ^= 1;
        at = ahead;
        left = behind;
    }
    // Of the last chunk of all there may be a part only.
    if (node < nodes) {
        if (taken < run && at < end) {
            const accumulator a = reduce_lanes(take_last<ALIGNED>(at, end@{given.argument})@{given.argument});
            waiting = carry(waiting, a, taken++@{given.argument});
        }
        end_node(waiting, taken, node, turn, own, scratch@{given.argument});
        turn ^= 1;
    }
    return own;
}

//@ if finish ~= "single" then
// Thread 0 returns the combination of the values of all nodes: a thread takes an aligned run of
// them, and block 0 has node 0's already.
__device__ __forceinline__ accumulator reduce_nodes(void *scratch, u32 nodes, accumulator own, u32 turn@{given.parameter})
{
    u32 each = 1;
    while (each * BLOCK < nodes) each *= 2;
    u32 at = threadIdx.x * each, taken = 0;
    const u32 end = at + each < nodes ? at + each : nodes;
    accumulator level[LEVELS], a = @{op.identity};
#pragma unroll
    for (u32 k = 0; k < LEVELS; k++) level[k] = @{op.identity};
    for (; at < end; at += AT_ONCE) {
        accumulator value[AT_ONCE];
//@     if finish == "poll" then
//@         local number, is_there = "at + i", "at + i > 0 && at + i < end"
//@         include "lib/await_words.cu"
#pragma unroll
        for (u32 i = 0; i < AT_ONCE; i++) {
            if (at + i > 0 && at + i < end)
#pragma unroll
                for (u32 k = 0; k < WORDS; k++) store_word(words_of(scratch, at + i) + k, 0);
//@         for k = 0, acc.halves - 1 do
            const u32 half@{k} = (u32)word[i][@{k}];
//@         end
            value[i] = @{acc.join("half")};
            if (at + i >= end) value[i] = @{op.identity};
        }
        if (at == 0) value[0] = own;
//@     else
#pragma unroll
        for (u32 i = 0; i < AT_ONCE; i++) {
            value[i] = @{op.identity};
            if (at + i < end) value[i] = @{acc.reload("partials(scratch) + at + i")};
        }
//@     end
//@     local apart = 1
//@     while apart < at_once do
//@         for i = 0, at_once - 1, 2 * apart do
        value[@{i}] = combine(value[@{i}], value[@{i + apart}]@{given.argument});
//@         end
//@         apart = 2 * apart
//@     end
        // A value of 2^k of these waits for its neighbour in level[k].
        a = value[0];
#pragma unroll
        for (u32 k = 0; k < LEVELS; k++) {
            if ((taken >> k & 1) == 0) {
                level[k] = a;
                break;
            }
            a = combine(level[k], a@{given.argument});
        }
        taken++;
    }
    a = @{op.identity};
#pragma unroll
    for (u32 k = 0; k < LEVELS; k++)
        if (taken >> k & 1) a = combine(level[k], a@{given.argument});
    // Neighbours are combined first, within a warp and above it.
//@     for _, step in ipairs { 1, 2, 4, 8, 16 } do
    a = combine(a, @{acc.shuffle("a", step)}@{given.argument});
//@     end
    return reduce_warps(a, turn@{given.argument});
}

//@ end
//@ if ahead then
// Asks for the block's first chunks to be brought into L2, a line of 128 bytes at a time. That
// reads nothing, so it is right even while the kernel before may still write.
__device__ __forceinline__ void prefetch_node(const element *input, u64 count@{given.inputs > 1 and ", u64 second" or ""})
{
    const u64 begin = (u64)input, stop = begin + count * sizeof(element);
    const u64 node = begin + (u64)blockIdx.x * WARPS * CHUNKS * CHUNK_BYTES;
    for (u64 at = threadIdx.x * 128; at < WARPS * CHUNKS * CHUNK_BYTES; at += BLOCK * 128) {
        if (node + at >= stop) break;
        asm volatile("prefetch.global.L2 [%0];" : : "l"(node + at));
//@     if given.inputs > 1 then
        asm volatile("prefetch.global.L2 [%0];" : : "l"(node + at + second - begin));
//@     end
    }
}

//@ end
extern "C" __global__ void __launch_bounds__(@{block}, @{math.max(1, math.min(16, resident // block))})
redtune_reduce(const element *input, u64 count, @{result.c} *output, void *scratch, u32 overlaps@{given.kernel})
{
//@ local prefetch = ahead and { "count", " prefetch_node(input, count" }
//@ include "lib/begin_overlap.cu"
//@ for _, line in ipairs(given.begin("input", "count", "output")) do
    @{line}
//@ end
    // A node has 2^span chunks: more than the warps need where there would be too many nodes.
    const u64 chunks = (count + CHUNK - 1) / CHUNK;
    u32 span = @{span}, turn = 0;
    while (nodes_of(chunks, span) > NODES_MAX) span++;
    const u32 nodes = nodes_of(chunks, span);
    accumulator a;
    if ((u64)input % LOAD_BYTES == 0)
        a = take_nodes<true>(input, count, nodes, span, turn, scratch@{given.argument});
    else
        a = take_nodes<false>(input, count, nodes, span, turn, scratch@{given.argument});
//@ if finish == "poll" then
    // Block 0 waits for all others, which wait for nobody.
    if (blockIdx.x > 0) return;
    if (nodes > 1) a = reduce_nodes(scratch, nodes, a, turn@{given.argument});
//@ elseif finish == "ticket" then
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
    a = reduce_nodes(scratch, nodes, a, turn@{given.argument});
//@ end
    a = combine(@{op.identity}, a@{given.argument});
    if (threadIdx.x == 0) @{given.write("*output", "a", "count")}
}
