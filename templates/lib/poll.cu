//@ -- Words in scratch, in which a block hands its value to another that waits for it.
// A block hands over its value in words of 32 bits of it and, above them, a flag. A word is one
// store, so that whoever sees the flag has the bits: no fence, no atomic operation. Words are zero
// before and after. Every access is relaxed, the clearing too: a plain store would race.
constexpr u32 WORDS = @{acc.halves};

__device__ __forceinline__ u64 *words_of(void *scratch, u32 block)
{
    return (u64 *)((char *)scratch + @{scratch.words_offset}) + block * WORDS;
}

__device__ __forceinline__ void store_word(u64 *to, u64 word)
{
    asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" : : "l"(to), "l"(word) : "memory");
}

__device__ __forceinline__ u64 load_word(const u64 *from)
{
    u64 word;
    asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(word) : "l"(from) : "memory");
    return word;
}

__device__ __forceinline__ void publish(u64 *to, accumulator a)
{
//@ for i = 0, acc.halves - 1 do
    store_word(to + @{i}, 1ull << 32 | @{acc.half("a", i)});
//@ end
}

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

