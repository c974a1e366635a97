//@ local vec = 16 // dtype.bytes
//@ local op, given, acc, indexed, layout, parts = require("lib/kernel").of_several(_ENV, vec)
//@ local two = given.inputs > 1
//@ given.paired = false
//@ include("lib/title.cu", { by = "staged", of = "rows", many = true })

//@ include "lib/head.cu"
//@ include("lib/constants.cu", { names = "ROWS, SET = BLOCK * ROWS", rows = rows })
constexpr u32 ROOM = SET * @{room};  // bytes that they may have, to be staged
//@ include("lib/constants.cu", { names = "VEC, LANES = VEC" })
constexpr u32 LOAD_BYTES = 16;
constexpr u32 UNROLL = (ROOM / LOAD_BYTES + BLOCK - 1) / BLOCK;  // loads in flight per thread

static_assert(sizeof(element) == @{dtype.bytes} && VEC * sizeof(element) == LOAD_BYTES, "");

//@ include "lib/extents.cu"
//@ include "lib/vector.cu"
//@ include "lib/load_element.cu"
//@ include "lib/combine.cu"
//@ include "lib/take.cu"
//@ include("lib/take_element.cu", { place = ", u64 index" })
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

//@ include("lib/entry.cu", { extents = "extents e" })
{
//@ include("lib/begin.cu", { count = "e.count" })
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
