//@ -- Chunks that a group of several warps shares: thread l of LANES takes the loads l, l + LANES,
//@ -- ... of a chunk's 256. A thread has few loads then, all of them in flight at once, and few
//@ -- instructions.
//@ takes op, acc, given, result, lanes, log2, own
constexpr u32 OWN = 256 / LANES;  // loads of a thread in a chunk

// A thread's share of the chunk at that address, of which there is what lies before `end`.
__device__ __forceinline__ accumulator take_share(u64 chunk, u64 end, bool aligned@{given.parameter})
{
    const u64 first = chunk + threadIdx.x % LANES * LOAD_BYTES;
    vector v[OWN];
    u64 at[OWN];
    // With the bits of their numbers reversed, so that neighbours are those that halving combines.
#pragma unroll
    for (u32 i = 0; i < OWN; i++)
        at[i] = first + @{own > 1 and ("(__brev(i) >> %d)"):format(32 - log2(own)) or "i"} * LANES * LOAD_BYTES;
//@ for _, kind in ipairs { "load", "gather" } do
    @{kind == "load" and "if (are_aligned(aligned)) {" or "} else {"}
#pragma unroll
        for (u32 i = 0; i < OWN; i++)
            if (at[i] + LOAD_BYTES <= end) v[i] = @{kind}_vector(at[i]@{given.argument});
//@ end
    }
    accumulator a[OWN], edge = @{op.identity};
    // The vector that the end cuts is asked for by the thread that it belongs to.
    const u64 behind = (end - chunk) % LOAD_BYTES;
    const bool is_cut = behind > 0 && end > first && end - chunk < CHUNK_BYTES;
    if (is_cut && (end - first) % (LANES * LOAD_BYTES) == behind)
        edge = take_edge(end - behind, end@{given.argument});
#pragma unroll
    for (u32 i = 0; i < OWN; i++) {
        a[i] = fold_vector(v[i]@{given.argument});
        if (at[i] + LOAD_BYTES > end) a[i] = at[i] < end ? edge : @{op.identity};
    }
//@ include("lib/fold_pairs.cu", { array = "a", many = own })
    return a[0];
}

// The first thread of each group returns the combination of its threads' values, the upper half
// combined into the lower. All threads of the block call it, with turn = 0, 1, 0, 1, ..., as
// reduce_groups().
__device__ __forceinline__ accumulator reduce_group(accumulator a, u32 turn@{given.parameter})
{
    __shared__ accumulator thread_value[2][BLOCK];
    thread_value[turn][threadIdx.x] = a;
    __syncthreads();
    if (threadIdx.x % LANES < 32) {
        accumulator x[LANES / 32];
#pragma unroll
        for (u32 i = 0; i < LANES / 32; i++) x[i] = @{acc.copy("thread_value[turn][threadIdx.x + 32 * i]")};
//@ include("lib/fold_halves.cu", { array = "x", many = lanes // 32 })
        a = reduce_lanes(x[0]@{given.argument});
    }
    return a;
}

// Goes through the block's nodes. All groups take as many chunks of each, those too that are missing.
__device__ __forceinline__ void take_nodes(const rows &all, const plan &p, bool aligned, u32 &turn,
                                           @{result.c} *output, void *scratch@{given.parameter})
{
    const u32 each = (1u << p.span) / GROUPS;
    u64 row = first_row(p);
    u32 node = first_node(p), set = 0;
    for (bool is_there = has_node(p); is_there; is_there = row < all.number && node < p.nodes) {
        const u64 begin = (u64)(all.input + row * all.pitch), end = begin + all.count * sizeof(element);
        const u64 at = begin + ((u64)node << p.span) * CHUNK_BYTES;
        const u64 own = at + (u64)(threadIdx.x / LANES * each) * CHUNK_BYTES;
        // Lane i of `waiting` has the value of 2^i chunks that waits for its neighbour.
        accumulator waiting = @{op.identity};
        u32 taken = 0;
        do {
            const accumulator a = take_share(own + taken * CHUNK_BYTES, end, aligned@{given.argument});
            const accumulator value = reduce_group(a, set@{given.argument});
            waiting = each > 1 ? carry(waiting, value, taken@{given.argument}) : value;
            set ^= 1;
            taken++;
        } while (taken < each && at + taken * CHUNK_BYTES < end);
        end_node(settle(waiting, taken@{given.argument}), row, node, turn, p, all.count, output, scratch@{given.argument});
        step_on(row, node, p);
    }
}

