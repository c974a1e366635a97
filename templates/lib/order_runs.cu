//@ -- A warp's runs of chunks in the fixed order (docs/order.md), and what its lanes' values meet in.
//@ takes op, acc, given
// Lane 0 returns the combination of the lanes' values, the upper half combined into the lower.
__device__ __forceinline__ accumulator reduce_lanes(accumulator a@{given.parameter})
{
//@ include("lib/fold_lanes.cu", { lanes = 32 })
    return a;
}

// A run of chunks of a warp from that address on: whole ones, and behind them a part of one, if the row ends
// there.
struct run {
    u64 at;
    u32 whole, part_bytes;
};

// At most so many chunks of those between the two addresses.
__device__ __forceinline__ run run_between(u64 at, u64 end, u32 most)
{
    const u64 left = at < end ? end - at : 0;
    if (left >= most * CHUNK_BYTES) return run{at, most, 0};
    return run{at, (u32)left / (u32)CHUNK_BYTES, (u32)left % (u32)CHUNK_BYTES};
}

