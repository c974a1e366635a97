//@ -- A tile of elements that lie side by side, with segments of any lengths: lanes of a warp take
//@ -- equal shares of it, find where segments end in it by marks, and a scan brings together what
//@ -- shares have of one segment. `place` is the type of where segments begin.
//@ takes op, acc, given, indexed, dtype, layout, vec, place
//@ local mark_words, per_mark = math.max(1, vec // 4), math.min(4, vec)
//@ local mark_c = ({ "unsigned char", "unsigned short", nil, "u32" })[per_mark]
// Loads of a lane, in flight; an odd number, so that lanes find their shares in banks of their own.
constexpr u32 FLAT = UNROLL < 4 ? UNROLL | 1 : 5;
constexpr u32 TILE = 32 * FLAT * VEC;  // elements
constexpr u32 MARK_WORDS = @{mark_words};  // of a vector

static_assert(BATCH < 255, "a mark is a byte");

struct alignas(LOAD_BYTES) alignas(vector) staged {
    vector v;
};

// A tile and its segments, in shared memory.
struct tile_memory {
    staged tile[32 * FLAT];
    // By marks, which begin at 1; the last is of elements that are not the warp's. They lie where accumulators of 16 bytes
    // are loaded and stored at once.
    accumulator sum[BATCH + 2];
    accumulator open;  // of the elements since the last mark
    @{place} at[BATCH + 1];  // where a batch's segments begin
    @{mark_c} marks[32 * FLAT * MARK_WORDS];  // a byte of an element: a segment's last one has its number + 1
};

// A lane's loads of a tile.
struct tile_loads {
    u64 address;  // of its first vector
    bool is_outside;  // whole loads would bring elements outside the table
    vector v[FLAT];
};

// Stores the tile and clears its marks. The table's elements are those from the address `low` up to `high`.
__device__ __forceinline__ void stage(tile_memory &mem, const tile_loads &t, u64 low, u64 high)
{
    const u32 lane = threadIdx.x % 32;
//@ if vec > 1 then
    if (t.is_outside) {
#pragma unroll 1
        for (u32 i = 0; i < FLAT; i++) mem.tile[i * 32 + lane].v = load_within(t.address + i * 32 * LOAD_BYTES, low, high);
    } else {
//@ end
#pragma unroll
        for (u32 i = 0; i < FLAT; i++) mem.tile[i * 32 + lane].v = t.v[i];
//@ if vec > 1 then
    }
//@ end
#pragma unroll
    for (u32 i = 0; i < FLAT * MARK_WORDS; i++) mem.marks[i * 32 + lane] = 0;
    __syncwarp();
}

// Sums of the segments that end in the tile, by shares of `wide` vectors. The first lanes have the last shares: values
// are handed down.
__device__ __forceinline__ void reduce_tile(tile_memory &mem, u32 wide@{indexed and ", u64 from" or ""}@{given.parameter})
{
    const u32 lane = threadIdx.x % 32;
    accumulator a = @{op.identity};
    if (lane == 31) a = @{acc.copy("mem.open")};
    u32 first = 0;  // the first marks
    const auto take = [&](u32 i) {
        const u32 index = (31 - lane) * wide + i;
        const vector v = mem.tile[index].v;
//@ for w = 0, mark_words - 1 do
        const u32 mark@{w} = mem.marks[index * MARK_WORDS + @{w}];
        if (!first) first = mark@{w};
//@ end
//@ local function taken(e)
//@     local x = dtype.unpack("v.word[" .. e // layout.per_word .. "]", e % layout.per_word)
//@     return indexed and ("candidate(%s, from + index * VEC + %d)"):format(x, e) or ("map(%s%s)"):format(x, given.argument)
//@ end
//@ for e = 0, vec - 1 do
//@     local of, byte = "mark" .. e // per_mark, e % per_mark
        a = combine(a, @{taken(e)}@{given.argument});
        if (const u32 ending = __byte_perm(@{of}, 0, @{0x4440 + byte})) {
            mem.sum[ending] = a;
            a = @{op.identity};
        }
//@ end
    };
    if (wide == FLAT) {
#pragma unroll
        for (u32 i = 0; i < FLAT; i++) take(i);
    } else {
#pragma unroll 1
        for (u32 i = 0; i < wide; i++) take(i);
    }
    const u32 head = first ? first >> ((__ffs(first) - 1) & ~7) & 255 : 0;
    // What lanes before have of the segment that each ends first, or that is open.
    const u32 heads = __ballot_sync(ALL, head > 0) >> lane;
    const u32 distance = heads ? __ffs(heads) - 1 : 31 - lane;
//@ for _, step in ipairs { 1, 2, 4, 8, 16 } do
    {
        const accumulator other = @{acc.shuffle("a", step)};
        if (@{step} <= distance) a = combine(other, a@{given.argument});
    }
//@ end
    const accumulator before = @{acc.shuffle("a", 1)};
    if (head && lane < 31) mem.sum[head] = combine(before, @{acc.copy("mem.sum[head]")}@{given.argument});
    __syncwarp();
    if (lane == 0) mem.open = a;
    __syncwarp();
}
