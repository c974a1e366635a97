//@ local op, given, acc, indexed, layout, parts = require("lib/kernel").of_several(_ENV, vec, "columns")
//@ local depth = block // width
//@ local shared, origin = finish ~= "single", indexed and ", u64 origin" or ""
//@ -- Where loads and accumulators leave half of 64 registers, compilers may take some more than 64, and
//@ -- fewer than 1024 threads are resident: blocks that share columns would wait for others to end.
//@ local in_flight = math.max(unroll > 16 and 4 or 1, vec * dtype.bytes) * unroll * given.inputs
//@ local few = acc.bytes == 4 and vec <= 8 and in_flight <= 128 and (shared or in_flight > 64)
//@ -- Variances and the like take NVRTC long to combine: where a thread does that once, by loops. Small blocks, which
//@ -- small inputs have, take 1.05 times as long by these, and an index up to 1.13 times in any block.
//@ local looped = op.lanes and acc.halves > 2 and not indexed and block >= 256
//@ -- Of an index a guard for each load costs more than the copy.
//@ local one_tail = vec > 1 and not indexed
//@ include("lib/title.cu", { by = "columns", of = "columns", many = true, shares = shared and "strips of " .. width * vec .. " columns" })

//@ include "lib/head.cu"
//@ include("lib/constants.cu", { names = "WIDTH, DEPTH, VEC, STRIP, UNROLL, LANES = VEC, LOAD_BYTES", width = width, unroll = unroll })

//@ include("lib/asserts.cu", { accumulator = "== " .. acc.bytes, that = { "LOAD_BYTES <= 16 && BLOCK % 32 == 0 && BLOCK % WIDTH == 0" } })

