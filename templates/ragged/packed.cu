//@ -- Segments that lie one after the other, as offsets give them: a warp takes several at once. It
//@ -- brings the elements of short ones into shared memory by wide loads, and then some lanes take each.
constexpr u32 BATCH = 128;  // segments whose offsets a warp has at a time
constexpr u32 STAGE_BYTES = @{stage_bytes};
constexpr u64 STAGE = STAGE_BYTES / sizeof(element);  // elements that a warp stages at a time
constexpr u64 DIRECT = 512 / sizeof(element);  // elements of segments that are not staged, on average

// A warp's part of shared memory.
struct packed {
    alignas(16) char staged[STAGE_BYTES + LOAD_BYTES];
    i64 offset[BATCH + 1];
};

//@ if load_bytes >= 4 then
struct alignas(@{load_bytes}) piece {
    @{layout.word.c} word[@{layout.words}];
};

__device__ __forceinline__ void store_piece(char *to, const vector &v)
{
    piece p;
#pragma unroll
    for (u32 i = 0; i < @{layout.words}; i++) p.word[i] = v.word[i];
    *(piece *)to = p;
}
//@ else
__device__ __forceinline__ void store_piece(char *to, const vector &v)
{
    *(@{load_bytes == 1 and "unsigned char" or "unsigned short"} *)to = v.word[0];
}
//@ end

// Brings `count` elements into shared memory, as far behind its begin as the first is behind a
// multiple of LOAD_BYTES; where it is then.
__device__ __forceinline__ const element *stage(char *staged, const element *input, u32 count@{given.parameter})
{
    const u32 lane = threadIdx.x % 32;
    const u64 begin = (u64)input, end = begin + count * sizeof(element);
    const u64 low = begin / LOAD_BYTES * LOAD_BYTES;
    const u64 body = (begin + LOAD_BYTES - 1) / LOAD_BYTES * LOAD_BYTES;
    // No elements may be anywhere, and their address may round up beyond the end of all addresses.
    const u64 stop = count > 0 ? end / LOAD_BYTES * LOAD_BYTES : 0;
    for (u64 at = body; at < stop; at += 32 * UNROLL * LOAD_BYTES) {
        vector v[UNROLL];
#pragma unroll
        for (u32 i = 0; i < UNROLL; i++) {
            const u64 place = at + (lane + i * 32) * LOAD_BYTES;
            if (place < stop) v[i] = load_vector(place@{given.argument});
        }
#pragma unroll
        for (u32 i = 0; i < UNROLL; i++) {
            const u64 place = at + (lane + i * 32) * LOAD_BYTES;
            if (place < stop) store_piece(staged + (place - low), v[i]);
        }
    }
//@ if vec > 1 then
    // Fewer than VEC elements stand before body and behind stop: all, if nothing is between these.
    element *const first = (element *)(staged + (begin - low));
    const u32 head = (u32)(body - begin) / sizeof(element);
    const u32 between = stop > body ? (u32)(stop - body) / sizeof(element) : 0;
    for (u32 i = lane; i < count - between; i += 32) {
        const u32 at = i < head ? i : i + between;
        first[at] = input[at];
    }
//@ end
    return (const element *)(staged + (begin - low));
}

__device__ __forceinline__ accumulator take_staged(accumulator a, const element *from, u32 at@{given.parameter})
{
    const @{dtype.word.c} word = (@{dtype.word.c})from[at];
//@ if indexed then
    return combine(a, candidate(@{dtype.unpack("word", 0)}, at)@{given.argument});
//@ else
    return combine(a, map(@{dtype.unpack("word", 0)}@{given.argument})@{given.argument});
//@ end
}

// The segments that have n + 1 offsets, all of whose elements are staged from `staged` on; `number` is
// that of the first. `wide` lanes take one, 32 those that are much longer than others.
__device__ __forceinline__ void reduce_staged(const element *staged, const i64 *offset, u32 n,
                                              u64 number, @{result.c} *output@{given.parameter})
{
    const u32 lane = threadIdx.x % 32;
    // Powers of two by their exponents: divisions would take longer than all else here.
    const u32 power = n > 16 ? 0 : n > 8 ? 1 : n > 4 ? 2 : n > 2 ? 3 : n > 1 ? 4 : 5, wide = 1u << power;
    const u32 first = lane & (wide - 1);
    const u32 most = 4 * (u32)((float)(u32)(offset[n] - offset[0]) / (float)n) + 16;
    bool is_left = false;
    for (u32 next = lane >> power; __any_sync(ALL, next < n); next += 32 >> power) {
        const u32 r = next < n ? next : n - 1;
        const u32 low = offset[r] - offset[0], count = offset[r + 1] - offset[r];
        const bool there = next < n && count <= most;
        is_left |= next < n && count > most;
        const element *const from = staged + low;
        // Lanes whose segments begin in the same bank begin at different elements of them.
        const u32 turn = low * (u32)sizeof(element) / 128 & (0x80000000u >> __clz(count | 1)) - 1;
        accumulator a = @{op.identity};
        // One loop: a second one, from the segment's begin on, would be as long as the longest of all.
#pragma unroll 4
        for (u32 i = first; there && i < count; i += wide) {
            const u32 at = i + turn;
            a = take_staged(a, from, min(at, at - count)@{given.argument});
        }
        if (power > 0) {
//@ for _, step in ipairs { 16, 8, 4, 2, 1 } do
            if (wide > @{step}) a = combine(a, @{acc.shuffle("a", step)}@{given.argument});
//@ end
        }
        if (there && first == 0) finish(output, number + r, a, count@{given.argument});
    }
    if (!__any_sync(ALL, is_left)) return;
    for (u32 r = 0; r < n; r++) {
        const u32 low = offset[r] - offset[0], count = offset[r + 1] - offset[r];
        if (count <= most) continue;
        accumulator a = @{op.identity};
        for (u32 i = lane; i < count; i += 32) a = take_staged(a, staged + low, i@{given.argument});
        a = reduce_warp(a@{given.argument});
        if (lane == 0) finish(output, number + r, a, count@{given.argument});
    }
}

