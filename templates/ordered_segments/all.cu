//@ -- One result of all segments in the fixed order: the elements have the numbers of an array in which the segments lie
//@ -- one behind the other. Warps take nodes, runs of 2^k chunks; a warp copies a chunk's elements to shared memory,
//@ -- where they lie as in such an array. The last block combines the nodes.
//@ takes op, acc, given, dtype, layout, load, vec, arch, result, second, block, chunks, unroll, resident, scratch, order, warps
//@ local nodes_log, node_chunks = 12, require("lib/kernel").log2(chunks)
//@ while (acc.bytes << nodes_log) + 33024 > scratch.all_slots_bytes do nodes_log = nodes_log - 1 end
//@ local other = given.other_layout(vec)
constexpr u32 FEW = 8;  // elements of a segment that one lane copies
constexpr u32 NODES = @{1 << nodes_log};  // at most
//@ include("lib/constants.cu", { names = "LEVELS" })

static_assert(TABLE_BYTES + NODES * sizeof(accumulator) <= @{scratch.all_slots_bytes}, "");

//@ include "lib/vector.cu"
//@ include "lib/combine.cu"
//@ include "lib/order_elements.cu"
//@ include "lib/order_fold.cu"
//@ include "lib/segments/finish.cu"
// A chunk of a warp.
struct alignas(16) stage {
    element x[CHUNK];
//@ if given.masked then
    unsigned char there[CHUNK];
//@ end
};

// The 32 segments that a warp knows, from number `base` on, and the elements before them.
struct cursor {
    u64 base, before;
};

// Copies to the places from `to` on the N elements that lie `step` apart, from the one at that address on.
template <u32 N>
__device__ __forceinline__ void copy_some(stage &chunk, u32 to, u64 from, u32 step, u32 end@{given.parameter})
{
    @{dtype.word.c} x[N];
//@ if given.masked then
    @{other.word.c} y[N];
//@ end
#pragma unroll
    for (u32 i = 0; i < N; i++) {
        if (to + i * step >= end) break;
        x[i] = load_element_word(from + i * step * sizeof(element));
//@ if given.masked then
        y[i] = load_other_word(@{given.other_at("(from + i * step * sizeof(element))")});
//@ end
    }
#pragma unroll
    for (u32 i = 0; i < N; i++) {
        if (to + i * step >= end) break;
        chunk.x[to + i * step] = (element)x[i];
//@ if given.masked then
        chunk.there[to + i * step] = (unsigned char)y[i];
//@ end
    }
}

// Copies the elements of the numbers [first, end) to the warp's chunk. They are there.
__device__ __forceinline__ void fill(stage &chunk, cursor &at, u64 first, u64 end, const segments &s,
                                     const element *input@{given.parameter})
{
    const u32 lane = threadIdx.x % 32;
    __syncwarp();
    for (;;) {
        const u64 i = at.base + lane;
        segment one = {0, 0, false};
        if (i < s.count) one = segment_of(s, i);
        const u64 through = at.before + scan_warp(one.count), before = through - one.count;
        const u64 low = before > first ? before : first, high = through < end ? through : end;
        const u32 to = (u32)(low - first), n = high > low ? (u32)(high - low) : 0;
        u64 from = 0;
        if (n > 0) from = (u64)(elements_of(s, input, i, one) + (low - before));
        if (n > 0 && n <= FEW) {
//@ if given.listed then
            const values its_own = values_in(s, given, i);
//@ end
            copy_some<FEW>(chunk, to, from, 1, to + n@{given.argument_of("its_own")});
        }
        for (u32 rest = __ballot_sync(ALL, n > FEW); rest > 0; rest &= rest - 1) {
            const u32 whose = __ffs(rest) - 1;
            const u64 begin = __shfl_sync(ALL, from, whose);
            const u32 place = __shfl_sync(ALL, to, whose), stop = place + __shfl_sync(ALL, n, whose);
//@ if given.listed then
            const values its_own = values_in(s, given, at.base + whose);
//@ end
            for (u32 next = place + lane; next < stop; next += 32 * UNROLL)
                copy_some<UNROLL>(chunk, next, begin + (next - place) * sizeof(element), 32, stop@{given.argument_of("its_own")});
        }
        const u64 behind = __shfl_sync(ALL, through, 31);
        if (behind >= end) break;
        at = cursor{at.base + 32, behind};
    }
    // What a vector has behind the last element is looked at, and not used.
    const u32 n = (u32)(end - first), behind = n % VEC;
    if (behind > 0 && lane >= behind && lane < VEC) {
        chunk.x[n - behind + lane] = 0;
//@ if given.masked then
        chunk.there[n - behind + lane] = 0;
//@ end
    }
    __syncwarp();
}

// The value of the vector of which n elements are there.
__device__ @{op.costly and "__noinline__" or "__forceinline__"} accumulator fold_edge(vector v, u32 n@{given.parameter})
{
    accumulator a[VEC];
//@ for j = 0, vec - 1 do
//@     local x = dtype.unpack("v.word[" .. j // layout.per_word .. "]", j % layout.per_word)
//@     local y = given.masked and ", " .. given.other.unpack("v.other[" .. j // other.per_word .. "]", j % other.per_word) or ""
    a[@{j}] = @{op.identity};
    if (@{j} < n) a[@{j}] = map(@{x}@{y}@{given.argument});
//@ end
    return fold(a@{given.argument});
}

