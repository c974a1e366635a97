//@ local op, given, acc, indexed, layout, parts = require("lib/kernel").of(_ENV, vec)
//@ include("lib/title.cu", { by = "tiled", of = "segments", own = block // 32 * 128 })
//
// A warp takes 128 segments, a tile of their elements at a time, whatever the lengths. Warps come and go with their
// blocks, so that nothing is dealt. Segments of more than OWN elements are taken one after the other; giants among these
// by the blocks in front. How a segment is combined depends on the table and the grid alone.

//@ include "lib/head.cu"
//@ include("lib/constants.cu", { names = "WARPS, VEC, UNROLL, LANES, LOAD_BYTES", unroll = unroll, parts = parts })

// A segment of more elements is long for a warp. Fewer would leave more to other blocks, more would let few warps take
// long.
constexpr u64 OWN = 8 * 32 * UNROLL * VEC;

//@ include("lib/constants.cu", { names = "ALL" })

//@ include("lib/asserts.cu", { that = { "LOAD_BYTES <= 16 && BLOCK % 32 == 0" } })

//@ local hidden = false
//@ include "lib/segments/tables.cu"
//@ include "lib/segments/offsets.cu"
//@ local fewest, apart = 1, false
//@ local help_loads, two_tiles = require("grouped/family").help_loads(_ENV, dtype)
//@ local guarded = false
//@ include "lib/segments/elements.cu"
//@ local full = true
//@ include "lib/segments/batch.cu"
constexpr u32 SHARE = WARPS * BATCH;  // segments of a block

//@ local long, times, looks = "OWN", "4", 4
//@ include "lib/segments/giants.cu"
//@ include "tiled/tiles.cu"
__device__ __forceinline__ void reduce_all(const element *input, const segments &s, @{result.c} *output, void *scratch@{given.parameter})
{
    __shared__ union {
        tile_memory tiles[WARPS];
        help_memory help;
    } mem;
//@ include("lib/segments/help_first.cu", { mem = "mem.help" })
    u64 base = first_of(s.count) + threadIdx.x / 32 * BATCH;
    if (base >= s.count) return;
    const bool are_done = !s.arrays && are_neighbours(s) && reduce_tiles(mem.tiles[threadIdx.x / 32], input, s, base, output@{given.argument});
    if (are_done) base += (gridDim.x - duties_of(s.count).helpers) * (u64)SHARE;
    if (base < s.count) reduce_each(input, s, base, output@{given.argument});
}

//@ include "lib/segments/entry.cu"
