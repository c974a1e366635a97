//@ -- A group's lanes share the loads of a chunk of the fixed order. `row`: a further parameter and argument of what
//@ -- brings a vector, where its address alone does not say where it is.
//@ takes op, acc, given, lanes, unroll, row?
//@ local step_bits = require("lib/kernel").log2(unroll)
// A thread's share of the chunk at that address: 2^bits loads, every GROUP-th, which are taken with
// the bits of their numbers reversed, so that neighbours are those that halving combines. `edge` is
// the value of the vector that the row has a part of.
template <bool ALIGNED>
__device__ __forceinline__ accumulator take_chunk(u64 chunk, u64 end, u32 bits, accumulator edge@{row and row.parameter or ""}@{given.parameter})
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
            if (at[i] + LOAD_BYTES <= end) v[i] = bring_vector<ALIGNED>(at[i]@{row and row.argument or ""}@{given.argument});
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