// The value of the vector at that place of a chunk that has n elements.
__device__ __forceinline__ accumulator take_vector(const stage &chunk, u32 at, u32 n@{given.parameter})
{
    if (at >= n) return @{op.identity};
    vector v;
#pragma unroll
    for (u32 i = 0; i < @{layout.words}; i++) v.word[i] = ((const @{layout.word.c} *)(chunk.x + at))[i];
//@ if given.masked then
#pragma unroll
    for (u32 i = 0; i < @{other.words}; i++)
        v.other[i] = ((const @{other.per_word == 4 and "u32" or "unsigned short"} *)(chunk.there + at))[i];
//@ end
    return at + VEC <= n ? fold_vector(v@{given.argument}) : fold_edge(v, n - at@{given.argument});
}

// Lane 0 returns the value of a chunk that has n elements.
__device__ __forceinline__ accumulator take_chunk(const stage &chunk, u32 n@{given.parameter})
{
    accumulator part[LOADS];
#pragma unroll
    for (u32 i = 0; i < LOADS; i++) part[i] = take_vector(chunk, (threadIdx.x % 32 + i * 32) * VEC, n@{given.argument});
//@ include("lib/fold_halves.cu", { array = "part", many = 8 })
    accumulator a = part[0];
//@ include("lib/fold_lanes.cu", { lanes = 32 })
    return a;
}

// The combination of values that come one after the other, neighbours first: after n of them one of 2^k waits for each
// bit k of n.
struct tree {
    accumulator level[LEVELS];
    u64 taken;

    __device__ __forceinline__ void add(accumulator a@{given.parameter})
    {
        u32 k = 0;
        for (; taken >> k & 1; k++) a = combine(level[k], a@{given.argument});
        level[k] = a;
        taken++;
    }
    __device__ __forceinline__ accumulator all(@{(given.parameter:gsub("^, ", ""))}) const
    {
        accumulator a = @{op.identity};
        for (u32 k = 0; taken >> k; k++)
            if (taken >> k & 1) a = combine(level[k], a@{given.argument});
        return a;
    }
};

__device__ __forceinline__ accumulator *slot_of(void *scratch, u32 i)
{
    return (accumulator *)((char *)scratch + @{scratch.slots_offset} + TABLE_BYTES) + i;
}

// Lane 0 returns the value of the chunks [next, end) of `total` elements.
__device__ __forceinline__ accumulator take_node(u64 next, u64 end, u64 total, stage &chunk, const segments &s,
                                                 const deal &d, const element *input, void *scratch@{given.parameter})
{
    tree chunks;
    chunks.taken = 0;
    cursor at = {0, 0};
    if (next < end) {
        const place found = find(s, d, scratch, next * CHUNK);
        at = cursor{found.segment, found.before};
    }
#pragma unroll 1
    for (; next < end; next++) {
        const u64 first = next * CHUNK, n = total - first < CHUNK ? total - first : CHUNK;
        fill(chunk, at, first, first + n, s, input@{given.argument});
        chunks.add(take_chunk(chunk, (u32)n@{given.argument})@{given.argument});
    }
    return chunks.all(@{(given.argument:gsub("^, ", ""))});
}

// A block's part of the work.
__device__ __forceinline__ void reduce_all(const element *input, const segments &s, @{result.c} *output,
                                           void *scratch@{given.parameter})
{
    __shared__ stage staged[WARPS];
    __shared__ bool last;
    deal d = {0, 0, 0, false};
    if (s.count > 0) d = deal_of(s, scratch);
    const u32 thread = threadIdx.x, warp = thread / 32;
    const u64 chunks = (d.total + CHUNK - 1) / CHUNK;
    u32 span = @{node_chunks};
    while (chunks >> span >= NODES) span++;
    const u32 nodes = (u32)(chunks > 0 ? (chunks + (1ull << span) - 1) >> span : 1), blocks = (nodes + WARPS - 1) / WARPS;
    const u32 there = blocks < gridDim.x ? blocks : gridDim.x;
    if (blockIdx.x >= there) return;
    for (u32 node = blockIdx.x * WARPS + warp; node < nodes; node += there * WARPS) {
        const u64 first = (u64)node << span, end = first + (1ull << span);
        const accumulator a = take_node(first, end < chunks ? end : chunks, d.total, staged[warp], s, d, input, scratch@{given.argument});
        if (thread % 32 == 0) *slot_of(scratch, node) = a;
    }
    __threadfence();
    __syncthreads();
    if (thread == 0) {
        last = atomicInc((u32 *)scratch, there - 1) == there - 1;
        __threadfence();
    }
    __syncthreads();
    if (!last) return;
    // A thread takes an aligned run of nodes. Neighbours are combined first, within a warp and above it.
    u32 each = 1;
    while (each * BLOCK < nodes) each *= 2;
    tree its;
    its.taken = 0;
    for (u32 node = thread * each; node < nodes && node < (thread + 1) * each; node++)
        its.add(@{acc.reload("slot_of(scratch, node)")}@{given.argument});
    accumulator a = its.all(@{(given.argument:gsub("^, ", ""))});
//@ include("lib/fold_lanes.cu", { lanes = 32, neighbours = true })
    __shared__ accumulator warp_value[WARPS];
    if (thread % 32 == 0) warp_value[warp] = a;
    __syncthreads();
    if (warp > 0) return;
    a = @{op.identity};
    if (thread < WARPS) a = @{acc.copy("warp_value[thread]")};
//@ include("lib/fold_lanes.cu", { lanes = warps, neighbours = true })
    if (thread == 0) finish(output, 0, a, d.total@{given.argument});
}

//@ include "lib/segments/entry.cu"
