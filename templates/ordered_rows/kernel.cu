//@ local op, given, acc, layout, vec = require("lib/kernel").of_order(_ENV)
//@ local bits = math.floor(math.log(256 // lanes, 2) + 0.5)
//@ local step_bits = math.floor(math.log(unroll, 2) + 0.5)
//@ include("lib/title.cu", { by = "ordered_rows", of = "rows", many = true })

//@ include "lib/head.cu"
//@ include("lib/constants.cu", { names = "GROUP, GROUPS", lanes = lanes })
//@ include("lib/constants.cu", { names = "VEC, UNROLL, ROWS", unroll = unroll, rows = rows })
//@ include("lib/constants.cu", { names = "BITS = " .. bits .. ", LEVELS, LOAD_BYTES = 16, CHUNK_BYTES = 256 * LOAD_BYTES" })

//@ include("lib/asserts.cu", { that = { "BLOCK % 32 == 0 && BLOCK % GROUP == 0 && UNROLL <= 1u << BITS" } })

//@ include "lib/extents.cu"
//@ include "lib/vector.cu"
//@ include "lib/combine.cu"
//@ include "lib/order_vectors.cu"
//@ include "lib/order_share.cu"
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

//@ include "lib/order_run.cu"
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
    const u64 chunks = (e.count * sizeof(element) + CHUNK_BYTES - 1) / CHUNK_BYTES;
    // A row of less than a chunk has fewer loads.
    u32 bits = BITS;
    while (bits > 0 && (GROUP * LOAD_BYTES << (bits - 1)) >= e.count * sizeof(element)) bits--;
    // A block's threads go on together, those too that have no row left.
    for (u64 first = (u64)blockIdx.x * GROUPS; first < e.outer; first += (u64)gridDim.x * GROUPS) {
        const u64 row = first + threadIdx.x / GROUP;
        const bool is_there = row < e.outer;
        const u64 begin = (u64)(input + (is_there ? row * e.outer_step : 0));
        const u64 end = begin + (is_there ? e.count * sizeof(element) : 0);
        accumulator a = aligned ? reduce_run<true>(begin, chunks, end, bits@{given.argument})
                                : reduce_run<false>(begin, chunks, end, bits@{given.argument});
        a = combine(@{op.identity}, a@{given.argument});
        if (is_there && threadIdx.x % GROUP == 0) @{given.write("output[row]", "a", "e.count")}
    }
}
