//@ local op, given, acc, indexed, layout, parts = require("lib/kernel").of(_ENV, vec)
//@ local together = finish == "cluster"
//@ local once = (finish == "single" or finish == "poll") and not indexed and not op.part
//@ local few = not together and tail == "shuffle" and block > 32 and not op.lanes and not op.part and block // 32 * acc.bytes <= 128
//@ local cluster_blocks = require("lib/limits").cluster_blocks
//@ include("lib/title.cu", { by = "block", of = "whole" })

//@ include "lib/head.cu"
//@ include("lib/constants.cu", { names = "VEC, UNROLL", unroll = unroll })
constexpr u32 STEP = BLOCK * UNROLL;  // loads that a block makes at a time: a tile
//@ include("lib/constants.cu", { names = "LANES, LOAD_BYTES", parts = parts })
constexpr u64 TILE_BYTES = STEP * LOAD_BYTES;
//@ include("lib/constants.cu", { names = given.ahead and "AHEAD_BYTES = 1 << 20" or "" })

//@ include("lib/asserts.cu", { accumulator = "<= " .. math.max(scratch.slot_bytes, acc.bytes), that = { "LOAD_BYTES <= 16 && 2 * VEC <= BLOCK" } })

//@ include "lib/vector.cu"
// Where this thread's load i of the tile at that address is.
__device__ __forceinline__ u64 place_of(u64 tile, u32 i)
{
    return tile + (threadIdx.x + i * BLOCK) * LOAD_BYTES;
}

//@ include "lib/load_tile.cu"
//@ include "lib/load_element.cu"
//@ include "lib/combine.cu"
//@ include "lib/take.cu"
//@ include "lib/reduce_warp.cu"
//@ if few then
//@     include "lib/reduce_few_warps.cu"
//@ elseif not together then
//@     include "lib/reduce_block.cu"
//@ end
//@ if once then
// Each thread returns its share of the one tile that its block has, of an input of whole loads, up to
// stop: without the loop and without the edges. Their instructions would have to be fetched, which
// takes a small reduction a tenth of its time.
__device__ __forceinline__ accumulator reduce_tile(u64 tile, u64 stop@{given.parameter})
{
    vector v[UNROLL];
    load_tile(v, tile, stop@{given.argument});

//@ include("lib/begin_parts.cu", { edge = "const accumulator edge" })
    {
//@     include "lib/take_tile.cu"
    }
//@     include "lib/combine_parts.cu"
}

//@ end
// Each thread returns its share of the input: tiles of STEP loads are dealt round-robin to blocks.
__device__ __forceinline__ accumulator reduce_share(const element *input, u64 count@{given.parameter})
{
    // Loads are aligned: from body up to stop. The first ones are on their way before anything is
    // computed that they do not need.
    const u32 thread = threadIdx.x;
    const u64 begin = (u64)input, end = begin + count * sizeof(element);
//@ if once then
    if ((u32)begin % LOAD_BYTES == 0) {
//@     if finish == "single" then
        if (count == TILE_BYTES / sizeof(element)) return reduce_tile(begin, begin + TILE_BYTES@{given.argument});
        if (count % VEC == 0 && count < TILE_BYTES / sizeof(element)) return reduce_tile(begin, end@{given.argument});
//@     else
        const u64 whole = begin + blockIdx.x * TILE_BYTES;
        if (count == gridDim.x * (TILE_BYTES / sizeof(element))) return reduce_tile(whole, whole + TILE_BYTES@{given.argument});
//@     end
    }
//@ end
    const u64 body = (begin + LOAD_BYTES - 1) / LOAD_BYTES * LOAD_BYTES;
    const u64 stop = end / LOAD_BYTES * LOAD_BYTES;
    u64 tile = body + (u64)blockIdx.x * TILE_BYTES;
    vector v[UNROLL];
    load_tile(v, tile, stop@{given.argument});

//@ include("lib/begin_parts.cu", { edge = "accumulator edge" })
//@ if vec > 1 then
    // Fewer than VEC elements stand before body and behind stop. The last block takes these, one a
    // thread.
    if (blockIdx.x == gridDim.x - 1) {
        const u64 head = (u32)(body - begin) / sizeof(element);
        const u64 behind = ((stop > body ? stop : body) - begin) / sizeof(element) - head;
        const u64 at = thread < head ? thread : thread + behind;
//@     if indexed then
        if (at < count) edge = @{given.candidate("input + at", "at")};
//@     elseif op.part then
        if (at < count) part[0] = @{op.part.take("part[0]", given.each("input + at"))};
//@     else
        if (at < count) edge = map(@{given.read("input + at")}@{given.argument});
//@     end
    }
//@ end

    while (tile < stop) {
//@     include("lib/take_some.cu", { vectors = "v", many = "UNROLL", counts = true })
        tile += (u64)gridDim.x * TILE_BYTES;
        load_tile(v, tile, stop@{given.argument});
    }
//@ if indexed then
    // Where no value went before the last one there is, it is the first load's, if there was one.
    const u64 first = place_of(body + (u64)blockIdx.x * TILE_BYTES, 0);
    if (first < stop) {
#pragma unroll
        for (u32 j = 0; j < LANES; j++) {
            const u64 tiles = part[j].load / UNROLL, i = part[j].load % UNROLL;
            const u64 place = first + (tiles * gridDim.x * STEP + i * BLOCK) * LOAD_BYTES;
            edge = combine(edge, @{given.found("part[j]", "(place - begin) / sizeof(element) + j")}@{given.argument});
        }
    }
    return edge;
//@ else
//@     include "lib/combine_parts.cu"
//@ end
}

