//@ -- A tile of elements that lie side by side, with segments of any lengths: lanes of a warp take equal shares of it,
//@ -- find where segments end in it by marks, and a scan brings together what shares have of one segment.
//@ local mark_words, per_mark = math.max(1, vec // 4), math.min(4, vec)
//@ local mark_c = ({ "unsigned char", "unsigned short", nil, "u32" })[per_mark]
// Loads of a lane, in flight; an odd number, so that lanes find their shares in banks of their own.
constexpr u32 FLAT = UNROLL < 4 ? UNROLL | 1 : 5;
constexpr u32 TILE = 32 * FLAT * VEC;  // elements

static_assert(BATCH < 255, "a mark is a byte");

struct alignas(LOAD_BYTES) alignas(vector) staged {
    vector v;
};

// A tile and its segments, in shared memory.
struct tile_memory {
    staged tile[32 * FLAT];
    @{mark_c} marks[32 * FLAT * @{mark_words}];  // a byte of an element: a segment's last one has its number + 1
    i64 at[BATCH + 1];  // where a batch's segments begin
    accumulator sum[BATCH + 2];  // by marks; the last is of elements that are not the warp's
    accumulator open;  // of the elements since the last mark
};

// A warp's loads of a tile, from the element at `from` on.
struct tile_loads {
    u64 place;  // of the first vector
    u32 skew;  // elements of it that stand before `from`
    bool is_outside;  // whole loads would bring more than the table's elements
    vector v[FLAT];
};

__device__ __forceinline__ void ask(tile_loads &t, const element *input, i64 from, i64 behind, u64 low, u64 high@{given.parameter})
{
    const u64 begin = (u64)(input + from), lane = threadIdx.x % 32;
    t.place = begin / LOAD_BYTES * LOAD_BYTES;
    t.skew = (u32)(begin - t.place) / (u32)sizeof(element);
    const u64 all = (u64)(input + behind), most = t.place + TILE * sizeof(element), stop = all < most ? all : most;
    t.is_outside = t.place < low || stop + (0 - stop) % LOAD_BYTES > high;
    if (t.is_outside) return;
#pragma unroll
    for (u32 i = 0; i < FLAT; i++) {
        const u64 place = t.place + (i * 32 + lane) * LOAD_BYTES;
        if (place < stop) t.v[i] = load_vector(place@{given.argument});
    }
}

// Has the tile in shared memory, with no marks.
__device__ __forceinline__ void stage(tile_memory &mem, const tile_loads &t, u64 low, u64 high)
{
    const u32 lane = threadIdx.x % 32;
    __syncwarp();
//@ if vec > 1 then
    if (t.is_outside) {
#pragma unroll 1
        for (u32 i = lane; i < 32 * FLAT; i += 32) mem.tile[i].v = load_within(t.place + i * LOAD_BYTES, low, high);
    } else {
//@ end
#pragma unroll
        for (u32 i = 0; i < FLAT; i++) mem.tile[i * 32 + lane].v = t.v[i];
//@ if vec > 1 then
    }
//@ end
#pragma unroll
    for (u32 i = 0; i < FLAT * @{mark_words}; i++) mem.marks[i * 32 + lane] = 0;
    __syncwarp();
}

// Marks the last elements of the segments that end up to `to`, from number `done` on, which is the first that ends
// behind `from`. The first that does not.
__device__ __forceinline__ u32 mark(tile_memory &mem, u32 done, i64 from, i64 to, u32 skew)
{
    const u32 lane = threadIdx.x % 32;
    unsigned char *const marks = (unsigned char *)mem.marks;
    if (skew > 0 && lane == 0) marks[skew - 1] = BATCH + 1;
    u32 more;
#pragma unroll 1
    do {
        const u32 r = done + lane;
        bool ends = false;
        if (r < BATCH) {
            const i64 begin = mem.at[r], end = mem.at[r + 1];
            ends = end <= to;
            if (ends && end > begin) marks[(u32)(end - from) + skew - 1] = r + 1;
        }
        more = __popc(__ballot_sync(ALL, ends));
        done += more;
    } while (more == 32);
    __syncwarp();
    return done;
}

// Sums of the segments that end in the tile, by shares of `wide` vectors. The first lanes have the last shares: values
// are handed down.
__device__ __forceinline__ void reduce_tile(tile_memory &mem, u32 wide@{indexed and ", i64 from" or ""}@{given.parameter})
{
    const u32 lane = threadIdx.x % 32;
    accumulator a = @{op.identity};
    if (lane == 31) a = @{acc.copy("mem.open")};
    u32 first = 0;  // the first marks
    const auto take = [&](u32 i) {
        const u32 index = (31 - lane) * wide + i;
        const vector v = mem.tile[index].v;
//@ for w = 0, mark_words - 1 do
        const u32 mark@{w} = mem.marks[index * @{mark_words} + @{w}];
        if (!first) first = mark@{w};
//@ end
//@ local marks = {}
//@ for w = 0, mark_words - 1 do marks[w + 1] = "mark" .. w end
//@ local function taken(e)
//@     local x = dtype.unpack("v.word[" .. e // layout.per_word .. "]", e % layout.per_word)
//@     return indexed and ("candidate(%s, (u64)from + index * VEC + %d)"):format(x, e) or ("map(%s%s)"):format(x, given.argument)
//@ end
        if (__any_sync(ALL, @{table.concat(marks, " | ")})) {
//@ for e = 0, vec - 1 do
//@     local mark, shift = "mark" .. e // per_mark, e % per_mark * 8
            a = combine(a, @{taken(e)}@{given.argument});
            if (@{mark} & 255u << @{shift}) {
                mem.sum[@{mark} >> @{shift} & 255] = a;
                a = @{op.identity};
            }
//@ end
        } else {
//@ for e = 0, vec - 1 do
            a = combine(a, @{taken(e)}@{given.argument});
//@ end
        }
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
