//@ local op, given, acc, indexed, layout = require("lib/kernel").of(_ENV, vec, "rows")
//@ -- The extreme of a vector is found first, where all of its elements are there.
//@ local at_once = indexed and not given.masked
//@ local parts = at_once and 1 or given.parts(layout, vec)
//@ local shared, origin = finish ~= "single", indexed and ", u64 origin" or ""
//@ local over = unroll > 1 and rows == 1 and not shared and unroll // 2 or 0
//@ -- Where lanes of a warp have rows of their own and loads of many elements, rows that are all aligned have a copy of
//@ -- their own: without it 50000 x 333 f16 take 1.045 times as long.
//@ local copies = lanes < 32 and vec >= 8 and not indexed
//@ local aligned = copies and ", bool aligned" or ""
//@ include("lib/title.cu", { by = "rows", of = "rows", many = true, shares = shared and "rows" })

//@ include "lib/head.cu"
//@ include("lib/constants.cu", { names = "GROUP, GROUPS, ROWS, VEC, UNROLL", lanes = lanes, rows = rows, unroll = unroll })
//@ if over > 0 then
constexpr u32 OVER = @{over};  // loads in flight besides, where a row has no more than that left
//@ end
//@ include("lib/constants.cu", { names = "LANES, LOAD_BYTES", parts = parts })
constexpr u64 TILE_BYTES = GROUP * UNROLL * LOAD_BYTES;
//@ include("lib/constants.cu", { names = given.ahead and "AHEAD_BYTES = 1 << 23" or "" })

//@ include("lib/asserts.cu", { that = { "LOAD_BYTES <= 16 && BLOCK % 32 == 0 && BLOCK % GROUP == 0" } })

//@ include "lib/extents.cu"
//@ include "lib/vector.cu"
// This thread's place in its group.
__device__ __forceinline__ u32 member()
{
    return threadIdx.x % GROUP;
}

// Where this thread's load i of the tile at that address is.
__device__ __forceinline__ u64 place_of(u64 tile, u32 i)
{
    return tile + member() * LOAD_BYTES + i * (GROUP * LOAD_BYTES);
}

// How many bytes of the tile there are from this thread's first load on, in 32 bits: loads are compared
// with that, and their places differ by what an instruction adds.
__device__ __forceinline__ u32 bytes_of(u64 tile, u64 stop)
{
    const u64 place = place_of(tile, 0), left = stop > place ? stop - place : 0;
    return left < TILE_BYTES ? left : TILE_BYTES;
}

// Whether load i of a tile with so many bytes is there.
__device__ __forceinline__ bool is_there(u32 i, u32 left)
{
    return i * (u32)(GROUP * LOAD_BYTES) < left;
}

//@ include "lib/load_if.cu"
// All loads of the tile before the first use; from stop on nothing is read. Whole tiles have no path of
// their own: it would be the other half of the kernel's instructions.
__device__ __forceinline__ void load_tile(vector (&v)[UNROLL], u64 tile, u64 stop@{given.parameter})
{
    const u32 left = bytes_of(tile, stop);
#pragma unroll
    for (u32 i = 0; i < UNROLL; i++)
        v[i] = load_vector_if(is_there(i, left), place_of(tile, i)@{given.argument});
}

