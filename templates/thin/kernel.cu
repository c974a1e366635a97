//@ local loads = require "lib/load"
//@ local name, formula, indexed = op.name, op.formula, op.indexed or false
//@ local given = require("lib/operands").of(_ENV)
//@ local op = given.made
//@ local acc = op.acc
//@ local layout = loads.layout(dtype, vec)
//@ op.narrow, op.word = nil, nil -- these would combine neighbours, which are of several columns
//@ local parts, two = vec, given.inputs > 1
//@ -- As many blocks as a multiprocessor of 2048 threads has, where registers are enough.
//@ local words = math.max(1, vec * dtype.bytes // 4) * given.inputs * strips * unroll
//@ local full = (arch == 80 or arch >= 90 and arch < 120) and acc.bytes * vec * strips <= 32
//@     and words <= 8
//@ local bounds = full and ("%d, %d"):format(block, 2048 // block) or block
//@ local store = math.max(1, math.min(vec, 16 // math.max(result.bytes, second and second.bytes or 0)))
// redtune: the @{name} of @{dtype.name} into @{result.name}, by the template "thin" with
// @{config}
//
// output[o * inner + i] = @{formula}
// for each of `outer` times `inner` columns (o, i): x[e] is input[o * outer_step + e * step + i],
// for n = count elements e, wherever that is. Start it with @{block} threads per block, on any
// number of blocks.

//@ include "lib/types.cu"
typedef @{dtype.c} element;  // in memory
typedef @{dtype.value} value;  // in registers
typedef @{acc.c} accumulator;

//@ include "lib/given.cu"
constexpr u32 BLOCK = @{block};  // threads per block
constexpr u32 VEC = @{vec};  // columns per load
constexpr u32 STRIPS = @{strips};  // strips at once
constexpr u32 UNROLL = @{unroll};  // elements of each column in flight per thread
constexpr u32 STRIP = BLOCK * VEC;  // columns
constexpr u32 SET = STRIPS * STRIP;  // columns that a block takes at a time
constexpr u32 LANES = VEC;

constexpr u64 LOAD_BYTES = VEC * @{dtype.bytes};

static_assert(sizeof(element) == @{dtype.bytes} && LOAD_BYTES <= 16, "");

// As model/launch.h has it.
struct extents {
    u64 count, outer, inner, outer_step, step;
};

static_assert(sizeof(extents) == 40, "");

//@ include "lib/vector.cu"
//@ include "lib/load_if.cu"
//@ include "lib/load_element.cu"
//@ include "lib/combine.cu"
//@ include "lib/take.cu"
// Combines a column's value with the element of that index.
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

__device__ __forceinline__ void take_vector(@{given.part} (&a)[VEC], const vector &v, u64 index@{given.parameter})
{
//@ for j = 0, vec - 1 do
//@     local at, k = j // layout.per_word, j % layout.per_word
//@     local values = dtype.unpack("v.word[" .. at .. "]", k)
//@     if two then values = values .. ", " .. dtype.unpack("v.other[" .. at .. "]", k) end
    a[@{j}] = take_element(a[@{j}], @{values}, index@{given.argument});
//@ end
}

// Results that are written together.
struct alignas(@{store * result.bytes}) stored {
    @{result.c} value[@{store}];
};
//@ if second then

struct alignas(@{store * second.bytes}) other_stored {
    @{second.c} value[@{store}];
};
//@ end

