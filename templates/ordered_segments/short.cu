//@ -- Short segments in the fixed order, several at once by the lanes of a warp.
//@ takes op, acc, given, apart
constexpr u32 PARTS = 4;  // vectors of a lane
constexpr u64 SHORT_BYTES = PARTS * LOAD_BYTES;  // that a lane takes at once

// The value of `bytes` bytes of elements, of which this lane has every WIDE-th vector from number
// `rank` on.
template <u32 WIDE>
__device__ __forceinline__ accumulator take_vectors(u64 begin, u32 bytes, u32 rank, bool aligned@{given.parameter})
{
    const u32 behind = bytes % LOAD_BYTES;
    // All loads before the first use, with the bits of their numbers reversed: neighbours are those that
    // halving combines.
    vector v[PARTS];
    u32 at[PARTS];
#pragma unroll
    for (u32 i = 0; i < PARTS; i++) at[i] = (rank + (i % 2 * 2 + i / 2) * WIDE) * LOAD_BYTES;
//@ for _, kind in ipairs { "load", "gather" } do
    @{kind == "load" and "if (are_aligned(aligned)) {" or "} else {"}
#pragma unroll
        for (u32 i = 0; i < PARTS; i++)
            if (at[i] + LOAD_BYTES <= bytes) v[i] = @{kind}_vector(begin + at[i]@{given.argument});
//@ end
    }
    accumulator a[PARTS], edge = @{op.identity};
    if (behind > 0) edge = take_edge(begin + bytes - behind, begin + bytes@{given.argument});
#pragma unroll
    for (u32 i = 0; i < PARTS; i++) {
        a[i] = fold_vector(v[i]@{given.argument});
        if (at[i] + LOAD_BYTES > bytes) a[i] = at[i] < bytes ? edge : @{op.identity};
    }
    return combine(combine(a[0], a[1]@{given.argument}), combine(a[2], a[3]@{given.argument})@{given.argument});
}

// The lanes in the mask have segments of at most WIDE * SHORT_BYTES bytes; WIDE lanes take one.
template <u32 WIDE>
__device__ __forceinline__ void reduce_short(@{given.listed and "const segments &s, " or ""}u32 mask, u64 begin, u64 bytes, unsigned char *order, u64 base,
                                             @{given.output})
{
    if (mask == 0) return;
    const u32 lane = threadIdx.x % 32, n = list_lanes(mask, order);
    for (u32 next = lane / WIDE; __any_sync(ALL, next < n); next += 32 / WIDE) {
        const bool is_there = next < n;
        const u32 whose = order[is_there ? next : 0];
        const u64 from = __shfl_sync(ALL, begin, whose);
        const u32 its = __shfl_sync(ALL, (u32)bytes, whose), rank = lane % WIDE;
        const bool aligned = __all_sync(ALL, from % LOAD_BYTES == 0);
//@ if given.listed then
        const values its_own = values_in(s, given, base + whose);
//@ end
//@ local its_argument = given.argument_of("its_own")
//@ if apart then
        accumulator a;
        if (aligned)
            a = take_vectors<WIDE>(from, is_there ? its : 0, rank, true@{its_argument});
        else
            a = take_vectors<WIDE>(from, is_there ? its : 0, rank, false@{its_argument});
//@ else
        accumulator a = take_vectors<WIDE>(from, is_there ? its : 0, rank, aligned@{its_argument});
//@ end
//@ include("lib/fold_lanes.cu", { lanes = 8, when = "WIDE > %d" })
        if (is_there && rank == 0) finish(output, base + whose, a, its / sizeof(element)@{given.argument});
    }
}