//@ include "lib/load_element.cu"
//@ include "lib/combine.cu"
//@ if at_once then
//@     include "lib/take_extreme.cu"
//@ else
//@     include "lib/take.cu"
//@ end
//@ include "lib/splits.cu"
//@ if lanes >= 32 then
//@     include "lib/reduce_warp.cu"
//@ end
// Member 0 of each group gets the combinations of the group's values. All threads of the block
// call it, with turn = 0, 1, 0, 1, ...
__device__ __forceinline__ void reduce_group(accumulator (&a)[ROWS], u32 turn@{given.parameter})
{
//@ if lanes < 32 and op.lanes then
#pragma unroll
    for (u32 r = 0; r < ROWS; r++) a[r] = @{lanes > 1 and op.lanes("a[r]", lanes) or "a[r]"};
//@ elseif lanes < 32 then
    // Further members are given values of the next group, and theirs are not looked at.
//@     include("lib/fold_lanes.cu", { lanes = lanes, value = "a[r]", over = "u32 r = 0; r < ROWS; r++" })
//@ else
#pragma unroll
    for (u32 r = 0; r < ROWS; r++) a[r] = reduce_warp(a[r]@{given.argument});
//@     if lanes > 32 then
//@         local warps = lanes // 32
    // Two sets of values, so that one barrier does: who writes a set again has passed the barrier
    // of the other, before which all have read this one.
    __shared__ accumulator warp_value[2][ROWS][BLOCK / 32];
    const u32 warp = threadIdx.x / 32, lane = threadIdx.x % 32;
#pragma unroll
    for (u32 r = 0; r < ROWS; r++)
        if (lane == 0) warp_value[turn][r][warp] = a[r];
    __syncthreads();
    if (warp % @{warps} == 0) {
#pragma unroll
        for (u32 r = 0; r < ROWS; r++) {
            a[r] = lane < @{warps} ? warp_value[turn][r][warp + lane] : @{op.identity};
//@         if op.lanes then
            a[r] = @{op.lanes("a[r]", warps)};
//@         end
//@         include("lib/fold_lanes.cu", { lanes = op.lanes and 1 or warps, value = "a[r]" })
        }
    }
//@     end
//@ end
}

// What a thread has of a row: the loads of a tile of its group, and where they end.
struct progress {
    u64 begin, body, stop, tile;
    vector v[UNROLL];
//@ if over > 0 then
    vector rest[OVER];  // of the tile behind
//@ end
};

//@ if over > 0 then
// Whether the row ends with a tile of which OVER loads bring all: these go with those of the tile
// before, for they would be on their way alone.
__device__ __forceinline__ bool ends_over(u64 tile, u64 stop)
{
    return tile + TILE_BYTES < stop && stop - tile <= TILE_BYTES + OVER * GROUP * LOAD_BYTES;
}

__device__ __forceinline__ void load_rest(vector (&rest)[OVER], u64 tile, u64 stop@{given.parameter})
{
    if (!ends_over(tile, stop)) return;
    tile += TILE_BYTES;
    const u32 left = bytes_of(tile, stop);
#pragma unroll
    for (u32 i = 0; i < OVER; i++)
        rest[i] = load_vector_if(is_there(i, left), place_of(tile, i)@{given.argument});
}

//@ end
// Starts with the `count` elements from input on. Loads are aligned: from body up to stop, which
// are the row's ends if these are aligned. The first ones are on their way before anything is computed
// that they do not need.
__device__ __forceinline__ void begin_row(progress &p, const element *input, u64 count,
                                          const share &mine@{aligned}@{given.parameter})
{
    p.begin = (u64)input;
    const u64 end = p.begin + count * sizeof(element);
    p.body = @{copies and "aligned ? p.begin : " or ""}(p.begin + LOAD_BYTES - 1) / LOAD_BYTES * LOAD_BYTES;
    p.stop = @{copies and "aligned ? end : " or ""}end / LOAD_BYTES * LOAD_BYTES;
    p.tile = p.body + mine.split * TILE_BYTES;
    load_tile(p.v, p.tile, p.stop@{given.argument});
//@ if over > 0 then
    load_rest(p.rest, p.tile, p.stop@{given.argument});
//@ end
}

