//@ -- Several short segments at once, whose elements are loaded one by one.
//@ takes op, acc, given, indexed, dtype, vec, whole
constexpr u32 AT_ONCE = 8;  // elements that a lane loads before it uses one

// The lanes in the mask have segments of at most `wide` * AT_ONCE elements; as many lanes take one.
//@ if whole and indexed then
// That of each lane begins with the element of the index `index`.
//@ end
//@ local and_more = whole and (indexed and ", u64 index" or "") .. ", accumulator &a" or ", u64 base, " .. given.output
__device__ __forceinline__ void reduce_short(u32 mask, u32 wide, const element *elements, u64 length,
                                             unsigned char *order@{and_more}@{whole and given.parameter or ""})
{
    if (mask == 0) return;
    const u32 lane = threadIdx.x % 32, n = list_lanes(mask, order);
    for (u32 next = lane / wide; __any_sync(ALL, next < n); next += 32 / wide) {
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
            if (!__any_sync(ALL, k * wide < count)) break;
            const u32 at = k * wide + lane % wide;
            if (at < count) x[k] = load_near(from + at);
        }
//@ if not whole then
        accumulator a = @{op.identity};
//@ end
#pragma unroll
        for (u32 k = 0; k < AT_ONCE; k++) {
            if (!__any_sync(ALL, k * wide < count)) break;
            const u32 at = k * wide + lane % wide;
//@ if indexed then
            if (at < count) a = combine(a, candidate(x[k], @{origin}at)@{given.argument});
//@ else
            if (at < count) a = combine(a, map(x[k]@{given.argument})@{given.argument});
//@ end
        }
//@ if not whole then
        // Further lanes are given values of the next segment, and theirs are not looked at.
//@     include("lib/fold_lanes.cu", { lanes = 32, when = "wide > %d" })
        if (there && lane % wide == 0) finish(output, base + whose, a, count@{given.argument});
//@ end
    }
}

