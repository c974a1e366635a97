//@ local loads = require "lib/load"
//@ local name, formula, indexed = op.name, op.formula, false
//@ local given = require("lib/operands").of(_ENV)
//@ local op = given.made
//@ local acc = op.acc
//@ local vec = 16 // dtype.bytes
//@ local layout, single = loads.layout(dtype, vec), loads.layout(dtype, 1)
//@ local at_once = math.max(1, 8 // acc.halves)
//@ local nodes_log = 12 -- of all long segments
//@ while (2 * acc.bytes << nodes_log) + 33024 > scratch.all_slots_bytes do nodes_log = nodes_log - 1 end
//@ local node_levels = math.max(0, nodes_log - 5 - math.floor(math.log(at_once, 2) + 0.5))
// redtune: the @{name} of @{dtype.name} into @{result.name}, by the template "ordered_segments" with
// @{config}
// compile with --fmad=false
//
// output[i] = @{formula}
// for each segment i, n = its elements, wherever they are, combined in the order of docs/order.md.
// Start it with @{block} threads per block, on any number of blocks.
//
// The work of all segments is dealt to the warps in equal stretches (ragged/search.cu). A node is an
// aligned run of 2^k chunks of a segment, the same k for all. A warp takes the nodes that begin in its
// stretch. A segment that has one node only, which may be short, is its warp's alone. Those of the
// others are left in scratch, where the warp that leaves the last one combines all.
//
// If a warp finds that offsets decrease, the last block makes all results anew, slowly.

//@ include "lib/types.cu"
typedef @{dtype.c} element;  // in memory
typedef @{dtype.value} value;  // in registers
typedef @{acc.c} accumulator;

