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
// A thread's share of the chunk at that address: 2^bits loads, every GROUP-th, which are taken with
// the bits of their numbers reversed, so that neighbours are those that halving combines. `edge` is
// the value of the vector that the row has a part of.
template <bool ALIGNED>
__device__ __forceinline__ accumulator take_chunk(u64 chunk, u64 end, u32 bits, accumulator edge@{given.parameter})
{
    const u64 first = chunk + threadIdx.x % GROUP * LOAD_BYTES;
    accumulator level[BITS + 1];
#pragma unroll
    for (u32 k = 0; k <= BITS; k++) level[k] = @{op.identity};
    accumulator a = @{op.identity};
    for (u32 step = 0; step << @{step_bits} < 1u << bits; step++) {
        vector v[UNROLL];
        u64 at[UNROLL];
#pragma unroll
        for (u32 i = 0; i < UNROLL; i++) {
            const u32 number = step * UNROLL + i;
            const u32 load = bits == 0 ? 0 : __brev(number) >> (32 - bits);
            at[i] = number < 1u << bits ? first + load * GROUP * LOAD_BYTES : end;
            if (at[i] + LOAD_BYTES <= end) v[i] = bring_vector<ALIGNED>(at[i]@{given.argument});
        }
        accumulator part[UNROLL];
#pragma unroll
        for (u32 i = 0; i < UNROLL; i++) {
            part[i] = at[i] < end ? edge : @{op.identity};
            if (at[i] + LOAD_BYTES <= end) part[i] = fold_vector(v[i]@{given.argument});
        }
//@ include("lib/fold_pairs.cu", { array = "part", many = unroll })
        a = part[0];
#pragma unroll
        for (u32 k = 0; k <= BITS; k++) {
            if ((step >> k & 1) == 0) {
                level[k] = a;
                break;
            }
            a = combine(level[k], a@{given.argument});
        }
    }
    return a;
}

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

// The first lane of the group returns the value of n chunks from `from` on.
template <bool ALIGNED>
__device__ __forceinline__ accumulator reduce_run(u64 from, u64 n, u64 end, u32 bits@{given.parameter})
{
    accumulator edge = @{op.identity};
    const u64 behind = (end - from) % LOAD_BYTES;
    if (from < end && behind > 0) edge = take_edge(end - behind, end@{given.argument});
    if (n == 1) return reduce_members(take_chunk<ALIGNED>(from, end, bits, edge@{given.argument})@{given.argument});
    // What waits for its neighbour: after n chunks there is a value of 2^k for each bit k of n.
    accumulator level[LEVELS];
    for (u64 i = 0; i < n; i++) {
        accumulator a = take_chunk<ALIGNED>(from + i * CHUNK_BYTES, end, bits, edge@{given.argument});
        a = reduce_members(a@{given.argument});
        u32 k = 0;
        for (; i >> k & 1; k++) a = combine(level[k], a@{given.argument});
        level[k] = a;
    }
    accumulator all = @{op.identity};
    for (u32 k = 0; n >> k; k++)
        if (n >> k & 1) all = combine(level[k], all@{given.argument});
    return all;
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
