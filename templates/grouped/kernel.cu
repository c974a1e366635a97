//@ local loads = require "lib/load"
//@ local name, formula, indexed = op.name, op.formula, op.indexed or false
//@ local given = require("lib/operands").of(_ENV)
//@ local op = given.made
//@ local acc = op.acc
//@ local layout, single = loads.layout(dtype, vec), loads.layout(dtype, 1)
//@ local parts = given.parts(layout, vec)
//@ local tail = "shuffle"
// redtune: the @{name} of @{dtype.name} into @{result.name}, by the template "grouped" with
// @{config}
//
// output[i] = @{formula}
// for each segment i, n = its elements, wherever they are. Start it with @{block} threads per block, on
// a block for every @{block // lanes * segments} segments and some more, which share giants; any number is right.
//
//@ local group = lanes == 1 and "one thread" or lanes .. " threads"
// A group of @{group} takes @{segments == 1 and "a segment" or segments .. " segments at once"}.
// Groups come and go with their blocks, so that nothing is dealt and nothing is searched: a thread needs
// registers for little more than its loads. A segment that is long for a group is taken by its block, when
// the others of the block are done, and a giant by blocks that do nothing else. How a segment is combined
// depends on the table and the grid alone.

//@ include "lib/types.cu"
typedef @{dtype.c} element;  // in memory
typedef @{dtype.value} value;  // in registers
typedef @{acc.c} accumulator;

//@ include "lib/given.cu"
constexpr u32 BLOCK = @{block};  // threads per block
constexpr u32 WARPS = BLOCK / 32;
constexpr u32 GROUP = @{lanes};  // threads per segment
constexpr u32 GROUPS = BLOCK / GROUP;
constexpr u32 EACH = @{segments};  // segments that a group takes at once
constexpr u32 SHARE = GROUPS * EACH;  // segments of a block
constexpr u32 VEC = @{vec};  // elements per load
constexpr u32 UNROLL = @{unroll};  // independent loads in flight per thread
constexpr u32 LANES = @{parts};  // accumulators per thread
constexpr u64 LOAD_BYTES = VEC * @{dtype.bytes};

// Loads of each thread, one after the other, that a group takes at most: one that is its block has to wait for nobody.
constexpr u64 OWN_TILES = @{lanes < block and 8 or 16};
constexpr u64 OWN = OWN_TILES * GROUP * UNROLL * VEC;  // elements

constexpr u32 ALL = 0xffffffff;  // lanes of a warp

static_assert(sizeof(element) == @{dtype.bytes}, "");
static_assert(LOAD_BYTES <= 16 && BLOCK % 32 == 0 && BLOCK % GROUP == 0, "");

//@ include "ragged/tables.cu"
//@ include "ragged/offsets.cu"
//@ local fewest, apart = lanes, lanes < 32
//@ local help_loads, two_tiles = require("grouped/family").help_loads(_ENV, dtype)
//@ include "ragged/elements.cu"
//@ -- More than an average block and three average segments together.
//@ local long, times, looks = "4 * (BLOCK * UNROLL * VEC) < OWN ? OWN : 4 * (BLOCK * UNROLL * VEC)", "(SHARE + 3)", 1
//@ include "grouped/giants.cu"
//@ include "grouped/groups.cu"
__device__ __forceinline__ void reduce_all(const element *input, const segments &s, @{result.c} *output, void *scratch@{given.parameter})
{
    __shared__ help_memory mem;
    if (blockIdx.x < duties_of(s.count).helpers) {
        help(mem, input, s, scratch, output@{given.argument});
        return;
    }
    reduce_own(input, s, output@{given.argument});
}

extern "C" __global__ void __launch_bounds__(@{block}, @{resident})
redtune_reduce(const element *input, segments s, @{result.c} *output, void *scratch, u32 overlaps@{given.kernel})
{
//@ local prefetch = false
//@ include "lib/begin_overlap.cu"
//@ for _, line in ipairs(given.begin("input", "s.count", "output")) do
    @{line}
//@ end
    reduce_all(input, s, output, scratch@{given.argument});
}