// Each thread returns its share of what was started with: tiles are dealt round-robin to the
// splits.@{indexed and " The first element has the index `origin`." or ""}
__device__ __forceinline__ accumulator end_row(progress &p, const element *input, u64 count,
                                               const share &mine@{aligned}@{origin}@{given.parameter})
{
    const u64 stop = p.stop;
    u64 tile = p.tile;
    vector(&v)[UNROLL] = p.v;
//@ include("lib/begin_parts.cu", { edge = "accumulator edge" })
//@ if vec > 1 then
    // Fewer than VEC elements stand before body and behind stop: all, if nothing is between these, and
    // none of an aligned row@{copies and "" or ", which has no copy of this function"}.
    const u64 head = (u32)(p.body - p.begin) / sizeof(element);
    const u64 between = stop > p.body ? (stop - p.body) / sizeof(element) : 0;
    for (u64 i = member(); @{copies and "!aligned && " or ""}i < count - between; i += GROUP) {
//@     if shared then
        if (mine.split > 0) break;
//@     end
        const u64 at = i < head ? i : i + between;
//@     include "lib/take_edge.cu"
    }
//@ end

    while (tile < stop) {
//@     include("lib/take_some.cu", { vectors = "v", many = "UNROLL", counts = true, checked = true })
//@ if over > 0 then
        if (ends_over(tile, stop)) {
            tile += TILE_BYTES;
//@     include("lib/take_some.cu", { vectors = "p.rest", many = "OVER", checked = true })
            break;
        }
//@ end
        tile += mine.splits * TILE_BYTES;
        // Loads that are not there would cost instructions, too.
        if (tile >= stop) break;
        load_tile(v, tile, stop@{given.argument});
//@ if over > 0 then
        load_rest(p.rest, tile, stop@{given.argument});
//@ end
    }
//@ if indexed then
    // Where no value went before the last one there is, it is the first load's, if there was one.
    const u64 first = place_of(p.tile, 0);
//@     if at_once then
    if (first < stop) {
        const u64 tiles = part[0].load / UNROLL, i = part[0].load % UNROLL;
        const u64 place = first + tiles * mine.splits * TILE_BYTES + i * GROUP * LOAD_BYTES;
        const u64 index = origin + (place - p.begin) / sizeof(element) + element_of(part[0]);
        edge = combine(edge, candidate(part[0].x, index)@{given.argument});
    }
//@     else
#pragma unroll
    for (u32 j = 0; j < LANES; j++) {
        const u64 tiles = part[j].load / UNROLL, i = part[j].load % UNROLL;
        const u64 place = first + tiles * mine.splits * TILE_BYTES + i * GROUP * LOAD_BYTES;
        const u64 index = origin + (place - p.begin) / sizeof(element) + j;
        edge = combine(edge, @{given.found("part[j]", "index")}@{given.argument});
    }
//@     end
    return edge;
//@ else
//@     include "lib/combine_parts.cu"
//@ end
}

