//@ local op, given, acc, layout, vec = require("lib/kernel").of_order(_ENV)
//@ local step_bits = require("lib/kernel").log2(unroll)
//@ include("lib/title.cu", { by = "ordered_rows", of = "rows", many = true })

//@ include "lib/head.cu"
//@ include("lib/constants.cu", { names = "GROUP, GROUPS", lanes = lanes })
//@ include("lib/constants.cu", { names = "WARPS, VEC, LOADS, UNROLL, STEPS, ROWS, LOAD_BYTES = 16, CHUNK_BYTES", unroll = unroll, rows = rows })

//@ include("lib/asserts.cu", { that = { "BLOCK % 32 == 0 && BLOCK % GROUP == 0 && LOADS % UNROLL == 0" } })

//@ include "lib/extents.cu"
//@ include "lib/vector.cu"
//@ include "lib/combine.cu"
//@ include "lib/order_vectors.cu"
//@ include "lib/order_chunks.cu"
//@ include "lib/order_run.cu"
// The group's first lane returns the combination of the lanes' values.
__device__ __forceinline__ accumulator reduce_members(accumulator a@{given.parameter})
{
//@ include("lib/fold_lanes.cu", { lanes = lanes })
    return a;
}

// Rows of which a step of the group's loads brings all: ROWS of them at once.
template <bool ALIGNED>
__device__ __forceinline__ void take_short(const element *input, const extents &e, @{given.output})
{
    const u32 bytes = e.count * sizeof(element), behind = bytes % LOAD_BYTES;
    const u32 lane = threadIdx.x % GROUP * LOAD_BYTES;
    constexpr u32 APART = GROUP * LOAD_BYTES;
    u64 first = (u64)blockIdx.x * (GROUPS * ROWS);
    for (; first < e.outer; first += (u64)gridDim.x * (GROUPS * ROWS)) {
        vector v[ROWS][UNROLL];
        accumulator edge[ROWS];
        u64 begin[ROWS];
#pragma unroll
        for (u32 r = 0; r < ROWS; r++) {
            const u64 row = first + r * GROUPS + threadIdx.x / GROUP;
            // In place of a row that is not there the last one is loaded.
            begin[r] = (u64)(input + (row < e.outer ? row : e.outer - 1) * e.outer_step);
#pragma unroll
            for (u32 i = 0; i < UNROLL; i++) {
                const u32 at = lane + @{unroll > 1 and ("(__brev(i) >> %d)"):format(32 - step_bits) or "i"} * APART;
                if (at + LOAD_BYTES <= bytes) v[r][i] = bring_vector<ALIGNED>(begin[r] + at@{given.argument});
            }
        }
        if (behind > 0)
#pragma unroll
            for (u32 r = 0; r < ROWS; r++)
                edge[r] = take_edge(begin[r] + bytes - behind, begin[r] + bytes@{given.argument});
#pragma unroll
        for (u32 r = 0; r < ROWS; r++) {
            accumulator part[UNROLL];
#pragma unroll
            for (u32 i = 0; i < UNROLL; i++) {
                const u32 at = lane + @{unroll > 1 and ("(__brev(i) >> %d)"):format(32 - step_bits) or "i"} * APART;
                part[i] = fold_vector(v[r][i]@{given.argument});
                if (at + LOAD_BYTES > bytes) {
                    part[i] = @{op.identity};
                    if (at < bytes) part[i] = edge[r];
                }
            }
//@ include("lib/fold_pairs.cu", { array = "part", many = unroll })
            const accumulator a = combine(@{op.identity}, reduce_members(part[0]@{given.argument})@{given.argument});
            const u64 row = first + r * GROUPS + threadIdx.x / GROUP;
            if (row < e.outer && lane == 0) @{given.write("output[row]", "a", "e.count")}
        }
    }
}

//@ include("lib/entry.cu", { extents = "extents e" })
{
//@ include("lib/begin.cu", { count = "e.count" })
    const bool aligned = ((u64)input | (e.outer > 1 ? e.outer_step : 0) * sizeof(element)) % LOAD_BYTES == 0;
    if (e.count * sizeof(element) <= GROUP * UNROLL * LOAD_BYTES) {
        if (aligned)
            take_short<true>(input, e, output@{given.argument});
        else
            take_short<false>(input, e, output@{given.argument});
        return;
    }
    // Longer rows are a warp's.
    for (u64 row = (u64)blockIdx.x * WARPS + threadIdx.x / 32; row < e.outer; row += (u64)gridDim.x * WARPS) {
        accumulator a = reduce_run((u64)(input + row * e.outer_step), e.count * sizeof(element)@{given.argument});
        a = combine(@{op.identity}, a@{given.argument});
        if (threadIdx.x % 32 == 0) @{given.write("output[row]", "a", "e.count")}
    }
}