// Makes the results of VEC neighbouring columns of each of N strips. Loads and results are aligned.
//@ local none = op.part and op.part.zero or op.identity
template <u32 N>
__device__ __forceinline__ void reduce_vectors(const element *from, const extents &e,
                                               @{result.c} *output@{given.parameter})
{
    @{given.part} a[N][VEC];
#pragma unroll
    for (u32 s = 0; s < N; s++)
#pragma unroll
        for (u32 j = 0; j < VEC; j++) a[s][j] = @{none};
#pragma unroll 1
    for (u64 i = 0; i < e.count; i += UNROLL, from += UNROLL * e.step) {
        // All loads before the first use. Of rows that are not there nothing is read.
        const u64 left = e.count - i;
        vector v[UNROLL][N];
#pragma unroll
        for (u32 u = 0; u < UNROLL; u++)
#pragma unroll
            for (u32 s = 0; s < N; s++)
                v[u][s] = load_vector_if(u < left, (u64)(from + u * e.step + s * STRIP)@{given.argument});
#pragma unroll
        for (u32 u = 0; u < UNROLL; u++)
#pragma unroll
            for (u32 s = 0; s < N; s++)
                if (u < left) take_vector(a[s], v[u][s], i + u@{given.argument});
    }
#pragma unroll
    for (u32 s = 0; s < N; s++)
#pragma unroll
//@ if resumes then
        for (u32 j = 0; j < VEC; j++)
            @{given.write("output[s * STRIP + j]", given.widen("a[s][j]"), "e.count")}
//@ else
        for (u32 j = 0; j < VEC; j += @{store}) {
            stored r;
//@     local value, other_value = op.finalize(given.widen("a[s][j + k]"), "e.count")
#pragma unroll
            for (u32 k = 0; k < @{store}; k++)
                r.value[k] = @{value};
            *(stored *)(output + s * STRIP + j) = r;
//@     if second then
            other_stored t;
#pragma unroll
            for (u32 k = 0; k < @{store}; k++)
                t.value[k] = @{other_value};
            *(other_stored *)(second_result(output, given) + s * STRIP + j) = t;
//@     end
        }
//@ end
}

// Makes the result of one column.
__device__ __forceinline__ void reduce_column(const element *from, const extents &e,
                                              @{result.c} *output@{given.parameter})
{
    @{given.part} a = @{none};
//@ local x = vec > 1 and given.read("from")
//@ if vec == 1 and two then
//@     x = dtype.unpack("v.word[0]", 0) .. ", " .. dtype.unpack("v.other[0]", 0)
#pragma unroll 1
    for (u64 i = 0; i < e.count; i++, from += e.step) {
        const vector v = load_vector((u64)from, given);
        a = take_element(a, @{x}, i, given);
    }
//@ else
//@     if vec == 1 then
//@         x = dtype.unpack(("load_vector((u64)from%s).word[0]"):format(given.argument), 0)
//@     end
#pragma unroll 1
    for (u64 i = 0; i < e.count; i++, from += e.step) a = take_element(a, @{x}, i@{given.argument});
//@ end
    @{given.write("*output", given.widen("a"), "e.count")}
}

extern "C" __global__ void __launch_bounds__(@{bounds})
redtune_reduce(const element *input, extents e, @{result.c} *output, void *scratch, u32 overlaps@{given.kernel})
{
//@ local prefetch = false
//@ include "lib/begin_overlap.cu"
//@ for _, line in ipairs(given.begin("input", "e.count", "output")) do
    @{line}
//@ end
    // Steps that are not used, of one outer or of one element, keep nothing from being aligned.
    const u64 steps = (e.outer > 1 ? e.outer_step : 0) | (e.count > 1 ? e.step : 0);
    const bool aligned = ((u64)input | steps * sizeof(element)) % LOAD_BYTES == 0;
    const u64 sets = e.inner / SET + (e.inner % SET > 0);
    for (u64 set = blockIdx.x; set < e.outer * sets; set += gridDim.x) {
        const u64 o = e.outer > 1 ? set / sets : 0, first = (set - o * sets) * SET;
        const u64 left = e.inner - first;
        const element *from = input + o * e.outer_step + first;
        @{result.c} *to = output + o * e.inner + first;
//@ local fits = "(u64)to % sizeof(stored) == 0"
//@ if second then
//@     fits = fits .. " && (u64)second_result(to, given) % sizeof(other_stored) == 0"
//@ end
        const bool whole = aligned && @{fits};
        const u32 place = threadIdx.x * VEC;
        if (whole && left >= SET) {
            reduce_vectors<STRIPS>(from + place, e, to + place@{given.argument});
            continue;
        }
        // The last columns, or such as are not aligned. Loads of one element lie side by side.
        const u32 columns = left < SET ? left : SET, body = whole ? columns / VEC * VEC : 0;
        for (u32 c = place; c < body; c += STRIP) reduce_vectors<1>(from + c, e, to + c@{given.argument});
        for (u32 c = body + threadIdx.x; c < columns; c += BLOCK)
            reduce_column(from + c, e, to + c@{given.argument});
    }
}
