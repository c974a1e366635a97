//@ -- A group's run of chunks of the fixed order. `row` as in lib/order_share.cu.
//@ takes op, given, row?
// The first lane of the group returns the value of n chunks from `from` on.
template <bool ALIGNED>
__device__ __forceinline__ accumulator reduce_run(u64 from, u64 n, u64 end, u32 bits@{row and row.parameter or ""}@{given.parameter})
{
    accumulator edge = @{op.identity};
    const u64 behind = (end - from) % LOAD_BYTES;
    if (from < end && behind > 0) edge = take_edge(end - behind, end@{row and row.argument or ""}@{given.argument});
    if (n == 1) return reduce_members(take_chunk<ALIGNED>(from, end, bits, edge@{row and row.argument or ""}@{given.argument})@{given.argument});
    // What waits for its neighbour: after n chunks there is a value of 2^k for each bit k of n.
    accumulator level[LEVELS];
    for (u64 i = 0; i < n; i++) {
        accumulator a = take_chunk<ALIGNED>(from + i * CHUNK_BYTES, end, bits, edge@{row and row.argument or ""}@{given.argument});
        a = reduce_members(a@{given.argument});
        u32 k = 0;
        for (; i >> k & 1; k++) a = combine(level[k], a@{given.argument});
        level[k] = a;
    }
    accumulator all = @{op.identity};
    for (u32 k = 0; n >> k; k++)
        if (n >> k & 1) all = combine(level[k], all@{given.argument});
    return all;
}

