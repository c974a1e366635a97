//@ -- Leaves in shared memory what a thread has of its columns, once the lanes of its warp that
//@ -- have the same are combined. Other threads return at once where the function `leaves`.
//@ -- `place`: of column j, where it is not the usual one. `looped`: as in lib/fold_lanes.cu.
//@ takes acc, given, leaves?, looped?, place?, width
//@ include("lib/fold_lanes.cu", { lanes = 32, least = width, looped = looped and width < 32, value = "a[j]", over = "u32 j = 0; j < VEC; j++" })
//@ if width >= 32 then
    const u32 row = along();
//@ elseif leaves then
    if (threadIdx.x % 32 >= WIDTH) return;
    const u32 row = threadIdx.x / 32;
//@ else
    const u32 row = threadIdx.x / 32;
    if (threadIdx.x % 32 < WIDTH)
//@ end
#pragma unroll
    for (u32 j = 0; j < VEC; j++) shared[row * STRIP + @{place or "column_of<WHOLE>(j)"}] = a[j];
