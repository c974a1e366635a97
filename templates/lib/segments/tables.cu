//@ -- Segments, as tables give them. `hidden`: from compilers, that the width of offsets stays the same.
//@ takes hidden
// As model/launch.h has it.
struct segments {
    u64 begin, end;  // tables; end is 0 where a segment ends at the next one's begin; begin, at 0
    u64 count, wide;
    u64 arrays;  // table of where segments are, each in an array of its own; 0: in the input
};

static_assert(sizeof(segments) == 40, "");


struct segment {
    u64 offset, count;  // of its first element; of elements
    bool backwards;  // it ends before it begins, and has none
};

__device__ __forceinline__ i64 offset_at(const segments &s, u64 table, u64 i)
{
//@ if hidden then
    // Compilers must not know that it stays the same: they would make every loop that this is in twice.
    u32 wide = s.wide;
    asm volatile("" : "+r"(wide));
//@ end
    return @{hidden and "wide" or "s.wide"} ? ((const i64 *)table)[i] : ((const int *)table)[i];
}

__device__ __forceinline__ segment segment_of(const segments &s, u64 i)
{
    const i64 begin = s.begin ? offset_at(s, s.begin, i) : 0;
    const i64 end = s.end ? offset_at(s, s.end, i) : offset_at(s, s.begin, i + 1);
    return segment{(u64)begin, end > begin ? (u64)(end - begin) : 0, end < begin};
}

// Whether segment i ends where the next one begins, by the addresses of the tables.
__device__ __forceinline__ bool are_neighbours(const segments &s)
{
    if (s.arrays) return !s.end;
    return !s.end || s.end == s.begin + (s.wide ? 8 : 4);
}

// Whether the offsets must be looked at: those of arrays are made with them.
__device__ __forceinline__ bool are_doubtful(const segments &s)
{
    return !s.end && !s.arrays;
}

__device__ __forceinline__ const element *elements_of(const segments &s, const element *input, u64 i,
                                                      const segment &one)
{
    // Arrays without ends have offsets that say how many elements come before them.
    if (!s.arrays) return input + one.offset;
    return ((const element *const *)s.arrays)[i] + (s.end ? one.offset : 0);
}

