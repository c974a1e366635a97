//@ -- Blocks that hand their values to one block that waits for them.
//@ takes acc, scratch
//@ include "lib/flagged_words.cu"
// Waits for the value of another block. All words are asked for before one is looked at: a second
// round trip to L2 would be a tenth of a small reduction.
__device__ __forceinline__ accumulator collect(u64 *from)
{
    u64 word[WORDS];
    u64 flags;
    do {
#pragma unroll
        for (u32 i = 0; i < WORDS; i++) word[i] = load_word(from + i);
        flags = word[0];
#pragma unroll
        for (u32 i = 1; i < WORDS; i++) flags &= word[i];
    } while (flags >> 32 == 0);
#pragma unroll
    for (u32 i = 0; i < WORDS; i++) store_word(from + i, 0);
//@ for i = 0, acc.halves - 1 do
    const u32 half@{i} = (u32)word[@{i}];
//@ end
    return @{acc.join("half")};
}

