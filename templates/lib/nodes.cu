//@ -- Values of nodes of the fixed order (docs/order.md) that blocks leave in scratch, and their
//@ -- combination. A thread takes 2^levels times AT_ONCE of them at most.
//@ takes op, acc, given, node_levels
//@ local top, at_once = node_levels, math.max(1, 8 // acc.halves)
// The combination of n nodes' values, neighbours first: the first is the one of that number of the
// launch, and each of the others `step` behind the one before it. No thread of the block has more
// than `most`, which is the same for all of them.
__device__ __forceinline__ accumulator reduce_nodes(void *scratch, u32 number, u32 step, u32 n, u32 most@{given.parameter})
{
    constexpr u32 LEVELS = @{top + 1};
    accumulator level[LEVELS], a = @{op.identity};
#pragma unroll
    for (u32 k = 0; k < LEVELS; k++) level[k] = @{op.identity};
    u32 taken = 0;
    // All lanes of a warp go on together: lanes that leave a loop of such loads at different times
    // came to the next barrier at different times on an H200, and the first of them counted for all.
    for (u32 first = 0; first < most; first += AT_ONCE, taken++) {
        accumulator value[AT_ONCE];
//@     include("lib/await_words.cu", { number = "number + (first + i) * step", is_there = "first + i < n", by_warps = true })
#pragma unroll
        for (u32 i = 0; i < AT_ONCE; i++) {
            if (first + i < n)
#pragma unroll
                for (u32 k = 0; k < WORDS; k++)
                    store_word(words_of(scratch, number + (first + i) * step) + k, 0);
//@     for k = 0, acc.halves - 1 do
            const u32 half@{k} = (u32)word[i][@{k}];
//@     end
            value[i] = @{acc.join("half")};
            if (first + i >= n) value[i] = @{op.identity};
        }
//@ include("lib/fold_pairs.cu", { array = "value", many = at_once })
//@ include("lib/wait_levels.cu", { turn = "taken", value = "value[0]", top = top })
    }
    a = @{op.identity};
#pragma unroll
    for (u32 k = 0; k < LEVELS; k++)
        if (taken >> k & 1) a = combine(level[k], a@{given.argument});
    return a;
}

