//@ -- Values of chunks in the fixed order that wait for their neighbours', a lane of a warp each.
//@ takes op, acc, given
// Adds the value of chunk number c of a run, which lane 0 has, to those that wait: neighbours are
// combined.
__device__ __forceinline__ accumulator carry(accumulator waiting, accumulator a, u32 c@{given.parameter})
{
    u32 level = 0;
    if (c & 1) a = @{acc.fetch("a", "0")};
    for (; c >> level & 1; level++) a = combine(@{acc.fetch("waiting", "level")}, a@{given.argument});
    return threadIdx.x % 32 == level ? a : waiting;
}

// Lane 0 returns the value of a run of n chunks, which wait: behind them is nothing.
__device__ __forceinline__ accumulator settle(accumulator waiting, u32 n@{given.parameter})
{
    if (n <= 1) return waiting; // lane 0 has the only one, or nothing waits
    accumulator a = @{op.identity};
    for (u32 level = 0; n >> level; level++)
        if (n >> level & 1) a = combine(@{acc.fetch("waiting", "level")}, a@{given.argument});
    return a;
}

