//@ -- How threads bring accumulators into the cells of keys.
//@ takes op, given, acc, cell, narrow, split, hots, of_rows, columns, number, agrees, sliced, sorted, shared, private, warps
//@ local counts_skipped = not (given.masked or given.pairs)
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
    @{number} keys;
    u64 skipped;
//@ if columns > 0 and not sorted then
    u64 part, parts;  // of the slice's blocks
    u64 column, width;  // the slice's first, and the row's
//@ end
//@ if agrees and not private then
    @{number} run;  // the key of the warp's last loads that agreed
    u32 run_elements;
    accumulator run_sum;  // of this thread's elements of these
//@ end
//@ if narrow then
    u32 *front;
    accumulator *back;  // the table of all
//@     for i = 0, narrow.backs - 1 do
    float scale@{i};
//@     end
//@ end
//@ if hots > 0 then
    @{number} hot[HOTS];
    u32 own_elements[HOTS];  // of these, and what they are combined
    accumulator own[HOTS];
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
//@ if columns > 0 and not sorted then
// A block's cells of a key, side by side, are its columns in the order of the loads' first elements, the second ones
// behind these, and so on: lanes side by side add to different banks.
__device__ __forceinline__ u32 cell_of_column(u32 column)
{
    return column % VEC * ROW_LOADS + column / VEC;
}

// The number that a block's cell has among all cells, and its column in a row.
__device__ __forceinline__ u64 column_of_cell(const target &to, u32 cell)
{
    const u32 at = cell % COLUMNS;
    return to.column + at % ROW_LOADS * VEC + at / ROW_LOADS;
}

//@ end
//@ -- The cell of a key in the table of all, where a block has narrow ones.
//@ local function back_of(key)
//@     if columns == 0 then return ("to.back[%s]"):format(key) end
//@     return ("to.back[%s / COLUMNS * to.width + column_of_cell(to, %s)]"):format(key, key)
//@ end
// Brings a, of so many elements, into the cell of a key that there is.
__device__ __forceinline__ void add_to_key(const target &to, @{number} key, const accumulator &a,
                                           u32 elements@{given.parameter})
{
//@ if sliced then
    accumulator *cell = to.cells + @{private and "key * BLOCK + threadIdx.x" or "key"};
    *cell = combine(@{acc.copy("(*cell)")}, a@{given.argument});
//@ elseif narrow then
    u32 *cell = to.front + key * COPIES + copy_of();
    const u32 APART = COPIES * to.keys;
//@     for _, part in ipairs(narrow.parts) do
//@         local at = ("cell + %d * APART"):format(part.word)
//@         if part.kind == "float" then
    add_float(@{at}, APART, (double *)&@{back_of("key")}@{part.path}, a@{part.path}, to.scale@{part.back}, elements);
//@         elseif part.kind == "count" then
    atomicAdd(@{at}, (u32)a@{part.path});
//@         else
    add_halves(@{at}, APART, (u64)a@{part.path});
//@         end
//@     end
//@ elseif shared then
    add_to<true>(to.cells + key * COPIES + copy_of(), a@{given.argument});
//@ else
    add_to<false>(to.cells + key, a@{given.argument});
//@ end
}

// Whether a is still to be brought into the cell of its key.
__device__ __forceinline__ bool is_left(target &to, @{number} key, const accumulator &a, u32 elements@{given.parameter})
{
    if (key >= to.keys) {
//@ if not of_rows and counts_skipped then
        to.skipped += elements;
//@ end
        return false;
    }
//@ if hots > 0 then
    bool is_own = false;
#pragma unroll
    for (u32 h = 0; h < HOTS; h++) is_own = is_own || key == to.hot[h];
    if (is_own) {
#pragma unroll
        for (u32 h = 0; h < HOTS; h++) {
            if (key != to.hot[h]) continue;
            to.own[h] = combine(to.own[h], a@{given.argument});
            to.own_elements[h] += elements;
        }
        return false;
    }
//@ end
    return true;
}