//@ include "lib/extents.cu"
//@ include "lib/vector.cu"
//@ include "lib/combine.cu"
//@ include "lib/take.cu"
//@ include "lib/splits.cu"
//@ include "lib/across.cu"
//@ include "lib/load_columns.cu"
//@ include "lib/load_columns_if.cu"
// Combines this thread's share of its columns with a. Of the `count` elements from `from` on,
// tiles are dealt round-robin to the splits; a thread takes those DEPTH apart.@{indexed and " The first has the index `origin`." or ""}
template <bool WHOLE>
__device__ __forceinline__ void reduce_share(accumulator (&a)[VEC], const element *from, u64 count,
                                             u64 step, u32 columns,
                                             const share &mine@{origin}@{given.parameter})
{
    constexpr u32 LOADS = WHOLE ? UNROLL : UNROLL > VEC ? UNROLL / VEC : 1;
    constexpr u64 TILE = LOADS * DEPTH;
//@ include "lib/begin_share.cu"
    const u64 stride = DEPTH * step, skip = (next - TILE) * step;
    const element *at = from + first * step;
//@ include "lib/begin_parts.cu"
    if (column_of<WHOLE>(0) >= columns) count = 0;
    u64 e = first;
    // Whole tiles: all of the block's threads agree on which these are.
    for (; @{one_tail and "WHOLE && " or ""}e - along() + TILE <= count; e += next) {
        // All loads before the first use.
        vector v[LOADS];
#pragma unroll
        for (u32 i = 0; i < LOADS; i++, at += stride) v[i] = load_columns<WHOLE>(at, columns@{given.argument});
        at += skip;
//@ if op.part and op.part.tile then
//@     include("lib/take_checked.cu", { vectors = "v", many = "LOADS", there = "true" })
//@ else
#pragma unroll
        for (u32 i = 0; i < LOADS; i++) take(part, v[i]@{indexed and ", load + i" or ""}@{given.argument});@{indexed and "\n        load += LOADS;" or ""}
//@ end
    }
//@ if one_tail then
    // What is left of a tile, and all tiles of single loads: NVRTC takes long for a copy of its own.
    for (; e < count; e += next) {
        const u32 left = count - e < TILE ? (u32)(count - e) : (u32)TILE;
//@ else
    if (e < count) {
        // What is left of a tile.
        const u32 left = count - e;
//@ end
        vector v[LOADS];
//@ if unroll > 16 then
        // By fours, so that few loads have to be left out.
#pragma unroll
        for (u32 i = 0; i < LOADS; i++, at += stride) {
            if (i % 4 == 0 && i * DEPTH >= left) break;
            v[i] = load_columns_if<WHOLE>(i * DEPTH < left, at, columns@{given.argument});
        }
#pragma unroll
        for (u32 i = 0; i < LOADS; i++) {
            if (i % 4 == 0 && i * DEPTH >= left) break;
            if (i * DEPTH < left) take(part, v[i]@{indexed and ", load + i" or ""}@{given.argument});
        }
//@ else
#pragma unroll
        for (u32 i = 0; i < LOADS; i++, at += stride)
            v[i] = load_columns_if<WHOLE>(i * DEPTH < left, at, columns@{given.argument});
//@     if (looped or indexed) and vec > 1 and unroll <= 8 then
        // Once for a thread: one copy of what takes a vector, which the others come to.
#pragma unroll 1
        for (u32 i = 0; i * DEPTH < left; i++) {
            take(part, v[0]@{indexed and ", load + i" or ""}@{given.argument});
#pragma unroll
            for (u32 k = 1; k < LOADS; k++) v[k - 1] = v[k];
        }
//@     elseif op.part and op.part.tile then
//@         include("lib/take_checked.cu", { vectors = "v", many = "LOADS", there = "i * DEPTH < left" })
//@     else
#pragma unroll
        for (u32 i = 0; i < LOADS; i++)
            if (i * DEPTH < left) take(part, v[i]@{indexed and ", load + i" or ""}@{given.argument});
//@     end
//@ end
//@ if one_tail then
        if (WHOLE) break;
        at += skip;
//@ end
    }
//@ include("lib/end_share.cu", { many = "LOADS" })
}

//@ if depth > 1 then
// The threads' values meet in shared memory: of each column ROWS values, after those of a warp are
// combined.
//@     local warps = block // 32
//@ include("lib/constants.cu", { names = "ROWS = WIDTH < 32 ? BLOCK / 32 : DEPTH, SHARED" })

static_assert(SHARED * sizeof(accumulator) <= 49152, "");

// Leaves in shared memory what this thread has of its columns.
__device__ __forceinline__ void store_columns(accumulator *shared, accumulator (&a)[VEC]@{vec > 1 and ", bool whole" or ""}@{given.parameter})
{
//@     local place = "across()"
//@     if vec > 1 then
//@         place = "first + j * apart"
    const u32 first = whole ? across() * VEC : across(), apart = whole ? 1 : WIDTH;
//@     end
//@ include("lib/share_columns.cu", { leaves = true, place = place, looped = looped })
}

//@ include("lib/load_column.cu", { looped = looped })
//@ end
// This thread's share of a strip of `columns` columns, from element 0 of the first on.
template <bool WHOLE>
__device__ __forceinline__ void reduce_columns(accumulator (&a)[VEC], const element *from,
                                               const extents &e, u32 columns, const share &mine@{given.parameter})
{
//@ local call = "reduce_share<WHOLE>(a, from%s, %s, e.step, columns, mine"
//@ include("lib/take_stretches.cu", { part = call:format(" + at * e.step", "count"), all = call:format("", "e.count") })
}

//@ if depth == 1 then
//@     include "lib/write_columns.cu"
//@ else
//@     include("lib/finish_strip.cu", { looped = looped })
//@ end
//@ include("lib/strips.cu", { made = "STRIP" })
//@ include("lib/prefetch_strip.cu", { made = "STRIP" })
//@ include("lib/entry.cu", { extents = "extents e", least = few and 1024 // block })
{
//@ include "lib/begin_strips.cu"
//@ include("lib/begin.cu", { prefetch = given.ahead and { "e.count * e.inner * e.outer", "\n        prefetch_strip(input, e" }, count = "e.count" })
//@ if vec > 1 then
//@ include "lib/aligned.cu"
//@ end
//@ if depth > 1 then
    __shared__ alignas(16) accumulator shared[SHARED];
//@ end
    for (; mine.set < mine.sets; mine.set += gridDim.x, at = strip_of(mine.set, strips, e)) {
//@ include "lib/strip_place.cu"
//@ if depth > 1 then
        accumulator a[VEC];
//@     if vec > 1 then
        const bool whole = aligned && columns % VEC == 0;
        if (whole)
            reduce_columns<true>(a, from, e, columns, mine@{given.argument});
        else
            reduce_columns<false>(a, from, e, columns, mine@{given.argument});
        store_columns(shared, a, whole@{given.argument});
//@     else
        reduce_columns<true>(a, from, e, columns, mine@{given.argument});
        store_columns(shared, a@{given.argument});
//@     end
        __syncthreads();
        finish_strip(shared, mine, scratch, to, e.count, columns@{given.argument});
        __syncthreads();
//@ else
//@     for _, whole in ipairs(vec > 1 and { "true", "false" } or { "true" }) do
//@         if vec > 1 then
        @{whole == "true" and "if (aligned && columns % VEC == 0)" or "else"} {
//@         else
        {
//@         end
            accumulator a[VEC];
            reduce_columns<@{whole}>(a, from, e, columns, mine@{given.argument});
            write_columns<@{whole}>(to, a, e.count, columns@{given.argument});
        }
//@     end
//@ end
    }
}
