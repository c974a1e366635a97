//@ -- The end of a strip: the results of its columns, from the threads' values in shared memory,
//@ -- and, where blocks share the strip, from what the others leave. load_column() of the family
//@ -- combines a block's values of a column; `skew` is what it is given besides the column, and
//@ -- `skew_type` its parameter. `place`: of the result of column c, where they are not neighbours.
//@ -- `looped`: as in lib/load_column.cu.
//@ takes op, acc, given, looped?, result, vec, block, shared, skew?, skew_type?, width, place?
//@ if shared then
//@     local unit = math.max(32, width * vec)
constexpr u32 GROUPS = @{math.max(1, block // (width * vec))};  // of threads with a column each

// The first group's threads get the combinations of all groups' values. All threads of the block
// call it, behind a barrier if shared memory was in use.
__device__ __forceinline__ accumulator reduce_groups(accumulator *shared, accumulator a@{given.parameter})
{
//@     include("lib/fold_lanes.cu", { lanes = 32, least = width * vec })
//@     if block > unit then
    const u32 group = threadIdx.x / @{unit}, column = threadIdx.x % @{unit};
    if (column < STRIP) shared[group * STRIP + column] = a;
    __syncthreads();
    if (threadIdx.x < STRIP) {
//@     if looped then
//@         include("lib/combine_shared.cu", { many = block // unit, first = "threadIdx.x", looped = true })
//@     else
#pragma unroll
        for (u32 i = 1; i < @{block // unit}; i++) a = combine(a, shared[i * STRIP + threadIdx.x]@{given.argument});
//@     end
    }
//@     end
    return a;
}

//@ end
// Makes the results of a strip from what its threads have in shared memory, or hands on what this
// block has of it. All threads of the block call it, behind a barrier.
__device__ __forceinline__ void finish_strip(accumulator *shared, const share &mine, void *scratch,
                                             @{result.c} *output, u64 count,
                                             u32 columns@{skew_type or ""}@{given.parameter})
{
//@ local many = shared and block > width * vec
//@ if shared then
    const bool leaves = mine.split < mine.splits - 1;
    const u32 apart = (u32)mine.sets * STRIP, first = (u32)mine.set * STRIP, end = first + mine.split * apart;
//@ end
//@ if many then
    const u32 group = mine.splits > 1 && !leaves ? threadIdx.x / STRIP % GROUPS : 0;
//@ end
    for (u32 c = threadIdx.x@{many and " - group * STRIP" or ""}; c < @{shared and "STRIP" or "STRIP && c < columns"}; c += BLOCK) {
//@ if many then
        accumulator a = @{op.identity};
        if (group == 0) a = load_column(shared, c@{skew or ""}@{given.argument});
//@ else
        @{shared and "" or "const "}accumulator a = load_column(shared, c@{skew or ""}@{given.argument});
//@ end
//@ if shared then
        if (leaves) {
            leave(scratch, end + c, a);
            continue;
        }
        if (mine.splits > 1) {
            collect(a, scratch, first + @{many and "group * apart + " or ""}c, @{many and "GROUPS * apart" or "apart"}, end + c@{given.argument});
//@     if many then
            __syncthreads();
            a = reduce_groups(shared, a@{given.argument});
            if (group > 0) return;
//@     end
        }
//@ end
        @{shared and "if (c < columns) " or ""}@{given.write(place or "output[c]", "a", "count")}
    }
}

