//@ -- As take_tile.cu, of the vectors p.rest, which are the first OVER loads of the tile.
//@ local target, behind = op.narrow and "sum" or "part", indexed and ", load + i" or ""
//@ if op.narrow then
            narrow sum[LANES];
#pragma unroll
            for (u32 j = 0; j < LANES; j++) sum[j] = @{op.narrow.zero};
//@ end
#pragma unroll
            for (u32 i = 0; i < OVER; i++)
                if (place_of(tile, i) < stop)
                    take(@{target}, p.rest[i]@{behind}@{given.argument});
//@ if op.narrow then
#pragma unroll
            for (u32 j = 0; j < LANES; j++) part[j] = combine(part[j], @{op.widen("sum[j]")}@{given.argument});
//@ end
