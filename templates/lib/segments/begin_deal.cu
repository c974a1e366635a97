//@ -- Within reduce_all(): how the work is dealt, to as many blocks as there is work for.
    const deal d = deal_of(s, scratch);
    u64 span = d.stretch * WARPS, blocks = (d.total + span - 1) / span;
    if (blockIdx.x >= blocks) return;
