//@ -- Within a function: a thread's parts before the first element. `edge` declares what elements
//@ -- are taken into that no load brings, unless parts take these up, too.
//@ takes op, given, indexed, edge?
//@ if indexed then
    best part[LANES];
    u32 load = 0;
#pragma unroll
    for (u32 j = 0; j < LANES; j++) part[j] = best{@{op.last}, @{given.first_load}};
//@ else
    @{given.part} part[LANES];
#pragma unroll
    for (u32 j = 0; j < LANES; j++) part[j] = @{op.part and op.part.zero or op.identity};
//@ end
//@ if edge and not op.part then
    @{edge} = @{op.identity};
//@ end
