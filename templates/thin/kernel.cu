//@ local loads = require "lib/load"
//@ local name, formula, indexed = op.name, op.formula, op.indexed or false
//@ local op = op.make { dtype = dtype, result = result, arch = arch }
//@ local acc = op.acc
//@ local layout = loads.layout(dtype, vec)
//@ op.narrow, op.word = nil, nil -- these would combine neighbours, which are of several columns
//@ local parts = vec
//@ local store = math.max(1, math.min(vec, 16 // result.bytes))
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

constexpr u32 BLOCK = @{block};  // threads per block
constexpr u32 VEC = @{vec};  // columns per load
constexpr u32 STRIPS = @{strips};  // strips at once, and so independent loads in flight per thread
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
//@ include "lib/load_element.cu"
//@ include "lib/combine.cu"
//@ include "lib/take.cu"
// Combines a column's value with the element of that index.
__device__ __forceinline__ accumulator take_element(accumulator a, value x, u64 index)
{
//@ if indexed then
    return combine(a, candidate(x, index));
//@ else
    return combine(a, map(x));
//@ end
}

__device__ __forceinline__ void take_vector(accumulator (&a)[VEC], const vector &v, u64 index)
{
//@ for j = 0, vec - 1 do
//@     local word = "v.word[" .. j // layout.per_word .. "]"
    a[@{j}] = take_element(a[@{j}], @{dtype.unpack(word, j % layout.per_word)}, index);
//@ end
}

// Results that are written together.
struct alignas(@{store * result.bytes}) stored {
    @{result.c} value[@{store}];
};

// Makes the results of VEC neighbouring columns of each of N strips. Loads and results are aligned.
template <u32 N>
__device__ __forceinline__ void reduce_vectors(const element *from, const extents &e,
                                               @{result.c} *output)
{
    accumulator a[N][VEC];
#pragma unroll
    for (u32 s = 0; s < N; s++)
#pragma unroll
        for (u32 j = 0; j < VEC; j++) a[s][j] = @{op.identity};
    for (u64 i = 0; i < e.count; i++, from += e.step) {
        // All loads before the first use.
        vector v[N];
#pragma unroll
        for (u32 s = 0; s < N; s++) v[s] = load_vector((u64)(from + s * STRIP));
#pragma unroll
        for (u32 s = 0; s < N; s++) take_vector(a[s], v[s], i);
    }
#pragma unroll
    for (u32 s = 0; s < N; s++)
#pragma unroll
        for (u32 j = 0; j < VEC; j += @{store}) {
            stored r;
#pragma unroll
            for (u32 k = 0; k < @{store}; k++)
                r.value[k] = @{op.finalize("a[s][j + k]", "e.count")};
            *(stored *)(output + s * STRIP + j) = r;
        }
}

// Makes the result of one column.
__device__ __forceinline__ void reduce_column(const element *from, const extents &e,
                                              @{result.c} *output)
{
    accumulator a = @{op.identity};
//@ local x = vec > 1 and "load_element(from)"
//@     or dtype.unpack("load_vector((u64)from).word[0]", 0)
    for (u64 i = 0; i < e.count; i++, from += e.step) a = take_element(a, @{x}, i);
    *output = @{op.finalize("a", "e.count")};
}

extern "C" __global__ void __launch_bounds__(@{block})
redtune_reduce(const element *input, extents e, @{result.c} *output, void *scratch, u32 overlaps)
{
//@ if arch >= 90 then
    // The next kernel may be launched from now on, and this one may have been launched before the
    // one before it ended: nothing is read or written until that one is over.
    asm volatile("griddepcontrol.launch_dependents;");
    asm volatile("griddepcontrol.wait;" : : : "memory");
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
        const bool whole = aligned && (u64)to % sizeof(stored) == 0;
        const u32 place = threadIdx.x * VEC;
        if (whole && left >= SET) {
            reduce_vectors<STRIPS>(from + place, e, to + place);
            continue;
        }
        // The last columns, or such as are not aligned. Loads of one element lie side by side.
        const u32 columns = left < SET ? left : SET, body = whole ? columns / VEC * VEC : 0;
        for (u32 c = place; c < body; c += STRIP) reduce_vectors<1>(from + c, e, to + c);
        for (u32 c = body + threadIdx.x; c < columns; c += BLOCK)
            reduce_column(from + c, e, to + c);
    }
}
