//@ -- How the segments of a batch are reduced, by kinds of lengths: several at once, from memory,
//@ -- each by as many lanes as its elements need.
//@ takes op, acc, given, indexed, dtype, layout, vec, side
constexpr u32 SIDE = @{side};  // segments that a lane has loads of in flight
constexpr u32 LOADS = 2;  // of each of them

// A kind is how segments are taken: by 2^kind lanes, which have LOADS loads of it at most; by eight, one
// tile after the other; by the warp; or not.
constexpr u32 MOST = 3, BY_EIGHT = 4, BY_WARP = 5, EMPTY = 6, ELSEWHERE = 7;
constexpr u32 EIGHT_LOADS = 256;  // of a segment that eight lanes take, at most

static_assert(EACH % SIDE == 0 && BATCH <= 256, "");

// The segments that a warp goes over.
struct course {
    u64 first, end;
    u64 there;  // the end of those that it has a part of
    u32 crossing;  // others have a part of the first one (1), and of the last one (2)
};

// What a warp knows, in shared memory: there are few registers beside its loads.
struct packed {
    u32 at[BATCH + 1];  // where a batch's segments begin, in elements behind `aligned`
    unsigned char order[BATCH];  // segments of one kind
    course run;
    stretch mine;
    deal dealt;
    u64 blocks;  // that have a part of the work
};

struct batch {
    u64 aligned;  // the address of the first one's begin, rounded down to a multiple of LOAD_BYTES
    u64 low, high;  // addresses of the table's elements
    u64 number;  // of the first segment
    u32 count;  // of segments
    bool is_outside;  // whole loads would bring more than the table's elements
};

// Takes a vector whose first element has that index in its segment, which has `count` elements; WHOLE:
// all of them are its.
template <bool WHOLE>
__device__ __forceinline__ accumulator take_vector(accumulator a, const vector &v, u32 first,
                                                   u32 count@{given.parameter})
{
//@ for e = 0, vec - 1 do
//@     local x = dtype.unpack("v.word[" .. e // layout.per_word .. "]", e % layout.per_word)
//@     if indexed then
    if (WHOLE || first + @{e} < count) a = combine(a, candidate(@{x}, first + @{e})@{given.argument});
//@     else
    if (WHOLE || first + @{e} < count) a = combine(a, map(@{x}@{given.argument})@{given.argument});
//@     end
//@ end
    return a;
}

// Loads what lane `rank` of 2^power has of SIDE segments, from the next-th of n on; its first element of
// one may stand before the segment's. Whether a load brings more than elements of its segment.
__device__ __forceinline__ bool load_side(u32 (&which)[SIDE], int (&first)[SIDE], int (&count)[SIDE],
                                          vector (&v)[SIDE][LOADS], const packed &mem, const batch &b,
                                          u32 next, u32 n, bool is_listed, u32 power,
                                          u32 rank@{given.parameter})
{
    const u32 wide = 1u << power;
    bool is_part = false;
#pragma unroll
    for (u32 k = 0; k < SIDE; k++) {
        const u32 r = next + (k * 32 >> power), there = r < n ? r : 0;
        which[k] = is_listed ? mem.order[there] : there;
        const u32 at = mem.at[which[k]], head = at % VEC;
        count[k] = r < n ? (int)(mem.at[which[k] + 1] - at) : -(int)VEC;
        first[k] = (int)(rank * VEC) - (int)head;
#pragma unroll
        for (u32 j = 0; j < LOADS; j++) {
            const u64 place = b.aligned + (u64)(at - head + (rank + j * wide) * VEC) * sizeof(element);
            const int from = first[k] + (int)(j * wide * VEC);
            if (from >= count[k]) continue;
            is_part |= from < 0 || from + (int)VEC > count[k];
//@ if vec > 1 then
            if (b.is_outside)
                v[k][j] = load_within(place, b.low, b.high);
            else
//@ end
                v[k][j] = load_vector(place@{given.argument});
        }
    }
    return is_part;
}

template <bool WHOLE>
__device__ __forceinline__ void take_side(accumulator (&a)[SIDE], const int (&first)[SIDE],
                                          const int (&count)[SIDE], const vector (&v)[SIDE][LOADS],
                                          u32 wide@{given.parameter})
{
#pragma unroll
    for (u32 k = 0; k < SIDE; k++) {
        a[k] = @{op.identity};
#pragma unroll
        for (u32 j = 0; j < LOADS; j++) {
            const int from = first[k] + (int)(j * wide * VEC);
            if (from < count[k])
                a[k] = take_vector<WHOLE>(a[k], v[k][j], from, count[k]@{given.argument});
        }
    }
}

