//@ -- How threads bring accumulators into the cells of keys.
//@ takes op, given, acc, cell, narrow, split, hots, of_rows, sliced, shared, private, warps
//@ if not sliced then
// Whether it changes nothing.
__device__ __forceinline__ bool is_neutral(const accumulator &a)
{
//@     if cell.parts then
//@         local all = {}
//@         for i, part in ipairs(cell.parts) do all[i] = ("a%s == 0"):format(part[1]) end
    return @{table.concat(all, " && ")};
//@     else
    const accumulator none = @{op.identity};
    return @{cell.word[2]:format("a")} == @{cell.word[2]:format("none")};
//@     end
}

// Brings a into a cell that others may be adding to.
template <bool SHARED>
__device__ __forceinline__ void add_to(accumulator *cell, accumulator a@{given.parameter})
{
//@     if cell.parts then
//@         for _, part in ipairs(cell.parts) do
    atomicAdd((@{part[2]} *)&(*cell)@{part[1]}, (@{part[2]})a@{part[1]});
//@         end
//@     else
//@         local word, bits, back = table.unpack(cell.word)
//@         local of = word == "u32" and "r" or "l"
    @{word} held;
    if (SHARED)
        asm volatile("ld.relaxed.gpu.shared.@{word} %0, [%1];" : "=@{of}"(held) : "r"((u32)__cvta_generic_to_shared(cell)) : "memory");
    else
        asm volatile("ld.relaxed.gpu.@{word} %0, [%1];" : "=@{of}"(held) : "l"(cell) : "memory");
    for (;;) {
        const accumulator both = combine(@{back:format("held")}, a@{given.argument});
        const @{word} wanted = @{bits:format("both")};
        if (wanted == held) return;
        const @{word} found = atomicCAS((@{word} *)cell, held, wanted);
        if (found == held) return;
        held = found;
    }
//@     end
}

//@ end
//@ if narrow then
//@     include "lib/keyed/narrow.cu"
//@ end
// What a thread brings its elements into, and how many keys it skipped.
struct target {
    accumulator *cells;
    u64 keys, skipped;
//@ if narrow then
    u32 *front;
    accumulator *back;  // the table of all
//@     for i = 0, narrow.backs - 1 do
    float scale@{i};
//@     end
//@ end
//@ if hots > 0 then
    u64 hot[HOTS];
    accumulator own[HOTS];  // of these
//@ end
};

//@ if shared then
// The copy of a cell that this thread adds to: of a warp's lanes as many different ones as there are, and of the first
// lanes of warps, too.
__device__ __forceinline__ u32 copy_of()
{
    return (threadIdx.x + threadIdx.x / 32) % COPIES;
}

//@ end
// Brings a into the cell of a key that there is.
__device__ __forceinline__ void add_to_key(const target &to, u64 key, const accumulator &a@{given.parameter})
{
//@ if sliced then
    accumulator *cell = to.cells + @{private and "(u32)key * BLOCK + threadIdx.x" or "(u32)key"};
    *cell = combine(@{acc.copy("(*cell)")}, a@{given.argument});
//@ elseif narrow then
    u32 *cell = to.front + (u32)key * COPIES + copy_of();
    const u32 APART = COPIES * (u32)to.keys;
//@     for _, part in ipairs(narrow.parts) do
//@         local at = ("cell + %d * APART"):format(part.word)
//@         if part.kind == "float" then
    add_float(@{at}, APART, (double *)&to.back[key]@{part.path}, a@{part.path}, to.scale@{part.back});
//@         elseif part.kind == "count" then
    atomicAdd(@{at}, (u32)a@{part.path});
//@         else
    add_halves(@{at}, APART, (u64)a@{part.path});
//@         end
//@     end
//@ elseif shared then
    add_to<true>(to.cells + (u32)key * COPIES + copy_of(), a@{given.argument});
//@ else
    add_to<false>(to.cells + key, a@{given.argument});
//@ end
}

// Whether a is still to be brought into the cell of its key.
__device__ __forceinline__ bool is_left(target &to, u64 key, const accumulator &a, u32 elements@{given.parameter})
{
    if (key >= to.keys) {
//@ if not of_rows then
        to.skipped += elements;
//@ end
        return false;
    }
    bool left = true;
//@ if hots > 0 then
#pragma unroll
    for (u32 h = 0; h < HOTS; h++) {
        const bool is_own = key == to.hot[h];
        const accumulator none = @{op.identity};
        to.own[h] = combine(to.own[h], is_own ? a : none@{given.argument});
        left = left && !is_own;
    }
//@ end
    return left;
}

__device__ __forceinline__ void add(target &to, u64 key, const accumulator &a, u32 elements@{given.parameter})
{
    if (is_left(to, key, a, elements@{given.argument})) add_to_key(to, key, a@{given.argument});
}

//@ if warps then
// The same of all lanes of a warp, whose cells are in one table: of those with one key the lower lanes come first.
__device__ __forceinline__ void add_in_turn(target &to, u64 key, const accumulator &a, bool there@{given.parameter})
{
    const u32 lane = threadIdx.x % 32;
    // Lanes without an element have keys that no other has.
    const u32 same = __match_any_sync(0xffffffff, there ? key : ~0ull - lane);
    const u32 turn = __popc(same & ((1u << lane) - 1));
    bool waits = there;
    for (u32 now = 0; __any_sync(0xffffffff, waits); now++) {
        if (waits && turn == now) {
            add(to, key, a, 1@{given.argument});
            waits = false;
        }
        __syncwarp();
    }
}

//@ end