//@ if narrow then
// Brings those elements of a load that are left into the cells of their keys. A step is taken for all of them before
// the next one, and without branches, so that their atomics do not wait for each other: those without a cell add 0 to
// a word that no key has.
template <u32 N>
__device__ __forceinline__ void add_to_keys(const target &to, const u32 (&key)[N], const accumulator (&a)[N],
                                            const bool (&left)[N]@{given.parameter})
{
    const u32 APART = COPIES * to.keys;
//@     for _, part in ipairs(narrow.parts) do
//@         local cell = ("to.front + %d * APART + key[j] * COPIES + copy_of()"):format(part.word)
//@         if part.kind == "float" then
    {
        u32 *cell[N];
        int units[N];
        i64 sum[N];
        bool fits[N], none_rests = true;
#pragma unroll
        for (u32 j = 0; j < N; j++) {
            const float x = (float)a[j]@{part.path} * to.scale@{part.back};
            fits[j] = left[j] && fabsf(x) >= 0x1p17f && fabsf(x) <= 0x1p30f;
            none_rests = none_rests && (fits[j] || !left[j]);
            cell[j] = fits[j] ? @{cell} : to.front + @{narrow.words} * APART + threadIdx.x % SPARE;
            units[j] = fits[j] ? __float2int_rn(x) : 0;
        }
#pragma unroll
        for (u32 j = 0; j < N; j++) sum[j] = (i64)atomicAdd(cell[j], (u32)units[j]) + units[j];
#pragma unroll
        for (u32 j = 0; j < N; j++) {
            const int carry = (int)(sum[j] >> 32);
//@             if split then
            if (carry != 0) atomicAdd((double *)&@{back_of("key[j]")}@{part.path}, (double)carry * 0x1p32 * unit_of(to.scale@{part.back}));
//@             else
            if (carry != 0) atomicAdd(cell[j] + APART, (u32)carry);
//@             end
        }
        if (!none_rests) {
#pragma unroll
            for (u32 j = 0; j < N; j++)
                if (left[j] && !fits[j] && a[j]@{part.path} != 0)
                    atomicAdd((double *)&@{back_of("key[j]")}@{part.path}, (double)a[j]@{part.path});
        }
    }
//@         else
#pragma unroll
    for (u32 j = 0; j < N; j++)
        if (left[j]) @{part.kind == "count" and ("atomicAdd(%s, (u32)a[j]%s)"):format(cell, part.path) or ("add_halves(%s, APART, (u64)a[j]%s)"):format(cell, part.path)};
//@         end
//@     end
}

//@ end
__device__ __forceinline__ void add(target &to, @{number} key, const accumulator &a, u32 elements@{given.parameter})
{
    if (is_left(to, key, a, elements@{given.argument})) add_to_key(to, key, a, elements@{given.argument});
}

//@ if agrees and not private then
// Loads of a warp that agree on a key, one after the other, are a run: each thread combines its elements of it, and
// the warp adds them once. All lanes call these.
__device__ __forceinline__ void end_run(target &to@{given.parameter})
{
    if (to.run < to.keys) {
        accumulator a = to.run_sum;
//@     include("lib/fold_lanes.cu", { lanes = 32 })
        if (threadIdx.x % 32 == 0) add(to, to.run, a, to.run_elements@{given.argument});
//@     if not counts_skipped then
    }
//@     else
    } else if (threadIdx.x % 32 == 0) {
        to.skipped += to.run_elements;
    }
//@     end
}

__device__ __forceinline__ void begin_run(target &to, @{number} key@{given.parameter})
{
    end_run(to@{given.argument});
//@     if warps then
    __syncwarp();
//@     end
    to.run = key;
    to.run_elements = 0;
    to.run_sum = @{op.identity};
}

//@ end
//@ if warps then
// The same of all lanes of a warp, whose cells are in one table: of those with one key the lower lanes come first.
__device__ __forceinline__ void add_in_turn(target &to, @{number} key, const accumulator &a, bool there@{given.parameter})
{
    const u32 lane = threadIdx.x % 32;
    // Lanes without an element have keys that no other has.
    const u32 same = __match_any_sync(0xffffffff, there ? key : 0xffffffff - lane);
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
