//@ -- A warp's way through chunks in the fixed order (docs/order.md): of a chunk's 256 loads of 16
//@ -- bytes lane l takes l, l + 32, ..., l + 224, UNROLL at a time. Whole chunks have copies of their own.
//@ -- `apart`: callers say as a constant whether vectors are aligned. Many loads of small elements between the others
//@ -- cost rows of bf16 an eighth of their time.
//@ takes op, acc, given, unroll, apart
// Where a lane's load i of a step is. A step brings UNROLL loads of a lane's eight, which are taken with
// the bits of their numbers reversed: 0, 4, 2, 6, 1, 5, 3, 7. So neighbours are those that halving
// combines.
__device__ __forceinline__ u64 place_of(u64 chunk, u32 step, u32 i)
{
    const u32 k = step * UNROLL + i, load = k % 2 * 4 + k / 2 % 2 * 2 + k / 4;
    return chunk + (threadIdx.x % 32 + load * 32) * LOAD_BYTES;
}

//@ include "lib/order_aligned.cu"
// PART: of the chunk there is a part only, up to `end`. What is missing of it is not loaded.
template <bool PART>
__device__ __forceinline__ void load_step(vector (&v)[UNROLL], bool aligned, u64 chunk, u64 end,
                                          u32 step@{given.parameter})
{
//@ for _, kind in ipairs { "load", "gather" } do
    @{kind == "load" and "if (are_aligned(aligned)) {" or "} else {"}
#pragma unroll
        for (u32 i = 0; i < UNROLL; i++) {
            const u64 at = place_of(chunk, step, i);
            if (!PART || at + LOAD_BYTES <= end) v[i] = @{kind}_vector(at@{given.argument});
        }
//@ end
    }
}

// A step's loads, neighbours first. `edge` is the value of the vector of which there is a part.
template <bool PART>
__device__ __forceinline__ accumulator fold_step(const vector (&v)[UNROLL], u64 chunk, u64 end,
                                                u32 step, accumulator edge@{given.parameter})
{
    accumulator a[UNROLL];
#pragma unroll
    for (u32 i = 0; i < UNROLL; i++) {
        const u64 at = place_of(chunk, step, i);
        a[i] = fold_vector(v[i]@{given.argument});
        if (PART && at + LOAD_BYTES > end) a[i] = at < end ? edge : @{op.identity};
    }
//@ include("lib/fold_pairs.cu", { array = "a", many = unroll })
    return a[0];
}

//@ include "lib/order_runs.cu"
// Asks for the first step of a run, if it has any.
__device__ __forceinline__ void load_first(vector (&v)[UNROLL], bool aligned, const run &r@{given.parameter})
{
    if (r.whole > 0)
        load_step<false>(v, aligned, r.at, 0, 0@{given.argument});
    else if (r.part_bytes > 0)
        load_step<true>(v, aligned, r.at, r.at + r.part_bytes, 0@{given.argument});
}

// Lane 0 returns the value of the first chunk of a run, whose first step is on its way. The first step
// of `next` is asked for before the last one of the chunk is done with.
template <bool PART>
__device__ __forceinline__ accumulator take_chunk(vector (&v)[UNROLL], bool aligned, const run &own,
                                                  accumulator edge, const run &next@{given.parameter})
{
    const u64 end = own.at + own.part_bytes;  // of a part
    accumulator part[STEPS];
#pragma unroll
    for (u32 i = 0; i < STEPS; i++) {
        part[i] = fold_step<PART>(v, own.at, end, i, edge@{given.argument});
        if (i + 1 < STEPS)
            load_step<PART>(v, aligned, own.at, end, i + 1@{given.argument});
        else
            load_first(v, aligned, next@{given.argument});
    }
//@ include("lib/fold_pairs.cu", { array = "part", many = 8 // unroll })
    return reduce_lanes(part[0]@{given.argument});
}

//@ include("lib/order_take_run.cu", { copies = true })
