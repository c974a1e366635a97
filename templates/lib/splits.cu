//@ -- Several blocks that make one set of results, each of a split of their elements, and how they
//@ -- meet: by words.
//@ takes op, acc, given, scratch, node_levels?, order, shared
// Which of the sets of results that blocks make a block makes, from which of the splits of their
// elements.
struct share {
    u64 sets, set;
    u32 splits, split;
};

// Where there are two blocks for each set, all are shared by as many. Block b takes split b /
// sets: those that read side by side start together, and those of the last split after all others.
// So these may wait for the others, which have multiprocessors already. There is no set for what
// is left over.
__device__ __forceinline__ share share_of(u64 sets)
{
//@ if not shared then
    return share{sets, blockIdx.x, 1, 0};
//@ else
    if (sets > gridDim.x / 2) return share{sets, blockIdx.x, 1, 0};
    const u32 n = sets, splits = gridDim.x / n, split = blockIdx.x / n;
    return share{sets, split < splits ? blockIdx.x - split * n : sets, splits, split};
//@ end
}

//@ if shared then
// The number of the block that has that split of the same set.
__device__ __forceinline__ u32 number_of(const share &mine, u32 split)
{
    return (u32)mine.set + split * (u32)mine.sets;
}

//@     local at_once = math.max(1, 8 // acc.halves)
constexpr u32 AT_ONCE = @{at_once};  // values that a thread asks for at a time

//@     include "lib/flagged_words.cu"
// A thread hands over a value, which is the one of that number of its launch.
__device__ __forceinline__ void leave(void *scratch, u32 number, accumulator a)
{
    publish(words_of(scratch, number), a);
}

//@     if order == "fixed" then
//@         include("lib/nodes.cu", { node_levels = node_levels })
//@     else
// Combines a with the values of every step-th number up to that of the end, once they are there.
__device__ __forceinline__ void collect(accumulator &a, void *scratch, u32 number, u32 step,
                                        u32 end@{given.parameter})
{
    for (; number < end; number += AT_ONCE * step) {
//@     include("lib/await_words.cu", { number = "number + i * step", is_there = "i == 0 || number + i * step < end" })
#pragma unroll
        for (u32 i = 0; i < AT_ONCE; i++) {
            if (i > 0 && number + i * step >= end) break;
#pragma unroll
            for (u32 k = 0; k < WORDS; k++)
                store_word(words_of(scratch, number + i * step) + k, 0);
//@     for k = 0, acc.halves - 1 do
            const u32 half@{k} = (u32)word[i][@{k}];
//@     end
            a = combine(a, @{acc.join("half")}@{given.argument});
        }
    }
}

//@     end
//@ end
