//@ -- Within a function: a thread's parts before the first element.
//@ takes op, given, indexed
//@ if indexed then
    best part[LANES];
    u32 load = 0;
#pragma unroll
    for (u32 j = 0; j < LANES; j++) part[j] = best{@{op.last}, 0};
//@ else
    @{given.part} part[LANES];
#pragma unroll
    for (u32 j = 0; j < LANES; j++) part[j] = @{op.part and op.part.zero or op.identity};
//@ end
