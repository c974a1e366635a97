//@ -- Several blocks that make one set of results, each of a split of their elements, and how they
//@ -- meet: by the parameter finish. `held` is how many values a thread holds for its block.
constexpr u32 HELD = @{held};

// Which of the sets of results that blocks make a block makes, from which of the splits of their
// elements.
struct share {
    u64 sets, set;
    u32 splits, split;
};

// Where there are two blocks for each set, all are shared by as many. Block b takes split b / sets:
// those that read side by side start together, and those of the last split after all others. So these
// may wait for the others, which have multiprocessors already. There is no set for what is left over.
__device__ __forceinline__ share share_of(u64 sets)
{
//@ if finish == "single" then
    return share{sets, blockIdx.x, 1, 0};
//@ else
    if (sets > gridDim.x / 2) return share{sets, blockIdx.x, 1, 0};
    const u32 n = sets, splits = gridDim.x / n, split = blockIdx.x / n;
    return share{sets, split < splits ? blockIdx.x - split * n : sets, splits, split};
//@ end
}

//@ if finish ~= "single" then
// The number of the block that has that split of the same set.
__device__ __forceinline__ u32 number_of(const share &mine, u32 split)
{
    return (u32)mine.set + split * (u32)mine.sets;
}

//@ end
//@ if finish == "poll" then
//@     local at_once = held
//@     while at_once * acc.halves > 16 and at_once > 1 do at_once = at_once // 2 end
//@     include "lib/flagged_words.cu"
constexpr u32 AT_ONCE = @{at_once};  // values that a thread waits for at a time

// A thread hands over its values, which are those from number `first` on of its launch.
__device__ __forceinline__ void leave(void *scratch, u32 first, const accumulator (&a)[HELD])
{
#pragma unroll
    for (u32 j = 0; j < HELD; j++) publish(words_of(scratch, first + j), a[j]);
}

// Waits for the values from number `first` on, and combines a with them. All words are asked for
// before one is looked at.
__device__ __forceinline__ void collect(accumulator (&a)[HELD], void *scratch, u32 first)
{
#pragma unroll
    for (u32 begin = 0; begin < HELD; begin += AT_ONCE) {
        u64 *from = words_of(scratch, first + begin);
        u64 word[AT_ONCE * WORDS];
        u64 flags;
        do {
#pragma unroll
            for (u32 i = 0; i < AT_ONCE * WORDS; i++) word[i] = load_word(from + i);
            flags = word[0];
#pragma unroll
            for (u32 i = 1; i < AT_ONCE * WORDS; i++) flags &= word[i];
        } while (flags >> 32 == 0);
#pragma unroll
        for (u32 i = 0; i < AT_ONCE * WORDS; i++) store_word(from + i, 0);
#pragma unroll
        for (u32 j = 0; j < AT_ONCE; j++) {
//@     for i = 0, acc.halves - 1 do
            const u32 half@{i} = (u32)word[j * WORDS + @{i}];
//@     end
            a[begin + j] = combine(a[begin + j], @{acc.join("half")});
        }
    }
}

//@ elseif finish == "ticket" then
//@     include "lib/slots.cu"
// A thread leaves its values, which are those from number `first` on of its launch.
__device__ __forceinline__ void leave(void *scratch, u32 first, const accumulator (&a)[HELD])
{
#pragma unroll
    for (u32 j = 0; j < HELD; j++) partials(scratch)[first + j] = a[j];
}

// Combines a with the values from number `first` on.
__device__ __forceinline__ void collect(accumulator (&a)[HELD], void *scratch, u32 first)
{
#pragma unroll
    for (u32 j = 0; j < HELD; j++)
        a[j] = combine(a[j], @{acc.reload("partials(scratch) + first + j")});
}

// Whether all other blocks of the set have left their values. All threads of the block call it, after
// they have left theirs. A set has a counter in the place of its words, which atomicInc leaves at zero.
__device__ __forceinline__ bool draws_last(void *scratch, const share &mine)
{
    __shared__ bool last;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) {
        char *words = (char *)scratch + @{scratch.words_offset};
        u32 *counter = (u32 *)(words + mine.set * @{scratch.words_bytes});
        last = atomicInc(counter, mine.splits - 1) == mine.splits - 1;
        __threadfence();
    }
    __syncthreads();
    return last;
}

//@ end
