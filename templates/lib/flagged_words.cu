//@ -- Words in scratch, in which a block hands its value to another that waits for it.
//@ takes acc, scratch
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

