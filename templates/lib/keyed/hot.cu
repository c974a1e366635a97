//@ -- Hot keys: each warp looks at a sample of the keys, and its threads add up by themselves the elements of those
//@ -- that are most of it, as atomics on one cell go one after the other.
//@ takes op, given, acc, number
__device__ __forceinline__ u64 sample_key(const elements &s)
{
    const u64 at = s.count / BLOCK * threadIdx.x;
    return at < s.count ? (u64)s.key[at] : ~0ull;
}

__device__ __forceinline__ void find_hot_keys(target &to, u64 sample)
{
    const u32 lane = threadIdx.x % 32, same = __match_any_sync(0xffffffff, sample);
    u32 rank = sample < to.keys ? __popc(same) << 5 | lane : 0;
#pragma unroll
    for (u32 h = 0; h < HOTS; h++) {
        u32 best = rank;
#pragma unroll
        for (u32 n = 16; n > 0; n /= 2) best = max(best, __shfl_xor_sync(0xffffffff, best, n));
        // Without such a key it is one that is out of range.
        to.hot[h] = best >> 5 > 1 ? (@{number})__shfl_sync(0xffffffff, sample, best & 31) : to.keys;
        to.own[h] = @{op.identity};
        if (sample == to.hot[h]) rank = 0;
    }
}

__device__ __forceinline__ void add_hot_keys(target &to@{given.parameter})
{
#pragma unroll
    for (u32 h = 0; h < HOTS; h++) {
        accumulator a = to.own[h];
//@ include("lib/fold_lanes.cu", { lanes = 32 })
        u32 elements = to.own_elements[h];
#pragma unroll
        for (u32 n = 16; n > 0; n /= 2) elements += __shfl_xor_sync(0xffffffff, elements, n);
        if (threadIdx.x % 32 == 0 && to.hot[h] < to.keys) add_to_key(to, to.hot[h], a, elements@{given.argument});
    }
}

