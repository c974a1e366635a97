//@ -- A thread's share of a chunk of columns in fixed order, with `together` vectors of each in flight; `bits`: it
//@ -- takes 2^bits at most. `whole`: of columns that are neighbours, with a copy for chunks that are complete; of
//@ -- others an element is a load, so that few vectors in flight are many loads, and code.
//@ takes given, op, bits, together, whole?
//@ local levels = bits - require("lib/kernel").log2(together)
//@ local full = whole and "FULL" or "false"
//@ if whole then
template <bool FULL>
//@ end
__device__ __forceinline__ void @{whole and "take_chunk" or "take_chunk_apart"}(accumulator (&a)[VEC], const element *chunk, u32 left, u64 step,
                                           u32 columns, u32 first, u32 apart, u32 bits@{given.parameter})
{
    accumulator level[@{levels + 1}][VEC];
#pragma unroll
    for (u32 k = 0; k <= @{levels}; k++)
#pragma unroll
        for (u32 j = 0; j < VEC; j++) level[k][j] = @{op.identity};
#pragma unroll
    for (u32 j = 0; j < VEC; j++) a[j] = @{op.identity};
#pragma unroll 1
    for (u32 turn = 0; turn * @{together} < 1u << bits; turn++) {
        // All loads before the first use.
        vector v[@{together}][VECTOR];
        u32 there[@{together}];
#pragma unroll
        for (u32 i = 0; i < @{together}; i++) {
            const u32 number = turn * @{together} + i, at = bits == 0 ? 0 : __brev(number) >> (32 - bits);
            const u32 row = (first + at * apart) * VECTOR;
            const element *from = chunk + row * step;
            there[i] = number < 1u << bits && row < left ? left - row : 0;
#pragma unroll
            for (u32 k = 0; k < VECTOR; k++, from += step)
//@ if whole then
                v[i][k] = FULL ? load_columns<true>(from, columns@{given.argument})
                               : load_columns_if<true>(k < there[i], from, columns@{given.argument});
//@ else
                v[i][k] = load_columns_if<false>(k < there[i], from, columns@{given.argument});
//@ end
        }
        accumulator part[@{together}][VEC];
#pragma unroll
        for (u32 i = 0; i < @{together}; i++) fold_columns<@{full}>(part[i], v[i], there[i]@{given.argument});
#pragma unroll
        for (u32 j = 0; j < VEC; j++) {
//@ include("lib/fold_pairs.cu", { array = "part", many = together, each = "[j]" })
            a[j] = part[0][j];
//@ include("lib/wait_levels.cu", { turn = "turn", value = "a[j]", each = "[j]", top = levels })
        }
    }
}