// Each thread gets its shares of the rows from that one on, GROUPS apart. The loads of all are on
// their way before one is used.
__device__ __forceinline__ void reduce_rows(accumulator (&a)[ROWS], const element *input, u64 row,
                                            const extents &e, const share &mine@{aligned}@{given.parameter})
{
    progress p[ROWS];
    const element *from[ROWS];
    u64 count[ROWS];
//@ local call = "end_row(p[r], from[r], count[r], mine" .. (copies and ", aligned" or "")
//@ local begin, value = "", call .. (indexed and ", 0" or "") .. given.argument .. ")"
//@ -- A copy for further stretches costs NVRTC a third; without one, short rows take 1.05 times as long.
//@ local once = indexed and lanes >= 32
//@ if indexed then
    // A thread counts its loads in 32 bits: stretches keep it from running over.
    constexpr u64 STRETCH = 1ull << 31;
//@ end
//@ if once then
#pragma unroll
    for (u32 r = 0; r < ROWS; r++) a[r] = @{op.identity};
    for (u64 at = 0; at < e.count; at += STRETCH) {
        const u64 left = e.count - at, most = left < STRETCH ? left : STRETCH;
//@     begin, value = " + at", "combine(a[r], " .. call .. ", at" .. given.argument .. ")" .. given.argument .. ")"
//@ else
    {
        const u64 most = @{indexed and "e.count < STRETCH ? e.count : STRETCH" or "e.count"};
//@ end
#pragma unroll
        for (u32 r = 0; r < ROWS; r++) {
            const u64 own = row + r * GROUPS;
            from[r] = input + (own < e.outer ? own * e.outer_step@{begin} : 0);
            count[r] = own < e.outer ? most : 0;
            begin_row(p[r], from[r], count[r], mine@{copies and ", aligned" or ""}@{given.argument});
        }
#pragma unroll
        for (u32 r = 0; r < ROWS; r++) a[r] = @{value};
    }
//@ if indexed and not once then
    for (u64 at = STRETCH; at < e.count; at += STRETCH) {
        const u64 left = e.count - at < STRETCH ? e.count - at : STRETCH;
#pragma unroll
        for (u32 r = 0; r < ROWS; r++) {
            if (count[r] == 0) continue;
            begin_row(p[r], from[r] + at, left, mine@{given.argument});
            a[r] = combine(a[r], end_row(p[r], from[r] + at, left, mine, at@{given.argument})@{given.argument});
        }
    }
//@ end
}

constexpr u32 SET = GROUPS * ROWS;  // rows that a block takes at a time

__device__ __forceinline__ u64 sets_of(const extents &e)
{
    return (e.outer + SET - 1) / SET;
}

//@ if given.ahead then
// Asks for each thread's first loads to be brought into L2, a line of 128 bytes at a time. That
// reads nothing, so it is right even while the kernel before may still write. A thread asks for the
// line that begins in its load, and a group's first one for the row's first line, too.
__device__ __forceinline__ void prefetch_rows(const element *input, const extents &e@{given.inputs > 1 and ", u64 second" or ""})
{
    const share mine = share_of(sets_of(e));
    const u64 first = mine.set * SET + threadIdx.x / GROUP, row_bytes = e.count * sizeof(element);
    for (u32 r = 0; r < ROWS && first + r * GROUPS < e.outer; r++) {
        const u64 begin = (u64)(input + (first + r * GROUPS) * e.outer_step);
        const u64 tile = begin + mine.split * TILE_BYTES, stop = begin + row_bytes;
#pragma unroll 1
        for (u32 i = 0; i < UNROLL; i++) {
            const u64 place = place_of(tile, i);
            const bool begins = i == 0 && member() == 0 && row_bytes >= 128;
            if (place >= stop || !(begins || place % 128 < LOAD_BYTES)) continue;
//@     include("lib/prefetch_line.cu", { place = "place", first = "(u64)input" })
        }
    }
}

//@ end
//@ include("lib/entry.cu", { extents = "extents e" })
{
//@ include("lib/begin.cu", { prefetch = given.ahead and { "e.count * e.outer", "prefetch_rows(input, e" }, count = "e.count" })
    // A block's threads go on together, those too that have no row left.
//@ if copies then
    const u64 steps = (e.outer > 1 ? e.outer_step : 0) | e.count;
    const bool aligned = ((u64)input | steps * sizeof(element)) % LOAD_BYTES == 0;
//@ end
    u32 turn = 0;
    for (share mine = share_of(sets_of(e)); mine.set < mine.sets; mine.set += gridDim.x) {
        const u64 row = mine.set * SET + threadIdx.x / GROUP;
        accumulator a[ROWS];
//@ for _, constant in ipairs(copies and { "true", "false" } or { "" }) do
        @{constant == "true" and "if (aligned) " or constant == "false" and "else " or ""}reduce_rows(a, input, row, e, mine@{copies and ", " .. constant or ""}@{given.argument});
//@ end
//@ if shared then
        // The last split's threads take up what the others leave with their own.
        const bool last = mine.split == mine.splits - 1;
        if (last)
            collect(a[0], scratch, number_of(mine, threadIdx.x), BLOCK * (u32)mine.sets,
                    number_of(mine, mine.split)@{given.argument});
//@ end
        reduce_group(a, turn@{given.argument});
        turn ^= 1;
//@ if shared then
        if (!last) {
            if (threadIdx.x == 0) leave(scratch, number_of(mine, mine.split), a[0]);
            return;
        }
//@ end
#pragma unroll
        for (u32 r = 0; r < ROWS; r++)
            if (row + r * GROUPS < e.outer && member() == 0)
                @{given.write("output[row + r * GROUPS]", "a[r]", "e.count")}
    }
}
