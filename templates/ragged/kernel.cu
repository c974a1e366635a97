//@ local whole = layout == "list" -- one result of all segments
//@ local op, given, acc, indexed, layout, parts = require("lib/kernel").of(_ENV, vec)
//@ local warps = block // 32
//@ local tiled, anywhere = not whole and unit == "tiles", unit == "anywhere"
//@ local by_number = not whole and not anywhere and not tiled -- segments of about one length are
//@ local packed = not whole and (tiled or unit == "segments") -- a warp goes over them a batch at a time
//@ -- There are registers for the offsets that a warp needs next.
//@ local ahead = packed and not tiled and block * resident <= 512 and unroll < 8
//@ local side = ahead and 4 or 2
//@ local offsets = ahead and "i64 (&next)[EACH + 1], " or "" -- a parameter
//@ local first_offsets = ahead and "how.next, " or ""
//@ local run = tiled and "run" or "how.run" -- what a warp goes over
//@ include("lib/title.cu", { by = "ragged", of = whole and "list" or "segments", many = true })
//
// A segment's work is that of its elements, and COST elements more. The work of all segments is
// dealt in equal stretches, one to a warp. A warp finds the segment that its stretch begins in, and
// goes on over segments, 32 at a time: each lane knows one of them. Short ones are taken by 1, 8 or
// 32 lanes, several at once; long ones and those that cross an end of the stretch by the whole warp,
//@ if whole then
// one after the other. Blocks leave what they have in scratch, where the last of them to come combines
// it in the order of the blocks.
//@ else
// one after the other. What a stretch has of a segment that crosses its ends is an edge. A block
// combines the edges of its warps; those of several blocks meet in scratch, where the last of them
// to come combines them in the order of the blocks.
//@     if tiled then
// A warp takes the elements of its segments a tile at a time, whatever their lengths.
//@     elseif by_number then
// Segments of one length are taken by number.
//@     end
//@ end
//
// The search needs the work before a segment. Offsets that do not decrease have it in them. Whether
// they do is checked on the way: each warp looks at all its offsets, and at where it begins. If a
// warp finds that they decrease, the last block makes all results anew, slowly.
//@ if anywhere then
// Other segments are given with their ends, and redtune_prefix leaves the work before every chunk of
// them in scratch.
//@ elseif whole then
// Segments that are given with their ends are reduced slowly, too: unit=anywhere is for these.
//@ else
// Segments that lie anywhere are reduced slowly, too: unit=anywhere is for these.
//@ end

//@ include "lib/head.cu"
//@ local all = "WARPS, VEC, UNROLL, LANES, COST = " .. math.max(1, cost // dtype.bytes) .. ", LEAST, LOAD_BYTES"
//@ include("lib/constants.cu", { names = all, unroll = unroll, parts = parts })

//@ include "lib/segments/chunks.cu"
constexpr u64 NONE = ~0ull;  // no segment

//@ local chunks = anywhere and "(CHUNKS + 1) * 8 <= TABLE_BYTES && CHUNKS % PREFIX_BLOCK == 0" or nil
//@ include("lib/asserts.cu", { that = { "LOAD_BYTES <= 16 && BLOCK % 32 == 0 && 2 * WARPS <= 32", chunks } })

