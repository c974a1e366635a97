//@ -- Within a loop over tiles: takes up the `many` vectors of a tile that are `there`, by sums of f32 in which
//@ -- elements may be lost (op.part.tile); a thread that sees one of its sums out of range takes its elements anew, one by one.
//@ takes op, given, many, there, vectors
        {
            float sum[LANES] = {};
            u32 loads = 0;
#pragma unroll
            for (u32 i = 0; i < @{many}; i++)
                if (@{there}) {
                    add_vector(sum, @{vectors}[i]@{given.argument});
                    loads++;
                }
            if (!add_tile(part, sum, loads)) {
#pragma unroll
                for (u32 i = 0; i < @{many}; i++)
                    if (@{there}) take(part, @{vectors}[i]@{given.argument});
            }
        }
