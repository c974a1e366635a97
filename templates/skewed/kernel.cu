//@ local op, given, acc, indexed, layout, parts = require("lib/kernel").of_several(_ENV, vec, "columns")
//@ local loads = require "lib/load"
//@ local single = loads.layout(dtype, 1)
//@ local shared, origin = finish ~= "single", indexed and ", u64 origin" or ""
//@ local skew_type = ", const skews &skew"
//@ include("lib/title.cu", { by = "skewed", of = "columns", many = true, shares = shared and "strips of " .. (width - 1) * vec .. " columns" })

//@ include "lib/head.cu"
//@ include("lib/constants.cu", { names = "WIDTH, DEPTH, VEC, STRIP", width = width })
constexpr u32 MADE = STRIP - VEC;  // columns of a strip: these are among them in each row
//@ include("lib/constants.cu", { names = "UNROLL, LANES = VEC", unroll = unroll })
constexpr u32 SHARED = DEPTH * STRIP;

//@ include("lib/constants.cu", { names = "LOAD_BYTES" })

//@ include("lib/asserts.cu", { accumulator = "== " .. acc.bytes, that = { "LOAD_BYTES <= 16 && BLOCK % 32 == 0 && BLOCK % WIDTH == 0" } })
static_assert(DEPTH % VEC == 0, "the rows of a thread have one skew");
static_assert(SHARED * sizeof(accumulator) <= 49152, "");

//@ include "lib/extents.cu"
//@ include "lib/vector.cu"
//@ include "lib/load_if.cu"
//@ include "lib/combine.cu"
//@ include "lib/take.cu"
//@ include "lib/splits.cu"
//@ include "lib/across.cu"
// The skews of a strip: by how many elements its first column is behind a multiple of LOAD_BYTES.
struct skews {
    u32 first, step;  // in row 0, and how many more in the next one
};

__device__ __forceinline__ u32 skew_of(const skews &skew, u32 row)
{
    return (skew.first + row * skew.step) % VEC;
}

// What a thread takes of each of its rows: VEC neighbours, the first at a multiple of LOAD_BYTES.
// Those from begin up to end are columns of the problem.
struct window {
    const element *from;  // in row 0
    u32 begin, end;
    bool packed;  // neighbours that are no columns are elements of the row before or behind
};

// That of a strip from column `first` on, which is at `from` in row 0: there are `left` columns
// from there on, and the strip has `columns` of them. It is empty if it reaches none of these.
__device__ __forceinline__ window window_of(const element *from, u64 first, u64 left, u32 columns,
                                            const skews &skew, bool packed)
{
    const u32 behind = skew_of(skew, along()), place = across() * VEC;
    window w = {from + place - behind, 0, VEC, packed};
    if (first == 0 && place < behind) w.begin = behind - place;
    if (place + VEC > left + behind) w.end = left + behind - place;
    if (place >= columns + behind) w.end = w.begin;
    return w;
}

// Loads reach into the next row or the one before, and no further.
__device__ __forceinline__ bool is_packed(const extents &e)
{
    return e.step == e.inner && e.inner >= VEC;
}

// The window's elements of a row, if that is there: else nothing is read.
__device__ __forceinline__ vector load_part(bool there, const element *from, const window &w@{given.parameter})
{
    vector v = {};
//@ for i = 1, given.inputs do
//@     if i > 1 then
    from = second_of(from, given);
//@     end
//@     for j = 0, vec - 1 do
//@         local word = (i == 1 and "v.word[" or "v.other[") .. j // layout.per_word .. "]"
    {
        @{single.word.c} word[1] = {0};
        @{loads.guarded(single, load, "word", "from + " .. j, ("there && %d >= w.begin && %d < w.end"):format(j, j))}
//@         if layout.per_word > 1 then
        @{word} |= word[0] << @{8 * dtype.bytes * (j % layout.per_word)};
//@         else
        @{word} = word[0];
//@         end
    }
//@     end
//@ end
    return v;
}

// Loads of N rows, `stride` elements apart: those that are `whole` in some threads and parts in others.
// Of rows from `left` on nothing is read.
template <u32 N>
__device__ __forceinline__ void load_rows(vector (&v)[N], const element *at, u64 stride, u64 left,
                                          const window &w, bool whole@{given.parameter})
{
    if (whole) {
#pragma unroll
        for (u32 i = 0; i < N; i++, at += stride)
            v[i] = load_vector_if(i * DEPTH < left, (u64)at@{given.argument});
    } else {
#pragma unroll
        for (u32 i = 0; i < N; i++, at += stride)
            v[i] = load_part(i * DEPTH < left, at, w@{given.argument});
    }
}