//@ if finish == "poll" then
//@     include "lib/poll.cu"
//@ elseif together then
//@     include "lib/meet_cluster.cu"
//@ end
//@ if given.ahead then
// Asks for the block's first tile to be brought into L2, a line of 128 bytes at a time. That reads
// nothing, so it is right even while the kernel before may still write.
__device__ __forceinline__ void prefetch_tile(const element *input, u64 count@{given.ahead and given.inputs > 1 and ", u64 second" or ""})
{
    const u64 begin = (u64)input, stop = begin + count * sizeof(element);
    const u64 tile = begin + (u64)blockIdx.x * TILE_BYTES;
    if (threadIdx.x % (128 / LOAD_BYTES) > 0) return;
#pragma unroll 1
    for (u32 i = 0; i < UNROLL; i++) {
        const u64 place = place_of(tile, i);
//@     include("lib/prefetch_line.cu", { place = "place", first = "begin", each = "if (place < stop) " })
    }
}

//@ end
extern "C" __global__ void __launch_bounds__(@{block})@{together and (" __cluster_dims__(%d, 1, 1)"):format(cluster_blocks) or ""}
redtune_reduce(const element *input, u64 count, @{result.c} *output, void *scratch, u32 overlaps@{given.kernel})
{
//@ if together then
    __shared__ u64 words[VALUES * WORDS];
    begin_meeting(words);
//@ end
//@ include("lib/begin.cu", { prefetch = given.ahead and { "count", " prefetch_tile(input, count" }, count = "count" })
//@ if together then
    hand_over(words, reduce_warp(reduce_share(input, count@{given.argument})@{given.argument}));
    if (blockIdx.x > 0 || threadIdx.x >= 32) return;
    const accumulator a = end_meeting(words@{given.argument});
    if (threadIdx.x == 0) @{given.write("*output", "a", "count")}
//@ elseif finish == "single" then
    const accumulator a = reduce_block(reduce_share(input, count@{given.argument})@{given.argument});
    if (threadIdx.x == 0) @{given.write("*output", "a", "count")}
//@ else
    accumulator a = reduce_share(input, count@{given.argument});
    // Block 0 comes back with the values of all others: one copy of what the threads' values meet in.
    for (u32 blocks = gridDim.x;; blocks = 1) {
        a = reduce_block(a@{given.argument});
        if (blocks == 1) break;
        if (blockIdx.x > 0) {
            if (threadIdx.x == 0) publish(words_of(scratch, blockIdx.x), a);
            return;
        }
        // It waits for all others, which wait for nobody.
        if (threadIdx.x > 0) a = @{op.identity};
        for (u32 i = threadIdx.x; i < blocks; i += BLOCK)
            if (i > 0) a = combine(a, collect(words_of(scratch, i))@{given.argument});
//@     if block > 32 then
        __syncthreads();
//@     end
    }
    if (threadIdx.x == 0) @{given.write("*output", "a", "count")}
//@ end
}
