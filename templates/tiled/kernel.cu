//@ local loads = require "lib/load"
//@ local name, formula, indexed = op.name, op.formula, op.indexed or false
//@ local given = require("lib/operands").of(_ENV)
//@ local op = given.made
//@ local acc = op.acc
//@ local layout, single = loads.layout(dtype, vec), loads.layout(dtype, 1)
//@ local parts = given.parts(layout, vec)
//@ local tail = "shuffle"
// redtune: the @{name} of @{dtype.name} into @{result.name}, by the template "tiled" with
// @{config}
//
// output[i] = @{formula}
// for each segment i, n = its elements, wherever they are. Start it with @{block} threads per block, on
// a block for every @{block // 32 * 128} segments and some more, which share giants; any number is right.
//
// A warp takes 128 segments, a tile of their elements at a time, whatever the lengths. Warps come and go with their
// blocks, so that nothing is dealt. Segments of more than OWN elements are taken one after the other; giants among these
// by the blocks in front. How a segment is combined depends on the table and the grid alone.

//@ include "lib/types.cu"
typedef @{dtype.c} element;  // in memory
typedef @{dtype.value} value;  // in registers
typedef @{acc.c} accumulator;

//@ include "lib/given.cu"
constexpr u32 BLOCK = @{block};  // threads per block
constexpr u32 WARPS = BLOCK / 32;
constexpr u32 VEC = @{vec};  // elements per load
constexpr u32 UNROLL = @{unroll};  // independent loads in flight per thread, or one more
constexpr u32 LANES = @{parts};  // accumulators per thread
constexpr u64 LOAD_BYTES = VEC * @{dtype.bytes};

// A segment of more elements is long for a warp. Fewer would leave more to other blocks, more would let few warps take
// long.
constexpr u64 OWN = 8 * 32 * UNROLL * VEC;

constexpr u32 ALL = 0xffffffff;  // lanes of a warp

static_assert(sizeof(element) == @{dtype.bytes}, "");
static_assert(LOAD_BYTES <= 16 && BLOCK % 32 == 0, "");

//@ include "ragged/tables.cu"
//@ include "ragged/offsets.cu"
//@ local fewest, apart = 1, false
//@ local help_loads, two_tiles = require("grouped/family").help_loads(_ENV, dtype)
//@ include "ragged/elements.cu"
//@ local full = true
//@ include "ragged/batch.cu"
constexpr u32 SHARE = WARPS * BATCH;  // segments of a block

//@ local long, times, looks = "OWN", "4", 4
//@ include "grouped/giants.cu"
//@ include "tiled/tiles.cu"
__device__ __forceinline__ void reduce_all(const element *input, const segments &s, @{result.c} *output, void *scratch@{given.parameter})
{
    __shared__ union {
        tile_memory tiles[WARPS];
        help_memory help;
    } mem;
    if (blockIdx.x < duties_of(s.count).helpers) {
        help(mem.help, input, s, scratch, output@{given.argument});
        return;
    }
    u64 base = first_of(s.count) + threadIdx.x / 32 * BATCH;
    if (base >= s.count) return;
    const bool are_done = !s.arrays && are_neighbours(s) && reduce_tiles(mem.tiles[threadIdx.x / 32], input, s, base, output@{given.argument});
    if (are_done) base += (gridDim.x - duties_of(s.count).helpers) * (u64)SHARE;
    if (base < s.count) reduce_each(input, s, base, output@{given.argument});
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