// Combines this thread's share of its columns with a. Of the `count` rows of its window tiles are
// dealt round-robin to the splits; a thread takes rows DEPTH apart.@{indexed and " The first has the index `origin`." or ""}
__device__ __forceinline__ void reduce_share(accumulator (&a)[VEC], const window &w, u64 count,
                                             u64 step, const share &mine@{origin}@{given.parameter})
{
    constexpr u64 TILE = UNROLL * DEPTH;
//@ include "lib/begin_share.cu"
    const u64 stride = DEPTH * step;
    const element *at = w.from + first * step;
    const bool whole = w.end - w.begin == VEC;
//@ include "lib/begin_parts.cu"
    if (w.begin >= w.end) count = 0;
    for (u64 e = first; e < count; e += next, at += next * step) {
        // All loads before the first use. Between rows that are packed there is nothing else.
        const bool between = w.packed && e > 0 && e + (UNROLL - 1) * DEPTH + 1 < count;
        const u64 left = count - e;
        vector v[UNROLL];
        load_rows(v, at, stride, left, w, whole || between@{given.argument});
//@ if op.part and op.part.tile then
//@     include("lib/take_checked.cu", { vectors = "v", many = "UNROLL", there = "i * DEPTH < left" })
//@ else
#pragma unroll
        for (u32 i = 0; i < UNROLL; i++)
            if (i * DEPTH < left) take(part, v[i]@{indexed and ", load + i" or ""}@{given.argument});@{indexed and "\n        load += UNROLL;" or ""}
//@ end
    }
//@ include("lib/end_share.cu", { many = "UNROLL" })
}

// This thread's share of the columns of its window.
__device__ __forceinline__ void reduce_window(accumulator (&a)[VEC], const window &w,
                                              const extents &e, const share &mine@{given.parameter})
{
//@ local there = "const window there = {w.from + at * e.step, w.begin, w.end, w.packed};\n        "
//@ include("lib/take_stretches.cu", { part = there .. "reduce_share(a, there, count, e.step, mine", all = "reduce_share(a, w, e.count, e.step, mine" })
}

// The combination of all rows' values of that column of the strip, in the order of the rows of
// threads. Columns from MADE on have values that nothing is made of.
__device__ __forceinline__ accumulator load_column(const accumulator *shared,
                                                   u32 column@{skew_type}@{given.parameter})
{
    accumulator a = @{acc.copy("shared[(column + skew_of(skew, 0)) % STRIP]")};
#pragma unroll
    for (u32 row = 1; row < DEPTH; row++)
        a = combine(a, shared[row * STRIP + (column + skew_of(skew, row)) % STRIP]@{given.argument});
    return a;
}

__device__ __forceinline__ void store_values(accumulator *shared, const accumulator (&a)[VEC])
{
#pragma unroll
    for (u32 j = 0; j < VEC; j++) shared[threadIdx.x * VEC + j] = a[j];
}

//@ include("lib/finish_strip.cu", { skew = ", skew", skew_type = skew_type })
//@ include("lib/strips.cu", { made = "MADE" })
//@ include("lib/prefetch_strip.cu", { made = "MADE" })
//@ include("lib/entry.cu", { extents = "extents e" })
{
//@ include("lib/begin.cu", { prefetch = given.ahead and { "e.count * e.inner * e.outer", "\n        prefetch_strip(input, e" }, count = "e.count" })
    __shared__ alignas(16) accumulator shared[SHARED];
    const u64 strips = e.inner / MADE + (e.inner % MADE > 0);
    for (share mine = share_of(e.outer * strips); mine.set < mine.sets; mine.set += gridDim.x) {
        const strip at = strip_of(mine.set, strips, e);
        const u64 first = at.first, left = e.inner - first;
        const u32 columns = at.columns;
        const element *from = input + at.outer * e.outer_step + first;
        const skews skew = {(u32)((u64)from / sizeof(element)), (u32)e.step};
        accumulator a[VEC];
        reduce_window(a, window_of(from, first, left, columns, skew, is_packed(e)), e, mine@{given.argument});
        store_values(shared, a);
        __syncthreads();
        finish_strip(shared, mine, scratch, output + at.outer * e.inner + first, e.count, columns, skew@{given.argument});
        __syncthreads();
    }
}
