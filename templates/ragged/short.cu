//@ -- Several short segments at once, whose elements are loaded one by one.
//@ takes op, acc, given, indexed, dtype, vec, whole
//@ -- The statement that takes up x, of that index, where it is there; y: its mask's byte.
//@ local function made(there, x, y, index)
//@     if not indexed then
//@         local of = y and x .. ", " .. y or x
//@         return ("if (%s) a = combine(a, map(%s%s)%s);"):format(there, of, given.argument, given.argument)
//@     end
//@     there = y and there .. " && " .. y or there
//@     return ("if (%s) a = combine(a, candidate(%s, %s)%s);"):format(there, x, index, given.argument)
//@ end
constexpr u32 AT_ONCE = 8;  // elements that a lane loads before it uses one

// The lanes in the mask have segments of at most `wide` * AT_ONCE elements; as many lanes take one.
//@ if whole and indexed then
// That of each lane begins with the element of the index `index`.
//@ end
//@ local beside = given.listed and ", u64 to_second" or ""
//@ local and_more = whole and (indexed and ", u64 index" or "") .. ", accumulator &a" or ", u64 base, " .. given.output
//@ if given.listed then
// That of each lane has its mask as far from it as to_second says.
//@ end
__device__ __forceinline__ void reduce_short(u32 mask, u32 wide, const element *elements, u64 length@{beside},
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
//@ if given.listed then
        values its_own = given;
        its_own.to_second = __shfl_sync(ALL, to_second, whose);
//@ end
        value x[AT_ONCE];
//@ if given.masked then
        u32 y[AT_ONCE];
//@ end
#pragma unroll
        for (u32 k = 0; k < AT_ONCE; k++) {
            if (!__any_sync(ALL, k * wide < count)) break;
            const u32 at = k * wide + lane % wide;
            if (at < count) x[k] = load_near(from + at);
//@ if given.masked then
            if (at < count) y[k] = load_other(second_of(from + at@{given.argument_of("its_own")}));
//@ end
        }
//@ if not whole then
        accumulator a = @{op.identity};
//@ end
#pragma unroll
        for (u32 k = 0; k < AT_ONCE; k++) {
            if (!__any_sync(ALL, k * wide < count)) break;
            const u32 at = k * wide + lane % wide;
            @{made("at < count", "x[k]", given.masked and "y[k]" or nil, origin .. "at")}
        }
//@ if not whole then
        // Further lanes are given values of the next segment, and theirs are not looked at.
//@     include("lib/fold_lanes.cu", { lanes = 32, when = "wide > %d" })
        if (there && lane % wide == 0) finish(output, base + whose, a, count@{given.argument});
//@ end
    }
}

