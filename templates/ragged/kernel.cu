//@ local loads = require "lib/load"
//@ local name, formula, indexed = op.name, op.formula, op.indexed or false
//@ local given = require("lib/operands").of(_ENV)
//@ local op = given.made
//@ local acc = op.acc
//@ local layout, single = loads.layout(dtype, vec), loads.layout(dtype, 1)
//@ local parts = given.parts(layout, vec)
//@ local warps, tail = block // 32, "shuffle"
// redtune: the @{name} of @{dtype.name} into @{result.name}, by the template "ragged" with
// @{config}
//
// output[i] = @{formula}
// for each segment i, n = its elements, wherever they are. Start it with @{block} threads per block, on
// any number of blocks.
//
// A segment's work is that of its elements, and COST elements more. The work of all segments is
// dealt in equal stretches, one to a warp. A warp finds the segment that its stretch begins in, and
// goes on over segments, 32 at a time: each lane knows one of them. Short ones are taken by 1, 8 or
// 32 lanes, several at once; long ones and those that cross an end of the stretch by the whole warp,
// one after the other. What a stretch has of a segment that crosses its ends is an edge. A block
// combines the edges of its warps; those of several blocks meet in scratch, where the last of them
// to come combines them in the order of the blocks.
//
// The search needs the work before a segment. Offsets that do not decrease have it in them. Whether
// they do is checked on the way: each warp looks at all its offsets, and at where it begins. If a
// warp finds that they decrease, the last block makes all results anew, slowly. Other segments are
// given with two tables, and redtune_prefix leaves the work before every chunk of them in scratch.

//@ include "lib/types.cu"
typedef @{dtype.c} element;  // in memory
typedef @{dtype.value} value;  // in registers
typedef @{acc.c} accumulator;

