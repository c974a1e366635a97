//@ -- Within reduce_stretch(): a warp goes over the segments of its stretch, 32 at a time. Of its
//@ -- own one each lane has the number i, `one`, and `at`, the work before it. The loop ends in the
//@ -- including file. `known` declares what is known of a segment before the next one is asked for,
//@ -- `work` the work of the segment, `through` that up to its end, and `falls` is whether offsets
//@ -- are seen to decrease.
//@ takes ends, falls, known?, through, work?
    const u32 lane = threadIdx.x % 32;
    const segment nothing = {0, 0, false};
    u64 before = mine.before;
    segment next = mine.first + lane <= mine.last ? segment_of(s, mine.first + lane) : nothing;
    for (u64 base = mine.first; base <= mine.last; base += 32) {
        const segment one = next;
        const u64 i = base + lane;
//@ if known then
        @{known}
//@ end
        next = i + 32 <= mine.last ? segment_of(s, i + 32) : nothing;
//@ if work then
        @{work}
//@ end
        u64 at;
//@ if ends then
        if (s.end) {
            const u64 @{through};
            at = before + through - work;
            before += __shfl_sync(ALL, through, 31);
        } else
//@ end
        {
            if (@{falls}) return true;
            at = one.offset - d.origin + i * COST;
        }