// Those segments from memory, each by `wide` lanes; what the stretch has of them.
__device__ __forceinline__ void reduce_several(const stretch &mine, const deal &d, const element *input,
                                               const i64 *offset, u32 n, u64 number, edge *edges,
                                               @{result.c} *output@{given.parameter})
{
    const u32 lane = threadIdx.x % 32, power = n > 2 ? 3 : n > 1 ? 4 : 5, wide = 1u << power;
    for (u32 next = lane >> power; __any_sync(ALL, next < n); next += 32 >> power) {
        const u32 r = next < n ? next : n - 1;
        const u64 count = next < n ? offset[r + 1] - offset[r] : 0;
        const u64 before = offset[r] - d.origin + (number + r) * COST;
        const u64 low = elements_before(mine.from, before, count);
        const u64 high = elements_before(mine.to, before, count);
        accumulator a = reduce_run<UNROLL>(input + offset[r] + low, high - low@{indexed and ", low" or ""}, lane & (wide - 1),
                                   wide@{given.argument});
//@ for _, step in ipairs { 16, 8, 4, 2, 1 } do
        if (wide > @{step}) a = combine(a, @{acc.shuffle("a", step)}@{given.argument});
//@ end
        if (next < n && (lane & (wide - 1)) == 0)
            deliver(mine, number + r, a, count, before, edges, output@{given.argument});
    }
}

// Whether the offsets are seen to decrease.
__device__ __forceinline__ bool reduce_packed(const stretch &mine, const segments &s, const deal &d,
                                              edge *edges, packed &mem, const element *input,
                                              @{result.c} *output@{given.parameter})
{
    constexpr u32 EACH = BATCH / 32;
    const u32 lane = threadIdx.x % 32;
    const u64 end = mine.last + 1;
    i64 next[EACH], next_end;
#pragma unroll
    for (u32 j = 0; j < EACH; j++) {
        const u64 i = mine.first + j * 32 + lane;
        next[j] = offset_at(s, s.begin, i < end ? i : end);
    }
    next_end = offset_at(s, s.begin, mine.first + BATCH < end ? mine.first + BATCH : end);
    for (u64 base = mine.first; base < end; base += BATCH) {
        __syncwarp();
#pragma unroll
        for (u32 j = 0; j < EACH; j++) mem.offset[j * 32 + lane] = next[j];
        if (lane == 0) mem.offset[BATCH] = next_end;
        __syncwarp();
        if (base + BATCH < end) {
#pragma unroll
            for (u32 j = 0; j < EACH; j++) {
                const u64 i = base + BATCH + j * 32 + lane;
                next[j] = offset_at(s, s.begin, i < end ? i : end);
            }
            next_end = offset_at(s, s.begin, base + 2 * BATCH < end ? base + 2 * BATCH : end);
        }
        bool falls = false;
#pragma unroll
        for (u32 j = 0; j < EACH; j++)
            falls |= mem.offset[j * 32 + lane] > mem.offset[j * 32 + lane + 1];
        if (__any_sync(ALL, falls)) return true;
        const u32 n = end - base < BATCH ? end - base : BATCH;
        // Segments that cross the stretch's ends, and the last one if it is not in it at all.
        const u64 last_before = mem.offset[n - 1] - d.origin + (base + n - 1) * COST;
        const u64 last_end = last_before + COST + (mem.offset[n] - mem.offset[n - 1]);
        const u32 there = last_before < mine.to ? n : n - 1;
        const u32 complete = last_end > mine.to ? n - 1 : n;
        u32 k = 0;
        while (k < there) {
            const i64 begin = mem.offset[k];
            const u64 before = begin - d.origin + (base + k) * COST;
            u32 stop = complete;
            if (before < mine.from) stop = k;
#pragma unroll
            for (u32 j = 0; j < EACH; j++) {
                const u32 i = j * 32 + lane;
                const u32 over = __ballot_sync(ALL, mem.offset[i + 1] - begin > (i64)STAGE);
                const u32 first = j * 32 + __ffs(over) - 1;
                if (over && first < stop && first >= k) stop = first;
            }
            const u32 several = stop > k ? stop - k : 1;
            if (stop <= k || mem.offset[stop] - begin >= several * DIRECT) {
                reduce_several(mine, d, input, mem.offset + k, several, base + k, edges,
                               output@{given.argument});
                k += several;
                continue;
            }
            __syncwarp();
            const element *const staged =
                stage(mem.staged, input + begin, mem.offset[stop] - begin@{given.argument});
            __syncwarp();
            reduce_staged(staged, mem.offset + k, stop - k, base + k, output@{given.argument});
            k = stop;
        }
    }
    return false;
}