//@ include "lib/given.cu"
constexpr u32 BLOCK = @{block};  // threads per block
constexpr u32 WARPS = BLOCK / 32;
constexpr u32 VEC = @{vec};  // elements per load
constexpr u32 UNROLL = @{unroll};  // independent loads in flight per thread
constexpr u32 LANES = @{parts};  // accumulators per thread
constexpr u64 COST = @{math.max(1, cost // dtype.bytes)};  // elements that a segment counts for
constexpr u64 LEAST = @{2048 // dtype.bytes};  // work of a stretch

constexpr u64 LOAD_BYTES = VEC * @{dtype.bytes};
constexpr u64 TILE_BYTES = 32 * UNROLL * LOAD_BYTES;

// The table of chunks, in front of the slots.
constexpr u64 CHUNKS = 4096;
constexpr u64 TABLE_BYTES = 33024;
constexpr u32 PREFIX_BLOCK = 256;

constexpr u32 ALL = 0xffffffff;  // lanes of a warp
constexpr u64 NONE = ~0ull;  // no segment

static_assert(sizeof(element) == @{dtype.bytes}, "");
static_assert(LOAD_BYTES <= 16 && BLOCK % 32 == 0 && 2 * WARPS <= 32, "");
static_assert((CHUNKS + 1) * 8 <= TABLE_BYTES && CHUNKS % PREFIX_BLOCK == 0, "");

// As model/launch.h has it.
struct segments {
    u64 begin, end;  // tables; end is 0 where a segment ends at the next one's begin
    u64 count, wide;
};

static_assert(sizeof(segments) == 32, "");

// ---- segments -------------------------------------------------------------------------------

struct segment {
    u64 first, count;  // of elements
    bool backwards;  // it ends before it begins, and has none
};

__device__ __forceinline__ u64 offset_at(const segments &s, u64 table, u64 i)
{
    return s.wide ? ((const u64 *)table)[i] : ((const u32 *)table)[i];
}

__device__ __forceinline__ segment segment_of(const segments &s, u64 i)
{
    const u64 begin = offset_at(s, s.begin, i);
    const u64 end = s.end ? offset_at(s, s.end, i) : offset_at(s, s.begin, i + 1);
    return segment{begin, end > begin ? end - begin : 0, end < begin};
}

// The work before chunk c of segments that are given with two tables; behind the last one, of all.
__device__ __forceinline__ u64 *chunk_table(void *scratch)
{
    return (u64 *)((char *)scratch + @{scratch.slots_offset});
}

// Segments of a chunk.
__device__ __forceinline__ u64 chunk_of(const segments &s)
{
    const u64 chunk = (s.count + CHUNKS - 1) / CHUNKS;
    return chunk < 32 ? 32 : chunk;
}

__device__ __forceinline__ u64 scan_warp(u64 x)
{
    const u32 lane = threadIdx.x % 32;
#pragma unroll
    for (u32 step = 1; step < 32; step *= 2) {
        const u64 other = __shfl_up_sync(ALL, x, step);
        if (lane >= step) x += other;
    }
    return x;
}

// The first launch, where there are two: leaves the table of chunks. The last block to come makes
// sums of what the others leave.
extern "C" __global__ void __launch_bounds__(256)
redtune_prefix(segments s, void *scratch)
{
//@ if arch >= 90 then
    asm volatile("griddepcontrol.launch_dependents;");
    asm volatile("griddepcontrol.wait;" : : : "memory");
//@ end
    u64 *const table = chunk_table(scratch);
    const u64 chunk = chunk_of(s), chunks = (s.count + chunk - 1) / chunk;
    const u32 thread = threadIdx.x, lane = thread % 32;
    for (u64 c = blockIdx.x * (PREFIX_BLOCK / 32) + thread / 32; c < chunks;
         c += gridDim.x * (PREFIX_BLOCK / 32)) {
        const u64 end = (c + 1) * chunk < s.count ? (c + 1) * chunk : s.count;
        u64 work = 0;
        for (u64 i = c * chunk + lane; i < end; i += 32) work += COST + segment_of(s, i).count;
        work = scan_warp(work);
        if (lane == 31) table[c] = work;
    }
    __shared__ bool last;
    __shared__ u64 warp_sum[PREFIX_BLOCK / 32];
    __threadfence();
    __syncthreads();
    if (thread == 0) {
        last = atomicInc((u32 *)scratch + 1, gridDim.x - 1) == gridDim.x - 1;
        __threadfence();
    }
    __syncthreads();
    if (!last) return;
    constexpr u32 EACH = CHUNKS / PREFIX_BLOCK;
    u64 work[EACH], sum = 0;
#pragma unroll
    for (u32 k = 0; k < EACH; k++) {
        const u64 c = thread * EACH + k;
        work[k] = c < chunks ? __ldcg(table + c) : 0;
    }
#pragma unroll
    for (u32 k = 0; k < EACH; k++) sum += work[k];
    const u64 through = scan_warp(sum);
    if (lane == 31) warp_sum[thread / 32] = through;
    __syncthreads();
    u64 before = through - sum;
    for (u32 w = 0; w < thread / 32; w++) before += warp_sum[w];
#pragma unroll
    for (u32 k = 0; k < EACH; k++) {
        const u64 c = thread * EACH + k;
        if (c <= chunks) table[c] = before;
        before += work[k];
    }
    // Behind the last chunk there may be no thread's.
    if (chunks == CHUNKS && thread == PREFIX_BLOCK - 1) table[CHUNKS] = before;
}

// ---- stretches ------------------------------------------------------------------------------

// How the work is dealt.
struct deal {
    u64 total;  // work of all segments
    u64 origin;  // where offsets that have the work in them begin
    u64 stretch;  // work of a warp
    bool backwards;  // these end before they begin
};

__device__ __forceinline__ deal deal_of(const segments &s, void *scratch)
{
    deal d = {0, 0, 0, false};
    if (s.end) {
        const u64 chunk = chunk_of(s);
        d.total = chunk_table(scratch)[(s.count + chunk - 1) / chunk];
    } else {
        d.origin = offset_at(s, s.begin, 0);
        const u64 end = offset_at(s, s.begin, s.count);
        d.backwards = end < d.origin;
        d.total = s.count * COST + (d.backwards ? 0 : end - d.origin);
    }
    const u64 warps = (u64)gridDim.x * WARPS;
    d.stretch = (d.total + warps - 1) / warps;
    if (d.stretch < LEAST) d.stretch = LEAST;
    return d;
}

// The work before a segment, where offsets have it in them.
__device__ __forceinline__ u64 work_before(const segments &s, const deal &d, u64 i)
{
    return offset_at(s, s.begin, i) - d.origin + i * COST;
}

// A segment, and the work before it.
struct place {
    u64 segment, before;
};

// The last of [0, n) before which there is no more than the target: by 16 probes at a time. Each half
// of a warp has a target of its own. before(i) must not decrease; if it does, it is any of them.
template <typename BEFORE>
__device__ __forceinline__ u64 search(u64 n, u64 target, BEFORE before)
{
    const u32 lane = threadIdx.x % 16, shift = threadIdx.x % 32 - lane;
    u64 low = 0, high = n;
    while (__any_sync(ALL, high - low > 1)) {
        const u64 step = (high - low + 16) / 17, at = low + (lane + 1) * step;
        const u32 held = __ballot_sync(ALL, at < high && before(at) <= target);
        const u32 found = __popc(held >> shift & 0xffff);
        if (high - low > 1) {
            const u64 stop = low + (found + 1) * step;
            low += found * step;
            if (stop < high) high = stop;
        }
    }
    return low;
}

// The segment of a chunk in which the target lies: lanes of half a warp count parts of what is left.
__device__ __forceinline__ place search_chunk(const segments &s, u64 from, u64 to, u64 before,
                                              u64 target)
{
    const u32 lane = threadIdx.x % 16;
    while (__any_sync(ALL, to - from > 1)) {
        const u64 part = (to - from + 15) / 16, begin = from + lane * part;
        const u64 end = begin + part < to ? begin + part : to;
        u64 work = 0;
        for (u64 i = begin; i < end; i++) work += COST + segment_of(s, i).count;
        u64 through = work;
#pragma unroll
        for (u32 step = 1; step < 16; step *= 2) {
            const u64 other = __shfl_up_sync(ALL, through, step, 16);
            if (lane >= step) through += other;
        }
        // Lanes before whose end the target does not lie; the last part has it at the latest.
        const u32 shift = threadIdx.x % 32 - lane;
        const u32 passed = __ballot_sync(ALL, end < to && begin < to && before + through <= target);
        const u32 found = __popc(passed >> shift & 0xffff);
        before += __shfl_sync(ALL, through - work, found, 16);
        from += found * part;
        if (from + part < to) to = from + part;
    }
    return place{from, before};
}

__device__ __forceinline__ place find(const segments &s, const deal &d, void *scratch, u64 target)
{
    if (!s.end) {
        const u64 i = search(s.count, target, [&](u64 at) { return work_before(s, d, at); });
        return place{i, work_before(s, d, i)};
    }
    const u64 *const table = chunk_table(scratch);
    const u64 chunk = chunk_of(s);
    const u64 c = search((s.count + chunk - 1) / chunk, target, [&](u64 at) { return table[at]; });
    const u64 end = (c + 1) * chunk < s.count ? (c + 1) * chunk : s.count;
    return search_chunk(s, c * chunk, end, table[c], target);
}

// ---- elements -------------------------------------------------------------------------------

//@ include "lib/vector.cu"
// Where this thread's load i of the tile at that address is.
__device__ __forceinline__ u64 place_of(u64 tile, u32 i)
{
    return tile + (threadIdx.x % 32 + i * 32) * LOAD_BYTES;
}

//@ include "lib/load_tile.cu"
//@ include "lib/load_element.cu"
//@ include "lib/combine.cu"
//@ include "lib/take.cu"
//@ include "lib/reduce_warp.cu"
//@ include "lib/reduce_block.cu"
__device__ __forceinline__ void finish(@{result.c} *output, u64 segment, accumulator a, u64 count@{given.parameter})
{
    @{given.write("output[segment]", "a", "count")}
}

// Neighbours of one that is loaded so are loaded next: L1 keeps them.
__device__ __forceinline__ value load_near(const element *from)
{
    @{single.word.c} word[1];
    @{loads.statement(single, "plain", "word", "from")}
    return @{dtype.unpack("word[0]", 0)};
}

// Each lane returns its share of `count` elements side by side@{indexed and ", the first of which has the index `origin`" or ""}. Loads are aligned:
// from body up to stop.
__device__ __forceinline__ accumulator reduce_run(const element *input, u64 count@{indexed and ", u64 origin" or ""}@{given.parameter})
{
    const u64 begin = (u64)input, end = begin + count * sizeof(element);
    const u64 body = (begin + LOAD_BYTES - 1) / LOAD_BYTES * LOAD_BYTES;
    const u64 stop = end / LOAD_BYTES * LOAD_BYTES;
    u64 tile = body;
    vector v[UNROLL];
    load_tile(v, tile, stop@{given.argument});

//@ include "lib/begin_parts.cu"
    accumulator edge = @{op.identity};
//@ if vec > 1 then
    // Fewer than VEC elements stand before body and behind stop: all, if nothing is between these.
    const u64 head = (u32)(body - begin) / sizeof(element);
    const u64 between = stop > body ? (stop - body) / sizeof(element) : 0;
    for (u64 i = threadIdx.x % 32; i < count - between; i += 32) {
        const u64 at = i < head ? i : i + between;
//@     if indexed then
        edge = combine(edge, candidate(load_element(input + at), origin + at)@{given.argument});
//@     else
        edge = combine(edge, map(load_element(input + at)@{given.argument})@{given.argument});
//@     end
    }
//@ end

    while (tile < stop) {
//@     include "lib/take_tile.cu"
        tile += TILE_BYTES;
        load_tile(v, tile, stop@{given.argument});
    }
//@ if indexed then
    // Where no value went before the last one there is, it is the first load's, if there was one.
    const u64 first = place_of(body, 0);
    if (first < stop) {
#pragma unroll
        for (u32 j = 0; j < LANES; j++) {
            const u64 tiles = part[j].load / UNROLL, i = part[j].load % UNROLL;
            const u64 place = first + tiles * TILE_BYTES + i * 32 * LOAD_BYTES;
            const u64 index = origin + (place - begin) / sizeof(element) + j;
            edge = combine(edge, candidate(part[j].x, index)@{given.argument});
        }
    }
    return edge;
//@ else
//@     include "lib/combine_parts.cu"
//@ end
}

// ---- short segments -------------------------------------------------------------------------

constexpr u32 AT_ONCE = 8;  // elements that a lane loads before it uses one

// The lanes in the mask have segments of at most WIDE * AT_ONCE elements; WIDE lanes take one.
template <u32 WIDE>
__device__ __forceinline__ void reduce_short(u32 mask, const segment &mine, u64 base,
                                             unsigned char *order, const element *input,
                                             @{result.c} *output@{given.parameter})
{
    if (mask == 0) return;
    const u32 lane = threadIdx.x % 32, n = __popc(mask);
    __syncwarp();
    if (mask >> lane & 1) order[__popc(mask & ((1u << lane) - 1))] = lane;
    __syncwarp();
    for (u32 next = lane / WIDE; __any_sync(ALL, next < n); next += 32 / WIDE) {
        const bool there = next < n;
        const u32 whose = order[there ? next : 0];
        const u64 first = __shfl_sync(ALL, mine.first, whose);
        const u32 length = __shfl_sync(ALL, (u32)mine.count, whose), count = there ? length : 0;
        const element *const from = input + first;
        value x[AT_ONCE];
#pragma unroll
        for (u32 k = 0; k < AT_ONCE; k++) {
            if (!__any_sync(ALL, k * WIDE < count)) break;
            const u32 at = k * WIDE + lane % WIDE;
            if (at < count) x[k] = load_near(from + at);
        }
        accumulator a = @{op.identity};
#pragma unroll
        for (u32 k = 0; k < AT_ONCE; k++) {
            if (!__any_sync(ALL, k * WIDE < count)) break;
            const u32 at = k * WIDE + lane % WIDE;
//@ if indexed then
            if (at < count) a = combine(a, candidate(x[k], at)@{given.argument});
//@ else
            if (at < count) a = combine(a, map(x[k]@{given.argument})@{given.argument});
//@ end
        }
        // Further lanes are given values of the next segment, and theirs are not looked at.
//@ for _, step in ipairs { 16, 8, 4, 2, 1 } do
        if (WIDE > @{step}) a = combine(a, @{acc.shuffle("a", step)}@{given.argument});
//@ end
        if (there && lane % WIDE == 0) finish(output, base + whose, a, count@{given.argument});
    }
}

// ---- edges ----------------------------------------------------------------------------------

// What a warp has of a segment that crosses an end of its stretch.
struct edge {
    u64 segment, before, count;  // the segment, the work before it, and its elements
    accumulator a;
};

// A segment that several blocks have parts of, from one to another.
struct chain {
    u64 segment, count;
    u32 first, last;
    bool complete;  // this block is the last of them to leave its part
};

__device__ __forceinline__ accumulator *slot_of(void *scratch, u32 i)
{
    return (accumulator *)((char *)scratch + @{scratch.slots_offset} + TABLE_BYTES) + i;
}

// The part of a block: in one slot what the segment that comes from the block before has, in the
// other what it has of the one that it begins.
__device__ __forceinline__ accumulator *part_of(void *scratch, u32 block, bool begins)
{
    return slot_of(scratch, 2 * block + begins);
}

__device__ __forceinline__ u32 *counter_of(void *scratch, u32 block)
{
    return (u32 *)((char *)scratch + @{scratch.words_offset} + (u64)block * @{scratch.words_bytes});
}

// The first warp combines the edges of all: two of each warp, in their order, so that those of one
// segment stand side by side. Whether the offsets are seen to decrease: a segment ends behind all.
__device__ __forceinline__ bool meet(const edge *edges, chain *chains, u64 span, u64 blocks,
                                     void *scratch, @{result.c} *output@{given.parameter})
{
    const u32 lane = threadIdx.x;
    u64 key = NONE;
    accumulator a = @{op.identity};
    if (lane < 2 * WARPS) {
        key = edges[lane].segment;
        a = @{acc.copy("edges[lane].a")};
    }
//@ for _, step in ipairs { 1, 2, 4, 8, 16 } do
//@     if step < 2 * warps then
    {
        const accumulator other = @{acc.shuffle("a", step)};
        const u64 its = __shfl_down_sync(ALL, key, @{step});
        if (its == key && lane + @{step} < 32) a = combine(a, other@{given.argument});
    }
//@     end
//@ end
    const u64 left = __shfl_up_sync(ALL, key, 1);
    const u64 head = __shfl_sync(ALL, key, 0), last = __shfl_sync(ALL, key, 2 * WARPS - 1);
    if (key == NONE || (lane > 0 && left == key)) return false;
    const edge &mine = edges[lane];
    if (key != head && key != last) {
        finish(output, key, a, mine.count@{given.argument});
        return false;
    }
    const u64 end = (mine.before + COST + mine.count - 1) / span;
    if (end >= blocks) return true;
    chain at;
    at.segment = key;
    at.count = mine.count;
    at.first = mine.before / span;
    at.last = end;
    *part_of(scratch, blockIdx.x, at.first == blockIdx.x) = a;
    __threadfence();
    const u32 others = at.last - at.first;
    at.complete = atomicInc(counter_of(scratch, at.first), others) == others;
    __threadfence();
    chains[key == head ? 0 : 1] = at;
    return false;
}

// All threads of the block: the parts of a segment, in the order of the blocks.
__device__ __forceinline__ void join(const chain &c, void *scratch, @{result.c} *output@{given.parameter})
{
    accumulator a = @{op.identity};
    for (u32 block = c.first + threadIdx.x; block <= c.last; block += BLOCK) {
        const accumulator *part = part_of(scratch, block, block == c.first);
        a = combine(a, @{acc.reload("part")}@{given.argument});
    }
    a = reduce_block(a@{given.argument});
    if (threadIdx.x == 0) finish(output, c.segment, a, c.count@{given.argument});
    __syncthreads();
}

// ---- a warp's stretch -----------------------------------------------------------------------

// What a warp goes over: the work [from, to), in the segments [first, last].
struct stretch {
    u64 from, to, first, last, before;
};

// The stretch of this warp. Whether the offsets are seen to decrease: then there is none.
__device__ __forceinline__ bool begin_stretch(stretch &mine, const segments &s, const deal &d,
                                              void *scratch)
{
    const u64 number = (u64)blockIdx.x * WARPS + threadIdx.x / 32;
    mine.from = number * d.stretch;
    mine.to = mine.from + d.stretch < d.total ? mine.from + d.stretch : d.total;
    if (mine.from >= d.total || d.backwards) {
        mine.first = 1;
        mine.last = 0;
        return d.backwards;
    }
    // Half of the warp looks for one end, half for the other.
    const place found = find(s, d, scratch, threadIdx.x % 32 < 16 ? mine.from : mine.to);
    mine.first = __shfl_sync(ALL, found.segment, 0);
    mine.last = __shfl_sync(ALL, found.segment, 16);
    mine.before = __shfl_sync(ALL, found.before, 0);
    if (s.end) return false;
    const bool is_right = mine.first <= mine.last && mine.before <= mine.from &&
                          mine.from < work_before(s, d, mine.first + 1) &&
                          (mine.from > 0 || mine.first == 0) &&
                          (mine.to < d.total || mine.last == s.count - 1);
    if (!is_right) mine.first = mine.last + 1;
    return !is_right;
}

// Whether the offsets are seen to decrease.
__device__ __forceinline__ bool reduce_stretch(const stretch &mine, const segments &s, const deal &d,
                                               edge *edges, unsigned char *order,
                                               const element *input,
                                               @{result.c} *output@{given.parameter})
{
    const u32 lane = threadIdx.x % 32;
    const segment nothing = {0, 0, false};
    u64 before = mine.before;
    segment next = mine.first + lane <= mine.last ? segment_of(s, mine.first + lane) : nothing;
    for (u64 base = mine.first; base <= mine.last; base += 32) {
        const segment one = next;
        const u64 i = base + lane;
        next = i + 32 <= mine.last ? segment_of(s, i + 32) : nothing;
        const u64 work = i <= mine.last ? COST + one.count : 0;
        u64 at;
        if (s.end) {
            const u64 through = scan_warp(work);
            at = before + through - work;
            before += __shfl_sync(ALL, through, 31);
        } else {
            if (__any_sync(ALL, one.backwards)) return true;
            at = one.first - d.origin + i * COST;
        }
        const bool there = work > 0 && at < mine.to;
        const bool crosses = at < mine.from || at + work > mine.to;
        const u64 count = one.count;
        const bool is_short = there && !crosses && count <= 32 * AT_ONCE;
        const u32 mask = __ballot_sync(ALL, is_short);
        const u32 tiny = __ballot_sync(ALL, count <= AT_ONCE);
        const u32 small = __ballot_sync(ALL, count <= 8 * AT_ONCE);
        reduce_short<1>(mask & tiny, one, base, order, input, output@{given.argument});
        reduce_short<8>(mask & small & ~tiny, one, base, order, input, output@{given.argument});
        reduce_short<32>(mask & ~small, one, base, order, input, output@{given.argument});
        u32 rest = __ballot_sync(ALL, there && !is_short);
        while (rest) {
            const u32 whose = __ffs(rest) - 1;
            rest &= rest - 1;
            const u64 first = __shfl_sync(ALL, one.first, whose), n = __shfl_sync(ALL, count, whose);
            const u64 begin = __shfl_sync(ALL, at, whose), head = begin + COST;
            const u64 skipped = mine.from > head ? mine.from - head : 0;
            const u64 reached = mine.to > head ? mine.to - head : 0;
            const u64 low = skipped < n ? skipped : n, high = reached < n ? reached : n;
            accumulator a = reduce_run(input + first + low, high - low@{indexed and ", low" or ""}@{given.argument});
            a = reduce_warp(a@{given.argument});
            if (lane > 0) continue;
            const bool from_before = begin < mine.from, goes_on = head + n > mine.to;
            const u64 segment = base + whose;
            if (!from_before && !goes_on) finish(output, segment, a, n@{given.argument});
            if (from_before) edges[0] = edge{segment, begin, n, @{acc.copy("a")}};
            if (goes_on) edges[1] = edge{segment, begin, n, @{op.identity}};
            if (goes_on && !from_before) edges[1].a = @{acc.copy("a")};
        }
    }
    return false;
}

// Makes all results, by one block: offsets decrease, and what was dealt does not hold.
__device__ __forceinline__ void reduce_slowly(const element *input, const segments &s,
                                              @{result.c} *output@{given.parameter})
{
    for (u64 i = threadIdx.x / 32; i < s.count; i += WARPS) {
        const segment one = segment_of(s, i);
        const element *const from = input + one.first;
        accumulator a = @{op.identity};
#pragma unroll 1
        for (u64 at = threadIdx.x % 32; at < one.count; at += 32) {
//@ if indexed then
            a = combine(a, candidate(load_near(from + at), at)@{given.argument});
//@ else
            a = combine(a, map(load_near(from + at)@{given.argument})@{given.argument});
//@ end
        }
        a = reduce_warp(a@{given.argument});
        if (threadIdx.x % 32 == 0) finish(output, i, a, one.count@{given.argument});
    }
}

extern "C" __global__ void __launch_bounds__(@{block})
redtune_reduce(const element *input, segments s, @{result.c} *output, void *scratch, u32 overlaps@{given.kernel})
{
//@ if arch >= 90 then
    // The next kernel may be launched from now on, and this one may have been launched before the
    // one before it ended: nothing is read or written until that one is over.
    asm volatile("griddepcontrol.launch_dependents;");
    asm volatile("griddepcontrol.wait;" : : : "memory");
//@ end
    if (s.count == 0) return;
    const deal d = deal_of(s, scratch);
    const u64 span = d.stretch * WARPS, blocks = (d.total + span - 1) / span;
    if (blockIdx.x >= blocks) return;
//@ for _, line in ipairs(given.begin("input", "s.count", "output")) do
    @{line}
//@ end
    __shared__ edge edges[2 * WARPS];
    __shared__ chain chains[2];
    __shared__ unsigned char order[WARPS][32];
    __shared__ bool redoes;
    const u32 thread = threadIdx.x, warp = thread / 32;
    if (thread < 2 * WARPS) {
        edges[thread] = edge{NONE, 0, 0, @{op.identity}};
    }
    if (thread < 2) chains[thread].complete = false;
    __syncthreads();
    stretch mine;
    bool falls = begin_stretch(mine, s, d, scratch);
    if (!falls)
        falls = reduce_stretch(mine, s, d, edges + 2 * warp, order[warp], input, output@{given.argument});
    u32 decrease = __syncthreads_or(falls);
    falls = warp == 0 && meet(edges, chains, span, blocks, scratch, output@{given.argument});
    decrease |= __syncthreads_or(falls);
    for (u32 i = 0; i < 2; i++)
        if (chains[i].complete) join(chains[i], scratch, output@{given.argument});
    if (s.end) return;
    // Blocks count themselves, and in the upper half those that saw offsets decrease.
    __threadfence();
    __syncthreads();
    if (thread == 0) {
        const u32 one = decrease ? 0x10001 : 1, sum = atomicAdd((u32 *)scratch, one) + one;
        const bool all = (sum & 0xffff) == blocks;
        if (all) *(u32 *)scratch = 0;
        redoes = all && sum > 0xffff;
        __threadfence();
    }
    __syncthreads();
    if (!redoes) return;
    // Segments whose parts did not all come have left counters.
    for (u32 block = thread; block < blocks; block += BLOCK) *counter_of(scratch, block) = 0;
    reduce_slowly(input, s, output@{given.argument});
}
