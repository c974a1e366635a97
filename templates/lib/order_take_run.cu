//@ -- A warp's run of chunks, one after the other, in the fixed order.
//@ -- `copies`: take_chunk() has a copy of its own for a part of a chunk.
//@ takes op, acc, given, copies
//@ include "lib/order_waiting.cu"
// Lane 0 returns the value of a run whose first step is on its way. The first step of the run `next` is
// asked for before the last one is done with: a warp that has no chunks of a run has none of the next.
__device__ __forceinline__ accumulator take_run(vector (&v)[UNROLL], bool aligned, run own, const run &next@{given.parameter})
{
    // Lane i of `waiting` has the value of 2^i chunks that waits for its neighbour.
    accumulator waiting = @{op.identity};
    u32 taken = 0;
    const u32 behind = own.part_bytes % (u32)LOAD_BYTES;
    accumulator edge = @{op.identity};
    if (behind > 0) {
        // Its loads are asked for while those of the first step are on their way.
        const u64 end = own.at + own.whole * CHUNK_BYTES + own.part_bytes;
        edge = take_edge(end - behind, end@{given.argument});
    }
//@ if copies then
    while (own.whole > 0) {
        const run rest = {own.at + CHUNK_BYTES, own.whole - 1, own.part_bytes};
//@ else
    while (own.whole + own.part_bytes > 0) {
        const bool whole = own.whole > 0;
        const run rest = {own.at + CHUNK_BYTES, own.whole - whole, whole ? own.part_bytes : 0};
//@ end
        const bool is_last = rest.whole + rest.part_bytes == 0;
        const run further = {is_last ? next.at : rest.at, is_last ? next.whole : rest.whole,
                             is_last ? next.part_bytes : rest.part_bytes};
        waiting = carry(waiting, take_chunk@{copies and "<false>" or ""}(v, aligned, own, edge, further@{given.argument}), taken++@{given.argument});
        own = rest;
    }
//@ if copies then
    if (own.part_bytes > 0)
        waiting = carry(waiting, take_chunk<true>(v, aligned, own, edge, next@{given.argument}), taken++@{given.argument});
//@ end
    return settle(waiting, taken@{given.argument});
}

