//@ -- Combines a with all of `many` values in shared memory but the first, which is at `first`; they lie STRIP apart.
//@ -- `looped`: each is loaded before the one before it is combined.
//@ takes acc, given, first, looped?, many
//@ if looped then
    accumulator next = a;
    if (@{many} > 1) next = @{acc.copy("shared[STRIP + " .. first .. "]")};
#pragma unroll 1
    for (u32 i = 1; i < @{many}; i++) {
        const accumulator now = @{acc.copy("next")};
        if (i + 1 < @{many}) next = @{acc.copy("shared[(i + 1) * STRIP + " .. first .. "]")};
        a = combine(a, now@{given.argument});
    }
//@ else
#pragma unroll
    for (u32 row = 1; row < @{many}; row++) a = combine(a, shared[row * STRIP + @{first}]@{given.argument});
//@ end
