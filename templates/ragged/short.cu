//@ -- Several short segments at once, whose elements are loaded one by one.
//@ takes op, acc, given, indexed, dtype, vec, whole
// Neighbours of one that is loaded so are loaded next: L1 keeps them.
//@ include("lib/load_element.cu", { name = "load_near", load = "plain" })
constexpr u32 AT_ONCE = 8;  // elements that a lane loads before it uses one

// The lanes in the mask have segments of at most WIDE * AT_ONCE elements; WIDE lanes take one.
//@ if whole then
//@     if indexed then
// That of each lane begins with the element of the index `index`.
//@     end
template <u32 WIDE>
__device__ __forceinline__ void reduce_short(u32 mask, const element *elements, u64 length,
                                             unsigned char *order@{indexed and ", u64 index" or ""}, accumulator &a@{given.parameter})
//@ else
template <u32 WIDE>
__device__ __forceinline__ void reduce_short(u32 mask, const element *elements, u64 length,
                                             unsigned char *order, u64 base,
                                             @{given.output})
//@ end
{
    if (mask == 0) return;
    const u32 lane = threadIdx.x % 32, n = list_lanes(mask, order);
    for (u32 next = lane / WIDE; __any_sync(ALL, next < n); next += 32 / WIDE) {
        const bool there = next < n;
        const u32 whose = order[there ? next : 0];
        const element *const from = (const element *)__shfl_sync(ALL, (u64)elements, whose);
        const u32 its = __shfl_sync(ALL, (u32)length, whose), count = there ? its : 0;
//@ local origin = indexed and whole and "origin + " or ""
//@ if origin ~= "" then
        const u64 origin = __shfl_sync(ALL, index, whose);
//@ end
        value x[AT_ONCE];
#pragma unroll
        for (u32 k = 0; k < AT_ONCE; k++) {
            if (!__any_sync(ALL, k * WIDE < count)) break;
            const u32 at = k * WIDE + lane % WIDE;
            if (at < count) x[k] = load_near(from + at);
        }
//@ if not whole then
        accumulator a = @{op.identity};
//@ end
#pragma unroll
        for (u32 k = 0; k < AT_ONCE; k++) {
            if (!__any_sync(ALL, k * WIDE < count)) break;
            const u32 at = k * WIDE + lane % WIDE;
//@ if indexed then
            if (at < count) a = combine(a, candidate(x[k], @{origin}at)@{given.argument});
//@ else
            if (at < count) a = combine(a, map(x[k]@{given.argument})@{given.argument});
//@ end
        }
//@ if not whole then
        // Further lanes are given values of the next segment, and theirs are not looked at.
//@     include("lib/fold_lanes.cu", { lanes = 32, when = "WIDE > %d" })
        if (there && lane % WIDE == 0) finish(output, base + whose, a, count@{given.argument});
//@ end
    }
}

