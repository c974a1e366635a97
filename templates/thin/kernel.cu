//@ local op, given, acc, indexed, layout, parts = require("lib/kernel").of_several(_ENV, vec)
//@ local two = given.inputs > 1
//@ -- As many blocks as a multiprocessor of 2048 threads has, where registers are enough.
//@ local words = math.max(1, vec * dtype.bytes // 4) * given.inputs * strips * unroll
//@ local full = (arch == 80 or arch >= 90 and arch < 120) and acc.bytes * vec * strips <= 32
//@     and words <= 8
//@ local store = math.max(1, math.min(vec, 16 // math.max(result.bytes, second and second.bytes or 0)))
//@ include("lib/title.cu", { by = "thin", of = "columns", many = true })

//@ include "lib/head.cu"
//@ include("lib/constants.cu", { names = "VEC, STRIPS, UNROLL, STRIP = BLOCK * VEC, SET, LANES = VEC, LOAD_BYTES", strips = strips, unroll = unroll })

static_assert(sizeof(element) == @{dtype.bytes} && LOAD_BYTES <= 16, "");

//@ include "lib/extents.cu"
//@ include "lib/vector.cu"
//@ include "lib/load_if.cu"
//@ include "lib/load_element.cu"
//@ include "lib/combine.cu"
//@ include "lib/take.cu"
//@ include("lib/take_element.cu", { place = ", u64 index" })
__device__ __forceinline__ void take_vector(@{given.part} (&a)[VEC], const vector &v, u64 index@{given.parameter})
{
//@ for j = 0, vec - 1 do
//@     local at, k = j // layout.per_word, j % layout.per_word
//@     local values = dtype.unpack("v.word[" .. at .. "]", k)
//@     if two then values = values .. ", " .. dtype.unpack("v.other[" .. at .. "]", k) end
    a[@{j}] = take_element(a[@{j}], @{values}, index@{given.argument});
//@ end
}

//@ include "lib/stored.cu"

// Makes the results of VEC neighbouring columns of each of N strips. Loads and results are aligned.
//@ local none = op.part and op.part.zero or op.identity
template <u32 N>
__device__ __forceinline__ void reduce_vectors(const element *from, const extents &e,
                                               @{given.output})
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
                                              @{given.output})
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

//@ include("lib/entry.cu", { extents = "extents e", least = full and 2048 // block })
{
//@ include("lib/begin.cu", { count = "e.count" })
//@ include "lib/aligned.cu"
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
