//@ local whole = layout == "list" -- one result of all segments
//@ local op, given, acc, layout, vec = require("lib/kernel").of_order(_ENV)
//@ local warps = block // 32
//@ local at_once = math.max(1, 8 // acc.halves)
//@ local nodes_log = 12 -- of all long segments
//@ local table_values = (33024 + acc.bytes - 1) // acc.bytes -- which the table of work takes the place of
//@ while (2 * acc.bytes << nodes_log) + table_values * acc.bytes > scratch.all_slots_bytes do nodes_log = nodes_log - 1 end
//@ local node_levels = math.max(0, nodes_log - 5 - math.floor(math.log(at_once, 2) + 0.5))
//@ include("lib/title.cu", { by = "ordered_segments", of = whole and "list" or "segments", many = true })
//
//@ if whole then
// A node is an aligned run of 2^k chunks of all elements. A warp finds the segment that a node begins in, and copies
// the elements from there on, a chunk at a time, to shared memory. The last block combines all nodes. Offsets are
// given with their ends, so that those that decrease are of no elements.
//@ else
// The work of all segments is dealt to the warps in equal stretches (lib/segments/search.cu). A node is an
// aligned run of 2^k chunks of a segment, the same k for all. A warp takes the nodes that begin in its
// stretch. A segment that has one node only, which may be short, is its warp's alone. Those of the
// others are left in scratch, where the warp that leaves the last one combines all.
//
// If a warp finds that offsets decrease, the last block makes all results anew, slowly.
//@ end

//@ include "lib/head.cu"
//@ include("lib/constants.cu", { names = "WARPS, VEC, LOADS, UNROLL" .. (whole and "" or ", STEPS"), unroll = unroll })
//@ local cost = whole and 0 or 128 // dtype.bytes
//@ include("lib/constants.cu", { names = "COST = " .. cost .. ", LEAST, LOAD_BYTES = 16, CHUNK_BYTES, CHUNK" })
//@ if not whole then
constexpr u64 NODES = @{1 << nodes_log};  // there is work for fewer
//@ end

//@ include "lib/segments/chunks.cu"

static_assert(sizeof(element) == @{dtype.bytes} && BLOCK % 32 == 0 && LOADS % UNROLL == 0, "");
static_assert((CHUNKS + 1) * 8 <= TABLE_BYTES && CHUNKS % PREFIX_BLOCK == 0, "");
//@ if not whole then
static_assert(TABLE_BYTES + 2 * NODES * sizeof(accumulator) <= @{scratch.all_slots_bytes}, "");
static_assert(NODES * sizeof(u32) <= @{scratch.all_words_bytes}, "");
//@ end

//@ local hidden = false
//@ include "lib/segments/tables.cu"
//@ include "lib/segments/masks.cu"
//@ include "lib/segments/prefix.cu"
//@ local ends = true
//@ include "lib/segments/search.cu"
//@ if whole then
//@     include "ordered_segments/all.cu"
//@     return
//@ end
//@ include "lib/segments/begin.cu"
//@ include "lib/vector.cu"
//@ include "lib/combine.cu"
//@ include "lib/order_vectors.cu"
//@ local apart = dtype.bytes < 4
//@ include "lib/order_chunks_apart.cu"
//@ include "lib/segments/finish.cu"
// The first lane returns the value of `bytes` bytes of elements side by side, by a warp. A call of it costs sums a
// fifth of their time, and a copy of it takes NVRTC half a second: it has one place.
__device__ @{op.costly and "__noinline__" or "__forceinline__"} accumulator reduce_run(u64 begin, u64 bytes@{given.parameter})
{
    const run own = {begin, (u32)(bytes / CHUNK_BYTES), (u32)(bytes % CHUNK_BYTES)}, none = {0, 0, 0};
    vector v[UNROLL];
    const bool aligned = begin % LOAD_BYTES == 0;
//@ if apart then
    if (aligned) {
        load_first(v, true, own@{given.argument});
        return take_run(v, true, own, none@{given.argument});
    }
//@ end
    load_first(v, @{apart and "false" or "aligned"}, own@{given.argument});
    return take_run(v, @{apart and "false" or "aligned"}, own, none@{given.argument});
}

//@ include "lib/segments/listed.cu"
//@ include "ordered_segments/short.cu"
//@ include "ordered_segments/nodes.cu"
// The same by one copy of what takes a chunk, element by element.
__device__ __noinline__ accumulator reduce_slow_run(u64 begin, u64 bytes@{given.parameter})
{
    const u64 end = begin + bytes;
    const u32 behind = bytes % LOAD_BYTES;
    accumulator waiting = @{op.identity}, edge = @{op.identity};
    if (behind > 0) edge = take_edge(end - behind, end@{given.argument});
    u32 taken = 0;
    const run none = {0, 0, 0};
#pragma unroll 1
    for (u64 at = begin; at < end; at += CHUNK_BYTES) {
        const run own = {at, 0, (u32)(end - at < CHUNK_BYTES ? end - at : CHUNK_BYTES)};
        vector v[UNROLL];
        load_step<true>(v, false, at, at + own.part_bytes, 0@{given.argument});
        waiting = carry(waiting, take_chunk<true>(v, false, own, edge, none@{given.argument}), taken++@{given.argument});
    }
    return settle(waiting, taken@{given.argument});
}

