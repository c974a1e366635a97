//@ -- Within a loop over tiles: takes up the vectors of the tile, `many` of them, that are there.
//@ -- Those from stop on are not. `counts`: they are counted, too. `checked`: by
//@ -- lib/take_checked.cu, where the op has tiles for that.
//@ takes op, given, indexed, checked?, counts?, many, vectors
//@ local target, behind = op.narrow and "sum" or "part", indexed and ", load + i" or ""
        {
            const u32 left = bytes_of(tile, stop);
//@ if checked and op.part and op.part.tile then
//@     include("lib/take_checked.cu", { vectors = vectors, many = many, there = "is_there(i, left)" })
//@ else
//@ if op.narrow then
            narrow sum[LANES];
#pragma unroll
            for (u32 j = 0; j < LANES; j++) sum[j] = @{op.narrow.zero};
//@ end
#pragma unroll
            for (u32 i = 0; i < @{many}; i++)
                if (is_there(i, left))
                    take(@{target}, @{vectors}[i]@{behind}@{given.argument});
//@ if op.narrow then
#pragma unroll
            for (u32 j = 0; j < LANES; j++) part[j] = combine(part[j], @{op.widen("sum[j]")}@{given.argument});
//@ end
//@ end
        }
//@ if counts and indexed then
        load += @{many};
//@ end
