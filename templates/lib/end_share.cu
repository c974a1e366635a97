//@ -- Combines a thread's columns with what it has in its parts, from the share that begins as
//@ -- lib/begin_share.cu says, with `many` loads in a tile.
//@ takes given, indexed, many
//@ if indexed then
    // Where no value went before the last one there is, it is the first load's. A thread that had
    // none names an element behind all that there are, and so before none of them.
#pragma unroll
    for (u32 j = 0; j < VEC; j++) {
        const u64 tiles = part[j].load / @{many}, i = part[j].load % @{many};
        const u64 index = origin + first + tiles * next + i * DEPTH;
        a[j] = combine(a[j], @{given.found("part[j]", "index")}@{given.argument});
    }
//@ else
#pragma unroll
    for (u32 j = 0; j < VEC; j++) a[j] = combine(a[j], @{given.widen("part[j]")}@{given.argument});
//@ end
