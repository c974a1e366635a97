//@ local op, given, acc, indexed, layout, parts = require("lib/kernel").of(_ENV, vec)
//@ include("lib/title.cu", { by = "grouped", of = "segments", own = block // lanes * segments })
//
//@ local group = lanes == 1 and "one thread" or lanes .. " threads"
// A group of @{group} takes @{segments == 1 and "a segment" or segments .. " segments at once"}.
// Groups come and go with their blocks, so that nothing is dealt and nothing is searched: a thread needs
// registers for little more than its loads. A segment that is long for a group is taken by its block, when
// the others of the block are done, and a giant by blocks that do nothing else. How a segment is combined
// depends on the table and the grid alone.

//@ include "lib/head.cu"
//@ include("lib/constants.cu", { names = "WARPS, GROUP, GROUPS", lanes = lanes })
constexpr u32 EACH = @{segments};  // segments that a group takes at once
constexpr u32 SHARE = GROUPS * EACH;  // segments of a block
//@ include("lib/constants.cu", { names = "VEC, UNROLL, LANES, LOAD_BYTES", unroll = unroll, parts = parts })

// Loads of each thread, one after the other, that a group takes at most: one that is its block has to wait for nobody.
constexpr u64 OWN_TILES = @{lanes < block and 8 or 16};
constexpr u64 OWN = OWN_TILES * GROUP * UNROLL * VEC;  // elements

//@ include("lib/constants.cu", { names = "ALL" })

//@ include("lib/asserts.cu", { that = { "LOAD_BYTES <= 16 && BLOCK % 32 == 0 && BLOCK % GROUP == 0" } })

//@ local hidden = false
//@ include "lib/segments/tables.cu"
//@ include "lib/segments/masks.cu"
//@ include "lib/segments/offsets.cu"
//@ local fewest, apart = lanes, lanes < 32
//@ local help_loads, two_tiles = require("grouped/family").help_loads(_ENV, dtype)
//@ local guarded = false
//@ include "lib/segments/elements.cu"
//@ -- More than an average block and three average segments together.
//@ local long, times, looks = "4 * (BLOCK * UNROLL * VEC) < OWN ? OWN : 4 * (BLOCK * UNROLL * VEC)", "(SHARE + 3)", 1
//@ include "lib/segments/giants.cu"
//@ include "grouped/groups.cu"
__device__ __forceinline__ void reduce_all(const element *input, const segments &s, @{result.c} *output, void *scratch@{given.parameter})
{
    __shared__ help_memory mem;
//@ include("lib/segments/help_first.cu", { mem = "mem" })
    reduce_own(input, s, output@{given.argument});
}

//@ include "lib/segments/entry.cu"
