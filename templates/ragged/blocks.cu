//@ -- How what blocks and warps have of one result comes together.
//@ takes op, acc, given, scratch, warps, whole
__device__ __forceinline__ accumulator *slot_of(void *scratch, u32 i)
{
    return (accumulator *)((char *)scratch + @{scratch.slots_offset} + TABLE_BYTES) + i;
}

//@ if whole then
// All threads of the block: what the blocks have, in their order.
__device__ __forceinline__ accumulator join(u32 blocks, void *scratch@{given.parameter})
{
    accumulator a = @{op.identity};
    for (u32 block = threadIdx.x; block < blocks; block += BLOCK)
        a = combine(a, @{acc.reload("slot_of(scratch, block)")}@{given.argument});
    return reduce_block(a@{given.argument});
}

//@ else
// What a warp has of a segment that crosses an end of its stretch.
struct edge {
    u64 segment, before, count;  // the segment, the work before it, and its elements
    accumulator a;
};

// A segment that several blocks have parts of, from one to another.
struct chain {
    u64 segment, count;
    u32 first, last;
    bool complete;  // this block is the last of them to leave its part
};

// The part of a block: in one slot what the segment that comes from the block before has, in the
// other what it has of the one that it begins.
__device__ __forceinline__ accumulator *part_of(void *scratch, u32 block, bool begins)
{
    return slot_of(scratch, 2 * block + begins);
}

__device__ __forceinline__ u32 *counter_of(void *scratch, u32 block)
{
    return (u32 *)((char *)scratch + @{scratch.words_offset} + (u64)block * @{scratch.words_bytes});
}

// One thread leaves what this block has of a segment. Whether all others have left theirs.
__device__ __forceinline__ bool leave_part(const chain &at, accumulator a, void *scratch)
{
    const u32 others = at.last - at.first;
    *part_of(scratch, blockIdx.x, at.first == blockIdx.x) = a;
    __threadfence();
    const bool complete = atomicInc(counter_of(scratch, at.first), others) == others;
    __threadfence();
    return complete;
}

// The first warp combines the edges of all: two of each warp, in their order, so that those of one
// segment stand side by side. Whether the offsets are seen to decrease: a segment ends behind all.
__device__ __forceinline__ bool meet(const edge *edges, chain *chains, u64 span, u64 blocks,
                                     void *scratch, @{given.output})
{
    const u32 lane = threadIdx.x;
    u64 key = NONE;
    accumulator a = @{op.identity};
    if (lane < 2 * WARPS) {
        key = edges[lane].segment;
        a = @{acc.copy("edges[lane].a")};
    }
//@ for _, step in ipairs { 1, 2, 4, 8, 16 } do
//@     if step < 2 * warps then
    {
        const accumulator other = @{acc.shuffle("a", step)};
        const u64 its = __shfl_down_sync(ALL, key, @{step});
        if (its == key && lane + @{step} < 32) a = combine(a, other@{given.argument});
    }
//@     end
//@ end
    const u64 left = __shfl_up_sync(ALL, key, 1);
    const u64 head = __shfl_sync(ALL, key, 0), last = __shfl_sync(ALL, key, 2 * WARPS - 1);
    if (key == NONE || (lane > 0 && left == key)) return false;
    const edge &mine = edges[lane];
    if (key != head && key != last) {
        finish(output, key, a, mine.count@{given.argument});
        return false;
    }
    const u64 end = (mine.before + COST + mine.count - 1) / span;
    if (end >= blocks) return true;
    chain at;
    at.segment = key;
    at.count = mine.count;
    at.first = mine.before / span;
    at.last = end;
    at.complete = leave_part(at, a, scratch);
    chains[key == head ? 0 : 1] = at;
    return false;
}

// All threads of the block: the parts of a segment, in the order of the blocks.
__device__ __noinline__ void join(const chain &c, void *scratch, @{given.output})
{
    accumulator a = @{op.identity};
    for (u32 block = c.first + threadIdx.x; block <= c.last; block += BLOCK) {
        const accumulator *part = part_of(scratch, block, block == c.first);
        a = combine(a, @{acc.reload("part")}@{given.argument});
    }
    a = reduce_block(a@{given.argument});
    if (threadIdx.x == 0) finish(output, c.segment, a, c.count@{given.argument});
    __syncthreads();
}

//@ end

