//@ -- A thread's share of its columns, by a call for `all` elements, or, where the thread counts
//@ -- its loads, one for each `part`: `count` elements from `at` on. Calls are without their last
//@ -- arguments.
//@ takes op, given, indexed, all, part
#pragma unroll
    for (u32 j = 0; j < VEC; j++) a[j] = @{op.identity};
//@ if indexed then
    // A thread counts its loads in 32 bits: stretches, of whole tiles, keep it from running over.
    constexpr u64 STRETCH = 1ull << 31;
    for (u64 at = 0; at < e.count; at += STRETCH) {
        const u64 left = e.count - at, count = left < STRETCH ? left : STRETCH;
        @{part}, at@{given.argument});
    }
//@ else
    @{all}@{given.argument});
//@ end
