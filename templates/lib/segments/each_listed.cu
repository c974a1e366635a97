//@ -- Within reduce_short(): WIDE lanes take a segment at a time of those that the lanes in the mask
//@ -- have, that of lane `whose`, if it is there. The loop ends in the including file.
    if (mask == 0) return;
    const u32 lane = threadIdx.x % 32, n = list_lanes(mask, order);
    for (u32 next = lane / WIDE; __any_sync(ALL, next < n); next += 32 / WIDE) {
        const bool is_there = next < n;
        const u32 whose = order[is_there ? next : 0];