//@ include "lib/given.cu"
constexpr u32 BLOCK = @{block};  // threads per block
constexpr u32 WARPS = BLOCK / 32;
constexpr u32 VEC = @{vec};  // elements per load
constexpr u32 LOADS = 8;  // loads of a lane in a chunk
constexpr u32 UNROLL = @{unroll};  // independent loads in flight per thread
constexpr u32 STEPS = LOADS / UNROLL;
constexpr u64 COST = @{128 // dtype.bytes};  // elements that a segment counts for
constexpr u64 LEAST = @{2048 // dtype.bytes};  // work of a stretch

constexpr u64 LOAD_BYTES = 16;
constexpr u64 CHUNK_BYTES = 32 * LOADS * LOAD_BYTES;
constexpr u64 CHUNK = CHUNK_BYTES / sizeof(element);
constexpr u64 NODES = @{1 << nodes_log};  // there is work for fewer

// The table of chunks of the work, in front of the slots.
constexpr u64 CHUNKS = 4096;
constexpr u64 TABLE_BYTES = 33024;
constexpr u32 PREFIX_BLOCK = 256;

constexpr u32 ALL = 0xffffffff;  // lanes of a warp

static_assert(sizeof(element) == @{dtype.bytes} && BLOCK % 32 == 0 && LOADS % UNROLL == 0, "");
static_assert((CHUNKS + 1) * 8 <= TABLE_BYTES && CHUNKS % PREFIX_BLOCK == 0, "");
static_assert(TABLE_BYTES + 2 * NODES * sizeof(accumulator) <= @{scratch.all_slots_bytes}, "");
static_assert(NODES * sizeof(u32) <= @{scratch.all_words_bytes}, "");

//@ include "ragged/tables.cu"
//@ include "ragged/prefix.cu"
//@ include "ragged/search.cu"
//@ include "ragged/begin.cu"
//@ include "lib/vector.cu"
//@ include "lib/combine.cu"
//@ include "lib/order_vectors.cu"
//@ include "lib/order_chunks.cu"
__device__ __forceinline__ void finish(@{result.c} *output, u64 segment, accumulator a, u64 count@{given.parameter})
{
    a = combine(@{op.identity}, a@{given.argument});
    @{given.write("output[segment]", "a", "count")}
}

// The first lane returns the value of `bytes` bytes of elements side by side, by a warp. A call of it costs sums a
// fifth of their time; what takes long to combine would take NVRTC a minute in five places.
__device__ @{op.costly and "__noinline__" or "__forceinline__"} accumulator reduce_run(u64 begin, u64 bytes@{given.parameter})
{
    const run own = {begin, (u32)(bytes / CHUNK_BYTES), (u32)(bytes % CHUNK_BYTES)}, none = {0, 0, 0};
    vector v[UNROLL];
    if (begin % LOAD_BYTES == 0) {
        load_first<true>(v, own@{given.argument});
        return take_run<true>(v, own, none@{given.argument});
    }
    load_first<false>(v, own@{given.argument});
    return take_run<false>(v, own, none@{given.argument});
}

//@ include "ragged/listed.cu"
//@ include "ordered_segments/short.cu"
//@ include "ordered_segments/nodes.cu"
// Makes results of every step-th of the segments from i on, by a warp: offsets decrease, and what was
// dealt does not hold.
__device__ __forceinline__ void reduce_slowly(const element *input, const segments &s, u64 i, u64 step,
                                              @{result.c} *output@{given.parameter})
{
#pragma unroll 1
    for (; i < s.count; i += step) {
        const segment one = segment_of(s, i);
        const u64 begin = (u64)(input + one.offset);
        const accumulator a = reduce_run(begin, one.count * sizeof(element)@{given.argument});
        if (threadIdx.x % 32 == 0) finish(output, i, a, one.count@{given.argument});
    }
}

// Makes what begins in a warp's stretch. Whether the offsets are seen to decrease.
__device__ __forceinline__ bool reduce_stretch(const stretch &mine, const segments &s, const deal &d,
                                               u64 span, unsigned char *order, const element *input,
                                               @{result.c} *output, void *scratch@{given.parameter})
{
    const u32 lane = threadIdx.x % 32;
    const segment nothing = {0, 0, false};
    u64 before = mine.before;
    segment next = mine.first + lane <= mine.last ? segment_of(s, mine.first + lane) : nothing;
    for (u64 base = mine.first; base <= mine.last; base += 32) {
        const segment one = next;
        const u64 i = base + lane;
        const bool is_there = i <= mine.last;
        next = i + 32 <= mine.last ? segment_of(s, i + 32) : nothing;
        u64 at;
        if (s.end) {
            const u64 work = is_there ? COST + one.count : 0, through = scan_warp(work);
            at = before + through - work;
            before += __shfl_sync(ALL, through, 31);
        } else {
            if (are_doubtful(s) && __any_sync(ALL, one.backwards)) return true;
            at = one.offset - d.origin + i * COST;
        }
        const u64 begin = (u64)(is_there ? elements_of(s, input, i, one) : input);
        const u64 bytes = one.count * sizeof(element);
        const bool is_own = is_there && at >= mine.from && at < mine.to && one.count <= span;
        const u32 own = __ballot_sync(ALL, is_own);
        const u32 tiny = __ballot_sync(ALL, bytes <= SHORT_BYTES);
        const u32 small = __ballot_sync(ALL, bytes <= 8 * SHORT_BYTES);
        reduce_short<1>(own & tiny, begin, bytes, order, base, output@{given.argument});
        reduce_short<8>(own & small & ~tiny, begin, bytes, order, base, output@{given.argument});
        // Segments of one node, and those that have a node that begins here.
        const bool is_long = is_there && one.count > span && at < mine.to && at + one.count > mine.from;
        u32 rest = __ballot_sync(ALL, is_long) | (own & ~small);
        while (rest) {
            const u32 whose = __ffs(rest) - 1;
            rest &= rest - 1;
            const u64 from = __shfl_sync(ALL, begin, whose), n = __shfl_sync(ALL, one.count, whose);
            const u64 place = __shfl_sync(ALL, at, whose);
            if (n > span) {
                reduce_long(mine, base + whose, place, from, n, span, output, scratch@{given.argument});
            } else {
                const accumulator a = reduce_run(from, n * sizeof(element)@{given.argument});
                if (lane == 0) finish(output, base + whose, a, n@{given.argument});
            }
        }
    }
    return false;
}

// A block's part of the work. DOUBTFUL: offsets may decrease.
template <bool DOUBTFUL>
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
    if (!DOUBTFUL) return;
    // Blocks count themselves, and in the upper half those that saw offsets decrease.
    const u32 decrease = __syncthreads_or(falls);
    __shared__ bool redoes;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) {
        const u32 one = decrease ? 0x10001 : 1, sum = atomicAdd((u32 *)scratch, one) + one;
        const bool all = (sum & 0xffff) == blocks;
        if (all) *(u32 *)scratch = 0;
        redoes = all && sum > 0xffff;
        __threadfence();
    }
    __syncthreads();
    if (!redoes) return;
    // Segments whose nodes did not all come have left counters.
    for (u32 i = threadIdx.x; i < NODES; i += BLOCK) *counter_of(scratch, i) = 0;
    reduce_slowly(input, s, warp, WARPS, output@{given.argument});
}

//@ for _, kernel in ipairs { { "redtune_reduce", "true" }, { "redtune_scattered", "false" } } do
extern "C" __global__ void __launch_bounds__(@{block}, @{resident})
@{kernel[1]}(const element *input, segments s, @{result.c} *output, void *scratch, u32 overlaps@{given.kernel})
{
//@     local prefetch = false
//@     include "lib/begin_overlap.cu"
//@     for _, line in ipairs(given.begin("input", "s.count", "output")) do
    @{line}
//@     end
    reduce_all<@{kernel[2]}>(input, s, output, scratch@{given.argument});
}

//@ end
