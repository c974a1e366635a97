//@ -- Waits for the words of AT_ONCE values (lib/flagged_words.cu) of other blocks: `number` is
//@ -- that of value i, and `is_there` whether there is one. The words of an absent value are flags
//@ -- alone. by_warps: all lanes of a warp wait together.
//@ takes by_warps?, is_there, number
        u64 word[AT_ONCE][WORDS];
        u64 flags;
        // All words are asked for before one is looked at.
        do {
            flags = 1ull << 32;
#pragma unroll
            for (u32 i = 0; i < AT_ONCE; i++)
#pragma unroll
                for (u32 k = 0; k < WORDS; k++) {
                    word[i][k] = 1ull << 32;
                    if (@{is_there})
                        word[i][k] = load_word(words_of(scratch, @{number}) + k);
                }
#pragma unroll
            for (u32 i = 0; i < AT_ONCE; i++)
#pragma unroll
                for (u32 k = 0; k < WORDS; k++) flags &= word[i][k];
        } while (@{by_warps and "__any_sync(0xffffffff, flags >> 32 == 0)" or "flags >> 32 == 0"});
