//@ -- A warp's way through chunks in the fixed order (docs/order.md): of a chunk's 256 loads of 16
//@ -- bytes lane l takes l, l + 32, ..., l + 224, UNROLL at a time.
//@ -- Whole chunks have no copy of their own, as they have in lib/order_chunks_apart.cu: rows of f32 are as fast,
//@ -- but segments take 1.2 to 1.45 times as long, and rows of bf16 at odd places 1.14 times.
//@ takes op, acc, given, unroll
// Where a lane's load i of a step is in its chunk. A step brings UNROLL loads of a lane's eight, which are taken with
// the bits of their numbers reversed: 0, 4, 2, 6, 1, 5, 3, 7. So neighbours are those that halving
// combines.
__device__ __forceinline__ u32 piece_of(u32 step, u32 i)
{
    const u32 k = step * UNROLL + i, load = k % 2 * 4 + k / 2 % 2 * 2 + k / 4;
    return (threadIdx.x % 32 + load * 32) * (u32)LOAD_BYTES;
}

//@ include("lib/order_aligned.cu", { apart = false })
// Of the chunk there are so many bytes: all, or a part of it. What is missing is not loaded. Whole chunks have no
// copy of their own, neither here nor below: NVRTC would take twice as long.
__device__ __forceinline__ void load_step(vector (&v)[UNROLL], bool aligned, u64 chunk, u32 bytes,
                                          u32 step@{given.parameter})
{
//@ for _, kind in ipairs { "load", "gather" } do
    @{kind == "load" and "if (are_aligned(aligned)) {" or "} else {"}
#pragma unroll
        for (u32 i = 0; i < UNROLL; i++) {
            const u32 place = piece_of(step, i);
            if (place + LOAD_BYTES <= bytes) v[i] = @{kind}_vector(chunk + place@{given.argument});
        }
//@ end
    }
}

// A step's loads, neighbours first. `edge` is the value of the vector of which there is a part.
__device__ __forceinline__ accumulator fold_step(const vector (&v)[UNROLL], u32 bytes, u32 step,
                                                 accumulator edge@{given.parameter})
{
    accumulator a[UNROLL];
#pragma unroll
    for (u32 i = 0; i < UNROLL; i++) {
        const u32 place = piece_of(step, i);
        a[i] = fold_vector(v[i]@{given.argument});
        if (place + LOAD_BYTES > bytes) a[i] = place < bytes ? edge : @{op.identity};
    }
//@ include("lib/fold_pairs.cu", { array = "a", many = unroll })
    return a[0];
}

//@ include "lib/order_runs.cu"
// How many bytes of a run's first chunk there are.
__device__ __forceinline__ u32 first_bytes(const run &r)
{
    return r.whole > 0 ? (u32)CHUNK_BYTES : r.part_bytes;
}

// Lane 0 returns the value of the first chunk of a run, whose first step is on its way. The first step
// of `next`, if it has any, is asked for before the last one of the chunk is done with.
__device__ __forceinline__ accumulator take_chunk(vector (&v)[UNROLL], bool aligned, const run &own,
                                                  accumulator edge, const run &next@{given.parameter})
{
    const u32 bytes = first_bytes(own);
    accumulator part[STEPS];
#pragma unroll
    for (u32 i = 0; i < STEPS; i++) {
        part[i] = fold_step(v, bytes, i, edge@{given.argument});
        if (i + 1 < STEPS)
            load_step(v, aligned, own.at, bytes, i + 1@{given.argument});
        else
            load_step(v, aligned, next.at, first_bytes(next), 0@{given.argument});
    }
//@ include("lib/fold_pairs.cu", { array = "part", many = 8 // unroll })
    return reduce_lanes(part[0]@{given.argument});
}

//@ include("lib/order_take_run.cu", { copies = false })