//@ local hidden = true
//@ include "lib/segments/tables.cu"
//@ include "lib/segments/masks.cu"
//@ if anywhere then
//@     include "lib/segments/prefix.cu"
//@ end
//@ include "lib/segments/offsets.cu"
//@ local ends = anywhere
//@ include "lib/segments/search.cu"
//@ local fewest, apart, two_tiles, guarded = 8, false, false, true
//@ include "lib/segments/elements.cu"
// Neighbours of one that is loaded so are loaded next: L1 keeps them.
//@ include("lib/load_element.cu", { name = "load_near", load = "plain" })
//@ if not packed then
//@     include "lib/segments/listed.cu"
//@     include "ragged/short.cu"
//@ end
//@ include "ragged/blocks.cu"
//@ include "ragged/stretch.cu"
//@ -- The statement that takes up the element at `from + at`, of that index.
//@ local function take_near(index)
//@     local x, its = "load_near(from + at)", given.argument_of("its_own")
//@     local y = given.masked and ("load_other(second_of(from + at%s))"):format(its) or nil
//@     if not indexed then
//@         local of = y and x .. ", " .. y or x
//@         return ("a = combine(a, map(%s%s)%s);"):format(of, given.argument, given.argument)
//@     end
//@     return ("%sa = combine(a, candidate(%s, %s)%s);"):format(y and "if (" .. y .. ") " or "", x, index, given.argument)
//@ end
//@ if whole then
// Makes the result, by one block, from whatever tables.
__device__ __noinline__ void reduce_slowly(const element *input, segments s, @{given.output})
{
    accumulator a = @{op.identity};
    u64 before = 0;
#pragma unroll 1
    for (u64 i = 0; i < s.count; i++) {
        const segment one = segment_of(s, i);
        const element *const from = elements_of(s, input, i, one);
//@ if given.listed then
        const values its_own = values_in(s, given, i);
//@ end
        // Each thread has every BLOCK-th of all elements, however short their segments are.
#pragma unroll 1
        for (u64 at = (threadIdx.x - (u32)before) % BLOCK; at < one.count; at += BLOCK) {
            @{take_near("before + at")}
        }
        before += one.count;
    }
    a = reduce_block(a@{given.argument});
    if (threadIdx.x == 0) finish(output, 0, a, before@{given.argument});
//@ else
// Makes results of every step-th of the segments [i, end), by a warp, from whatever tables.
__device__ __noinline__ void reduce_slowly(const element *input, segments s, u64 i, u64 end, u32 step,
                                           @{given.output})
{
#pragma unroll 1
    for (; i < end; i += step) {
        const segment one = segment_of(s, i);
        const element *const from = elements_of(s, input, i, one);
//@ if given.listed then
        const values its_own = values_in(s, given, i);
//@ end
        accumulator a = @{op.identity};
#pragma unroll 1
        for (u64 at = threadIdx.x % 32; at < one.count; at += 32) {
            @{take_near("at")}
        }
        a = reduce_warp(a@{given.argument});
        if (threadIdx.x % 32 == 0) finish(output, i, a, one.count@{given.argument});
    }
//@ end
}

//@ if by_number then
//@     include "ragged/even.cu"
//@ end
// A block's part of the work.
//@ if whole then
__device__ __forceinline__ void reduce_all(const element *input, segments s, @{result.c} *output,
                                           void *scratch@{given.parameter})
{
    const u32 thread = threadIdx.x;
    if (s.count == 0) {
        if (blockIdx.x == 0 && thread == 0) finish(output, 0, @{op.identity}, 0@{given.argument});
        return;
    }
//@     if not anywhere then
    if (!are_neighbours(s)) {
        if (blockIdx.x == 0) reduce_slowly(input, s, output@{given.argument});
        return;
    }
    s.end = 0;  // as it is
//@     end
    const deal d = deal_of(s, scratch);
    const u64 span = d.stretch * WARPS, blocks = (d.total + span - 1) / span;
    if (blockIdx.x >= blocks) return;
    __shared__ unsigned char order[WARPS][32];
    __shared__ u32 sum;
    stretch mine;
    accumulator a = @{op.identity};
    bool falls = begin_stretch(mine, s, d, scratch);
    if (!falls) falls = reduce_stretch(mine, s, d, order[thread / 32], input, a@{given.argument});
    const u32 decrease = __syncthreads_or(falls);
    a = reduce_block(a@{given.argument});
    // Blocks count themselves, and in the upper half those that saw offsets decrease.
    if (thread == 0) {
        *slot_of(scratch, blockIdx.x) = a;
        __threadfence();
        const u32 one = decrease ? 0x10001 : 1;
        sum = atomicAdd((u32 *)scratch, one) + one;
        if ((sum & 0xffff) == blocks) *(u32 *)scratch = 0;
        __threadfence();
    }
    __syncthreads();
    if ((sum & 0xffff) != blocks) return;
    if (sum > 0xffff) {
        reduce_slowly(input, s, output@{given.argument});
        return;
    }
    a = join(blocks, scratch@{given.argument});
    if (thread == 0) finish(output, 0, a, d.total - s.count * COST@{given.argument});
}
//@ else
__device__ __forceinline__ void reduce_all(const element *input, segments s, @{result.c} *output,
                                           void *scratch@{given.parameter})
{
    if (s.count == 0) return;
//@     if not anywhere then
    if (s.arrays || s.end) {
        reduce_slowly(input, s, (u64)blockIdx.x * WARPS + threadIdx.x / 32, s.count, gridDim.x * WARPS,
                      output@{given.argument});
        return;
    }
    s.end = s.arrays = 0;  // as it is
//@     end
//@     if by_number then
    sharing how;
    deal d;
//@         if packed then
    how.in_runs = false;
//@         end
    share_out(how, d, s);
    // First here, so that few instructions have to be fetched before its elements.
    if (__builtin_expect(how.wide > 0, 1)) {
        reduce_even(s, how.wide, how.one, input, output@{given.argument});
        return;
    }
    if (how.split) {
        reduce_split(s, how, input, output, scratch@{given.argument});
        return;
    }
//@     end
    const u32 thread = threadIdx.x, warp = thread / 32;
    __shared__ edge edges[2 * WARPS];
    __shared__ chain chains[2];
    stretch mine = {0, ~0ull, 0, 0, 0};  // in a run nothing crosses its ends
    bool falls = false;
    u64 span = 0, blocks = 0;
//@     if by_number and packed then
    if (!how.in_runs) {
//@     else
//@         if not by_number then
    deal d;
//@         end
//@         if tiled then
    course run;
//@         end
    {
//@     end
        d = deal_of(s, scratch);
        span = d.stretch * WARPS;
        blocks = (d.total + span - 1) / span;
        if (blockIdx.x >= blocks) return;
        if (thread < 2 * WARPS) edges[thread] = edge{NONE, 0, 0, @{op.identity}};
        if (thread < 2) chains[thread].complete = false;
        __syncthreads();
//@     if tiled then
        if (!d.backwards) fetch_share(d, s, input);
//@     end
        falls = begin_stretch(mine, s, d, scratch);
//@     if packed then
        begin_course(@{run}, @{first_offsets}mine, s, d);
//@     end
    }
//@     if packed then
    __shared__ packed packs[WARPS];
    packed &mem = packs[warp];
    if (thread % 32 == 0) {
        mem.run = @{run};
        mem.mine = mine;
        mem.dealt = d;
        mem.blocks = blocks;
    }
    __syncwarp();
    if (!falls) falls = reduce_packed(mem, @{first_offsets}s, edges + 2 * warp, input, output@{given.argument});
//@         if not tiled then
    if (how.in_runs) {
        if (falls) reduce_slowly(input, s, mem.run.first, mem.run.end, 1, output@{given.argument});
        return;
    }
//@         end
    span = mem.dealt.stretch * WARPS;
    blocks = mem.blocks;
//@     else
    __shared__ unsigned char order[WARPS][32];
    if (!falls) falls = reduce_stretch(mine, s, d, edges + 2 * warp, order[warp], input, output@{given.argument});
//@     end
    u32 decrease = __syncthreads_or(falls);
    // Where offsets were seen to decrease, edges of one segment need not stand side by side, and two lanes
    // would write one chain. All results are made anew then.
    falls = !decrease && warp == 0 && meet(edges, chains, span, blocks, scratch, output@{given.argument});
    decrease |= __syncthreads_or(falls);
    for (u32 i = 0; i < 2; i++)
        if (chains[i].complete) join(chains[i], scratch, output@{given.argument});
//@     if anywhere then
    // Arrays without ends are given with offsets that do not decrease.
    if (s.end || s.arrays) return;
//@     end
//@ include("lib/segments/redo.cu", { thread = "thread" })
    // Segments whose parts did not all come have left counters.
    for (u32 block = thread; block < blocks; block += BLOCK) *counter_of(scratch, block) = 0;
    reduce_slowly(input, s, warp, s.count, WARPS, output@{given.argument});
}
//@ end

//@ local config = { block = block, unit = unit, unroll = unroll, resident = resident }
//@ local least = require("ragged/family").resident(config, { layout = whole and "list" or "ragged" })
//@ include("lib/segments/entry.cu", { resident = least })
