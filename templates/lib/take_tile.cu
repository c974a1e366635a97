//@ -- Within a loop over tiles: takes up the vectors v of the tile. Those from stop on are not
//@ -- there.
//@ takes op, given, indexed
//@ local target, behind = "part", indexed and ", load + i" or ""
//@ if op.narrow then
//@     target = "sum"
        narrow sum[LANES];
#pragma unroll
        for (u32 j = 0; j < LANES; j++) sum[j] = @{op.narrow.zero};
//@ end
        if (tile + TILE_BYTES <= stop) {
#pragma unroll
            for (u32 i = 0; i < UNROLL; i++) take(@{target}, v[i]@{behind}@{given.argument});
        } else {
#pragma unroll
            for (u32 i = 0; i < UNROLL; i++)
                if (place_of(tile, i) < stop) take(@{target}, v[i]@{behind}@{given.argument});
        }
//@ if op.narrow then
#pragma unroll
        for (u32 j = 0; j < LANES; j++) part[j] = combine(part[j], @{op.widen("sum[j]")}@{given.argument});
//@ elseif indexed then
        load += UNROLL;
//@ end