// The n segments of one kind, each by 2^power lanes: those of mem.order, or the first n.
__device__ __forceinline__ void reduce_kind(const packed &mem, const batch &b, u32 n, bool is_listed,
                                            u32 power, @{given.output})
{
    const u32 lane = threadIdx.x % 32, wide = 1u << power, rank = lane & (wide - 1);
    for (u32 next = lane >> power; __any_sync(ALL, next < n); next += SIDE * 32 >> power) {
        u32 which[SIDE];
        int first[SIDE], count[SIDE];
        vector v[SIDE][LOADS];
        accumulator a[SIDE];
        const bool is_part = load_side(which, first, count, v, mem, b, next, n, is_listed, power, rank@{given.argument});
        if (__any_sync(ALL, is_part))
            take_side<false>(a, first, count, v, wide@{given.argument});
        else
            take_side<true>(a, first, count, v, wide@{given.argument});
#pragma unroll
        for (u32 k = 0; k < SIDE; k++) {
            if (power > 0) {
//@ include("lib/fold_lanes.cu", { lanes = 8, value = "a[k]", when = "wide > %d" })
            }
            if (rank == 0 && count[k] >= 0)
                finish(output + b.number, which[k], a[k], count[k]@{given.argument});
        }
    }
}

// Those that eight lanes take each.
__device__ __forceinline__ void reduce_by_eight(const packed &mem, const batch &b, u32 n, bool is_listed,
                                                @{given.output})
{
    const u32 lane = threadIdx.x % 32;
    for (u32 next = lane / 8; __any_sync(ALL, next < n); next += 4) {
        const u32 there = next < n ? next : 0, r = is_listed ? mem.order[there] : there;
        const u32 at = mem.at[r], count = next < n ? mem.at[r + 1] - at : 0;
        accumulator a = reduce_apart((const element *)b.aligned + at, count@{indexed and ", 0" or ""}, lane % 8,
                                     8@{given.argument});
//@ include("lib/fold_lanes.cu", { lanes = 8 })
        if (next < n && lane % 8 == 0) finish(output + b.number, r, a, count@{given.argument});
    }
}

// A batch of segments that need LOADS loads each at most, and that no other warp has a part of: each lane
// takes those that it knows. False, with nothing done: it is no such batch.
__device__ __forceinline__ bool reduce_tiny(const packed &mem, const batch &b, @{given.output})
{
    const u32 lane = threadIdx.x % 32;
    bool is_other = b.is_outside, is_part = false, is_twice = false;
#pragma unroll
    for (u32 j = 0; j < EACH; j++) {
        const u32 r = j * 32 + lane, at = mem.at[r], behind = mem.at[r + 1], head = at % VEC;
        const u32 need = behind - at + head;  // elements from the first load's first one on
        is_other |= behind < at || need > LOADS * VEC;
        is_twice |= need > VEC;
        is_part |= behind - at != VEC || head > 0;
    }
    if (__any_sync(ALL, is_other)) return false;
    is_part = __any_sync(ALL, is_part);
    is_twice = __any_sync(ALL, is_twice);
#pragma unroll
    for (u32 j = 0; j < EACH; j += SIDE) {
        int first[SIDE], count[SIDE];
        vector v[SIDE][LOADS];
#pragma unroll
        for (u32 k = 0; k < SIDE; k++) {
            const u32 r = (j + k) * 32 + lane, at = mem.at[r];
            first[k] = -(int)(at % VEC);
            count[k] = mem.at[r + 1] - at;
            const u64 place = b.aligned + (u64)(at + first[k]) * sizeof(element);
            if (count[k] > 0) v[k][0] = load_vector(place@{given.argument});
            if (is_twice && count[k] - first[k] > (int)VEC)
                v[k][1] = load_vector(place + LOAD_BYTES@{given.argument});
        }
#pragma unroll
        for (u32 k = 0; k < SIDE; k++) {
            accumulator a = @{op.identity};
            if (!is_part) {
                a = take_vector<true>(a, v[k][0], 0, VEC@{given.argument});
            } else {
                if (count[k] > 0)
                    a = take_vector<false>(a, v[k][0], first[k], count[k]@{given.argument});
                if (is_twice && count[k] - first[k] > (int)VEC)
                    a = take_vector<false>(a, v[k][1], first[k] + (int)VEC, count[k]@{given.argument});
            }
            const u32 r = (j + k) * 32 + lane;
            if (r < b.count) finish(output + b.number, r, a, count[k]@{given.argument});
        }
    }
    return true;
}

