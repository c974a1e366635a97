//@ -- A warp combines n values in the fixed order into a of lane 0. `slot` is the text of value number i.
//@ takes op, acc, given, slot
    // They are nodes side by side. A lane takes an aligned run of them, neighbours first; what
    // waits for its neighbour stands at each bit of how many it has taken.
    u32 each = 1, taken = 0;
    while (each * 32 < n) each *= 2;
    accumulator level[32];
    for (u32 i = threadIdx.x * each; taken < each && i < n; i++, taken++) {
        u32 k = 0;
        a = @{slot};
        for (; taken >> k & 1; k++) a = combine(level[k], a@{given.argument});
        level[k] = a;
    }
    a = @{op.identity};
    for (u32 k = 0; taken >> k; k++)
        if (taken >> k & 1) a = combine(level[k], a@{given.argument});
//@ include("lib/fold_lanes.cu", { lanes = 32, neighbours = true })