// Makes results of every step-th of the segments from i on, by a warp: offsets decrease, and what was
// dealt does not hold.
__device__ __forceinline__ void reduce_slowly(const element *input, const segments &s, u64 i, u64 step,
                                              @{given.output})
{
#pragma unroll 1
    for (; i < s.count; i += step) {
        const segment one = segment_of(s, i);
        const u64 begin = (u64)(input + one.offset);
        const accumulator a = reduce_slow_run(begin, one.count * sizeof(element)@{given.argument});
        if (threadIdx.x % 32 == 0) finish(output, i, a, one.count@{given.argument});
    }
}

// Makes what begins in a warp's stretch. Whether the offsets are seen to decrease.
__device__ __forceinline__ bool reduce_stretch(const stretch &mine, const segments &s, const deal &d,
                                               size span, unsigned char *order, const element *input,
                                               @{result.c} *output, void *scratch@{given.parameter})
{
//@ include("lib/segments/walk.cu", {
//@     known = "const bool is_there = i <= mine.last;",
//@     through = "work = is_there ? COST + one.count : 0, through = scan_warp(work)",
//@     falls = "are_doubtful(s) && __any_sync(ALL, one.backwards)",
//@ })
        const u64 begin = (u64)(is_there ? elements_of(s, input, i, one) : input);
        const u64 bytes = one.count * sizeof(element);
//@ local of = given.listed and "s, " or ""
        const bool is_own = is_there && at >= mine.from && at < mine.to && one.count <= span.elements();
        const u32 own = __ballot_sync(ALL, is_own);
        const u32 tiny = __ballot_sync(ALL, bytes <= SHORT_BYTES);
        const u32 small = __ballot_sync(ALL, bytes <= 8 * SHORT_BYTES);
        reduce_short<1>(@{of}own & tiny, begin, bytes, order, base, output@{given.argument});
        reduce_short<8>(@{of}own & small & ~tiny, begin, bytes, order, base, output@{given.argument});
        // Segments of one node, and those that have a node that begins here.
        const bool is_long = is_there && one.count > span.elements() && at < mine.to && at + one.count > mine.from;
        u32 rest = __ballot_sync(ALL, is_long) | (own & ~small);
        while (rest) {
            const u32 whose = __ffs(rest) - 1;
            rest &= rest - 1;
            const u64 from = __shfl_sync(ALL, begin, whose), n = __shfl_sync(ALL, one.count, whose);
            const u64 place = __shfl_sync(ALL, at, whose);
            const bool is_shared = n > span.elements();
            const node_range nodes = is_shared ? nodes_in(mine, place, n, span) : node_range{0, 1};
#pragma unroll 1
            for (u64 node = nodes.first; node < nodes.stop; node++) {
                const u64 low = node << span.log, left = n - low;
                const u64 its = left < span.elements() ? left : span.elements();
                const accumulator a = reduce_run(from + low * sizeof(element), its * sizeof(element)@{given.argument_of("values_in(s, given, base + whose)")});
                if (lane == 0 && is_shared) leave(scratch, place_of(place >> span.log, node), a);
                if (lane == 0 && !is_shared) finish(output, base + whose, a, n@{given.argument});
            }
            if (is_shared) finish_nodes(nodes, base + whose, place, n, span, output, scratch@{given.argument});
        }
    }
    return false;
}

// A block's part of the work.
__device__ __forceinline__ void reduce_all(const element *input, const segments &s, @{result.c} *output,
                                           void *scratch@{given.parameter})
{
    if (s.count == 0) return;
    const deal d = deal_of(s, scratch);
    const u64 blocks = (d.total + d.stretch * WARPS - 1) / (d.stretch * WARPS);
    if (blockIdx.x >= blocks) return;
    __shared__ unsigned char order[WARPS][32];
    const u32 warp = threadIdx.x / 32;
    stretch mine;
    bool falls = begin_stretch(mine, s, d, scratch);
    if (!falls)
        falls = reduce_stretch(mine, s, d, span_of(d.total), order[warp], input, output, scratch@{given.argument});
    if (!are_doubtful(s)) return;
    const u32 decrease = __syncthreads_or(falls);
//@ include("lib/segments/redo.cu", { thread = "threadIdx.x" })
    // Segments whose nodes did not all come have left counters.
    for (u32 i = threadIdx.x; i < NODES; i += BLOCK) *counter_of(scratch, i) = 0;
    reduce_slowly(input, s, warp, WARPS, output@{given.argument});
}

//@ include "lib/segments/entry.cu"
