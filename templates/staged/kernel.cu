//@ local loads = require "lib/load"
//@ local name, formula, indexed = op.name, op.formula, op.indexed or false
//@ local given = require("lib/operands").of(_ENV)
//@ local op = given.made
//@ local acc = op.acc
//@ local vec = 16 // dtype.bytes
//@ local layout = loads.layout(dtype, vec)
//@ op.narrow, op.word = nil, nil -- elements are taken one by one
//@ local parts, two = vec, given.inputs > 1
//@ given.paired = false
// redtune: the @{name} of @{dtype.name} into @{result.name}, by the template "staged" with
// @{config}
//
// output[r] = @{formula}
// for each of `outer` rows r: n = count elements side by side from input[r * outer_step] on,
// wherever that is. Start it with @{block} threads per block, on any number of blocks.

//@ include "lib/types.cu"
typedef @{dtype.c} element;  // in memory
typedef @{dtype.value} value;  // in registers
typedef @{acc.c} accumulator;

//@ include "lib/given.cu"
constexpr u32 BLOCK = @{block};  // threads per block
constexpr u32 ROWS = @{rows};  // rows per thread
constexpr u32 SET = BLOCK * ROWS;  // rows that a block takes at a time
constexpr u32 ROOM = SET * @{room};  // bytes that they may have, to be staged
constexpr u32 VEC = @{vec};  // elements per load
constexpr u32 LANES = VEC;
constexpr u32 LOAD_BYTES = 16;
constexpr u32 UNROLL = (ROOM / LOAD_BYTES + BLOCK - 1) / BLOCK;  // loads in flight per thread

static_assert(sizeof(element) == @{dtype.bytes} && VEC * sizeof(element) == LOAD_BYTES, "");

// As model/launch.h has it. Here inner and step are 1.
struct extents {
    u64 count, outer, inner, outer_step, step;
};

static_assert(sizeof(extents) == 40, "");

//@ include "lib/vector.cu"
//@ include "lib/load_element.cu"
//@ include "lib/combine.cu"
//@ include "lib/take.cu"
__device__ __forceinline__ @{given.part} take_element(@{given.part} a, value x@{two and ", value y" or ""}, u64 index@{given.parameter})
{
//@ if indexed then
    return combine(a, candidate(x, index)@{given.argument});
//@ elseif op.part then
    return @{op.part.take("a", "x", "y")};
//@ else
    return combine(a, map(x@{two and ", y" or ""}@{given.argument})@{given.argument});
//@ end
}

// Brings elements [from, to) of the input into shared memory, as far behind its begin as the first
// is behind a multiple of LOAD_BYTES. Loads that reach out of [low, high), the rows of all blocks,
// are made element by element. All threads of the block call it.
__device__ __forceinline__ void stage(char *shared, const element *from, const element *to,
                                      const element *low, const element *high@{given.parameter})
{
    const u64 begin = (u64)from / LOAD_BYTES * LOAD_BYTES;
    vector v[UNROLL + 1];
    bool whole[UNROLL + 1];
#pragma unroll
    for (u32 i = 0; i <= UNROLL; i++) {
        const u64 place = begin + (threadIdx.x + i * BLOCK) * LOAD_BYTES;
        whole[i] = place >= (u64)low && place + LOAD_BYTES <= (u64)high && place < (u64)to;
        if (whole[i]) v[i] = load_vector(place@{given.argument});
    }
#pragma unroll
    for (u32 i = 0; i <= UNROLL; i++) {
        const u32 at = threadIdx.x + i * BLOCK;
        if (whole[i]) {
            *(vector *)(shared + at * LOAD_BYTES) = v[i];
        } else {
            const element *place = (const element *)(begin + at * LOAD_BYTES);
            for (u32 j = 0; j < VEC && place + j < to; j++)
                if (place + j >= from) ((element *)(shared + at * LOAD_BYTES))[j] = place[j];
        }
    }
}

extern "C" __global__ void __launch_bounds__(@{block})
redtune_reduce(const element *input, extents e, @{result.c} *output, void *scratch, u32 overlaps@{given.kernel})
{
//@ local prefetch = false
//@ include "lib/begin_overlap.cu"
//@ for _, line in ipairs(given.begin("input", "e.count", "output")) do
    @{line}
//@ end
    __shared__ alignas(16) char shared[ROOM + LOAD_BYTES];
//@ if two then
    __shared__ alignas(16) char other_shared[ROOM + LOAD_BYTES];
//@ end
    const bool packed = e.outer_step == e.count && e.count * sizeof(element) <= @{room};
    const element *end = input + e.outer * e.count;
    for (u64 first = (u64)blockIdx.x * SET; first < e.outer; first += (u64)gridDim.x * SET) {
        @{given.part} a[ROWS];
#pragma unroll
        for (u32 r = 0; r < ROWS; r++) a[r] = @{op.part and op.part.zero or op.identity};
        const u32 rows = e.outer - first < SET ? e.outer - first : SET;
        if (packed) {
            const element *from = input + first * e.count;
            stage(shared, from, from + rows * e.count, input, end@{given.argument});
//@ if two then
            const element *other = second_of(from, given);
            stage(other_shared, other, other + rows * e.count, second_of(input, given),
                  second_of(end, given), given);
//@ end
            __syncthreads();
            const u32 count = e.count;
            const element *row = (const element *)(shared + (u64)from % LOAD_BYTES);
            row += threadIdx.x * count;
//@ if two then
            other = (const element *)(other_shared + (u64)other % LOAD_BYTES);
            other += threadIdx.x * count;
//@ end
            for (u32 i = 0; i < count; i++) {
#pragma unroll
                for (u32 r = 0; r < ROWS; r++) {
                    if (threadIdx.x + r * BLOCK >= rows) continue;
                    const @{dtype.word.c} word = (@{dtype.word.c})row[r * BLOCK * count + i];
//@ local values = dtype.unpack("word", 0)
//@ if two then
                    const @{dtype.word.c} word2 = (@{dtype.word.c})other[r * BLOCK * count + i];
//@     values = values .. ", " .. dtype.unpack("word2", 0)
//@ end
                    a[r] = take_element(a[r], @{values}, i@{given.argument});
                }
            }
            __syncthreads();
        } else {
#pragma unroll
            for (u32 r = 0; r < ROWS; r++) {
                if (threadIdx.x + r * BLOCK >= rows) continue;
                const element *row = input + (first + threadIdx.x + r * BLOCK) * e.outer_step;
                for (u64 i = 0; i < e.count; i++)
                    a[r] = take_element(a[r], @{given.read("row + i")}, i@{given.argument});
            }
        }
#pragma unroll
        for (u32 r = 0; r < ROWS; r++) {
            const u32 row = threadIdx.x + r * BLOCK;
//@ if op.part then
            const accumulator whole = @{given.widen("a[r]")};
//@ end
//@ local value = op.part and "whole" or "a[r]"
            if (row < rows) @{given.write("output[first + row]", value, "e.count")}
        }
    }
}
