//@ -- Long segments in the fixed order: nodes that warps leave in scratch, and their combination.
//@ takes op, acc, given, result, scratch, at_once, chunks, node_levels, table_values
// The values of nodes in scratch.
__device__ __forceinline__ accumulator *partials(void *scratch)
{
    return (accumulator *)((char *)scratch + @{scratch.slots_offset});
}

constexpr u32 AT_ONCE = @{at_once};  // values that a thread asks for at a time

static_assert((@{chunks} * CHUNK & (@{chunks} * CHUNK - 1)) == 0, "");

// The elements of a node, a power of two: so many that there is work for fewer than NODES.
struct size {
    u32 log;

    __device__ __forceinline__ u64 elements() const { return 1ull << log; }
    __device__ __forceinline__ u64 nodes_of(u64 count) const { return (count + elements() - 1) >> log; }
};

__device__ __forceinline__ size span_of(u64 total)
{
    u32 log = 63 - __clzll(@{chunks} * CHUNK);
    while (total >> log >= NODES) log++;
    return size{log};
}

// A node's place, by the multiples of `span` that lie before it: those before its segment, and the node's
// number. The last node of a long segment and the first one of the next may have as many before them.
__device__ __forceinline__ u32 place_of(u32 before, u32 node)
{
    return @{table_values} + 2 * (before + node) + (node > 0);
}

static_assert(@{table_values} * sizeof(accumulator) @{33024 % acc.bytes == 0 and "==" or ">="} TABLE_BYTES, "");

__device__ __forceinline__ u32 *counter_of(void *scratch, u32 before)
{
    return (u32 *)((char *)scratch + @{scratch.words_offset}) + before;
}

// Leaves the value of a node, for another warp, perhaps of the same block: every access of it is strong.
__device__ __forceinline__ void leave(void *scratch, u32 place, accumulator a)
{
    u32 *to = (u32 *)(partials(scratch) + place);
//@ for k = 0, acc.halves - 1 do
    asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" : : "l"(to + @{k}), "r"((u32)@{acc.half("a", k)}) : "memory");
//@ end
}

__device__ __forceinline__ accumulator node_at(void *scratch, u32 place)
{
    const u32 *from = (const u32 *)(partials(scratch) + place);
//@ for k = 0, acc.halves - 1 do
    u32 half@{k};
    asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(half@{k}) : "l"(from + @{k}) : "memory");
//@ end
    return @{acc.join("half")};
}

// The first lane returns the combination of all nodes of a segment, neighbours first.
__device__ __forceinline__ accumulator reduce_nodes(void *scratch, u32 before, u32 nodes@{given.parameter})
{
    // A lane takes an aligned run of nodes.
    u32 each = 1;
    while (each * 32 < nodes) each *= 2;
    const u32 first = threadIdx.x % 32 * each;
    accumulator level[@{node_levels + 1}], a = @{op.identity};
    u32 taken = 0;
    for (u32 next = 0; next < each; next += AT_ONCE, taken++) {
        accumulator value[AT_ONCE];
#pragma unroll
        for (u32 i = 0; i < AT_ONCE; i++) {
            const u32 node = first + next + i;
            value[i] = @{op.identity};
            if (next + i < each && node < nodes) value[i] = node_at(scratch, place_of(before, node));
        }
//@ include("lib/fold_pairs.cu", { array = "value", many = at_once })
//@ include("lib/wait_levels.cu", { turn = "taken", value = "value[0]", top = node_levels })
    }
    // A power of two of runs were taken.
#pragma unroll
    for (u32 k = 0; k <= @{node_levels}; k++)
        if (taken == 1u << k) a = level[k];
//@ include("lib/fold_lanes.cu", { lanes = 32, neighbours = true })
    return a;
}

// The nodes of a segment of `count` elements that begin in a warp's stretch. `at` is the work before it.
struct node_range {
    u64 first, stop;
};

__device__ __forceinline__ node_range nodes_in(const stretch &mine, u64 at, u64 count, size span)
{
    const u64 nodes = span.nodes_of(count), end = span.nodes_of(mine.to - at);
    return node_range{at >= mine.from ? 0 : span.nodes_of(mine.from - at), end < nodes ? end : nodes};
}

// Makes the result of a segment whose nodes `own` were left by this warp, if it is the last one: it has
// seen all.
__device__ __forceinline__ void finish_nodes(const node_range &own, u64 segment, u64 at, u64 count, size span,
                                             @{result.c} *output, void *scratch@{given.parameter})
{
    if (own.first >= own.stop) return;
    const u32 before = at >> span.log, nodes = span.nodes_of(count), lane = threadIdx.x % 32;
    bool is_last = false;
    if (lane == 0) {
        const u32 left = own.stop - own.first;
        __threadfence();
        is_last = atomicAdd(counter_of(scratch, before), left) + left == nodes;
        if (is_last) *counter_of(scratch, before) = 0;
        __threadfence();
    }
    if (!__any_sync(ALL, is_last)) return;
    const accumulator a = reduce_nodes(scratch, before, nodes@{given.argument});
    if (lane == 0) finish(output, segment, a, count@{given.argument});
}
