//@ local keyed, loads = require "lib/keyed", require "lib/load"
//@ local op, given, acc, indexed, layout, parts = keyed.of(_ENV, vec)
//@ local cell, load = keyed.cell(op), "no_allocate"
//@ local private, warps, agrees = tables == "private", tables == "warps", agree == "yes"
//@ local sliced, shared = private or warps, tables == "shared"
//@ local split = cells == "split"
//@ local sorted = tables == "sorted"
//@ -- What is of several words takes NVRTC long to combine: in one copy of the steps, where the elements of a block are
//@ -- combined already.
//@ local looped = private and acc.bytes > 8 and not (cell.parts or indexed)
//@ local narrow = cells ~= "wide" and keyed.narrow(_ENV, cell, split)
//@ local hots = hot
//@ -- What lies beside an element: that of a second input, or of the mask.
//@ local beside, other = given.inputs > 1, given.other_layout(1)
//@ local function and_y(text) return beside and ", " .. text or "" end
//@ local there_of = given.masked and "y[j]" or given.pairs and "y[j].there" or nil
//@ local single, single_key = loads.layout(dtype, 1), loads.layout(key, 1)
//@ -- The keys of a load of elements may take several loads.
//@ local key_vec = math.min(vec, 16 // key.bytes)
//@ local key_layout = loads.layout(key, key_vec)
//@ -- The table of a block has fewer than 2^32 cells.
//@ local number = tables == "global" and "u64" or "u32"
//@ local function key_number(word, k)
//@     local wide = ("(u64)%s%s"):format(key.kind == "signed" and "(i64)" or "", key.unpack(word, k))
//@     if tables ~= "global" and key.bytes == 8 then return ("below_2_to_32(%s)"):format(wide) end
//@     return ("(%s)(%s)"):format(number, wide)
//@ end
//@ -- The part of a launch's blocks that this one has, of which all take other elements.
//@ local part, parts_of = "blockIdx.x", "gridDim.x"
//@ if columns > 0 and not sorted then part, parts_of = "to.part", "to.parts" end
//@ include("lib/title.cu", { by = "keyed", of = "keys", many = true })

//@ include "lib/head.cu"
//@ include("lib/constants.cu", { names = "WARPS, VEC, UNROLL, LANES = VEC, LOAD_BYTES", unroll = unroll })
constexpr u64 KEY_LOAD_BYTES = @{key_vec * key.bytes}, TILE = (u64)BLOCK * UNROLL;
constexpr u32 COPIES = @{copies};  // of a block's cells
//@ if columns > 0 then
constexpr u32 COLUMNS = @{columns};  // of a row that a block, or a thread's row of threads, takes
constexpr u32 ROW_LOADS = COLUMNS / VEC;
//@ end
//@ if hots > 0 then
constexpr u32 HOTS = @{hots};  // keys that a thread adds up by itself
//@ end
typedef @{key.c} key_element;

//@ include("lib/asserts.cu", { accumulator = "== " .. acc.bytes, that = { "LOAD_BYTES <= 16 && KEY_LOAD_BYTES <= 16 && BLOCK % 32 == 0", "sizeof(key_element) == " .. key.bytes } })

// As model/launch.h has it.
struct elements {
    u64 count, keys;  // of all columns, where elements come in rows
    u64 width;
    const key_element *key;
    u64 *skipped;  // where keys that are out of range are counted, or 0
    u64 slices;  // tables in global memory
};

static_assert(sizeof(elements) == 48, "");

//@ include "lib/vector.cu"
//@ include "lib/combine.cu"
//@ include "lib/take.cu"
//@ if number == "u32" and key.bytes == 8 then
__device__ __forceinline__ u32 below_2_to_32(u64 key)
{
    return key >> 32 ? 0xffffffff : (u32)key;
}

//@ end
__device__ __forceinline__ accumulator *table_in(void *scratch)
{
    return (accumulator *)((char *)scratch + @{scratch.slots_offset});
}

//@ include "lib/keyed/cells.cu"
__device__ __forceinline__ accumulator of_element(value x@{and_y(given.other_value .. " y")}, u64 index@{given.parameter})
{
//@ if indexed and given.masked then
    const accumulator none = @{op.identity};
    return y ? candidate(x, index) : none;
//@ elseif indexed then
    return candidate(x, index);
//@ else
    return map(x@{and_y("y")}@{given.argument});
//@ end
}

//@ local at = of_rows and "" or " + j"
// N elements of a thread, from that index on, if they are there, and their keys. All lanes of a warp call it.
template <u32 N>
__device__ __forceinline__ void take_elements(target &to, const value (&x)[N]@{and_y("const " .. given.other_value .. " (&y)[N]")}, const @{number} (&key)[N], u64 index,
                                              bool there@{given.parameter})
{
//@ if there_of and not of_rows then
    // Keys of absent elements are not counted, so that the others are counted here alone.
#pragma unroll
    for (u32 j = 0; j < N; j++) to.skipped += there && @{there_of} && key[j] >= to.keys;
//@ end
//@ if agrees and not private then
    bool same = true;
#pragma unroll
    for (u32 j = 1; j < N; j++) same = same && key[j] == key[0];
    const @{number} first = __shfl_sync(0xffffffff, key[0], 0);
    const bool all = __all_sync(0xffffffff, !there || (same && key[0] == first));
    if (all) {
        if (first != to.run) begin_run(to, first@{given.argument});
        to.run_elements += N * __popc(__ballot_sync(0xffffffff, there));
    }
    if (@{warps and "all" or "all || (there && same)"}) {
        accumulator a = @{op.identity};
        if (there) {
#pragma unroll
            for (u32 j = 0; j < N; j++) a = combine(a, of_element(x[j]@{and_y("y[j]")}, index@{at}@{given.argument})@{given.argument});
        }
        if (all)
            to.run_sum = combine(to.run_sum, a@{given.argument});
        else
            add(to, key[0], a, N@{given.argument});
        return;
    }
//@ end
//@ if warps then
#pragma unroll
    for (u32 j = 0; j < N; j++)
        add_in_turn(to, key[j], of_element(x[j]@{and_y("y[j]")}, index@{at}@{given.argument}), there@{there_of and " && " .. there_of or ""}@{given.argument});
//@ else
    if (!there) return;
//@     if narrow then
    constexpr u32 AT_ONCE = N < 4 ? N : 4;  // for which registers suffice
#pragma unroll
    for (u32 first = 0; first < N; first += AT_ONCE) {
        accumulator a[AT_ONCE];
        u32 of[AT_ONCE];
        bool left[AT_ONCE];
#pragma unroll
        for (u32 i = 0; i < AT_ONCE; i++) {
            const u32 j = first + i;
            a[i] = of_element(x[j]@{and_y("y[j]")}, index@{at}@{given.argument});
            of[i] = key[j];
            left[i] = @{there_of and there_of .. " && " or ""}is_left(to, key[j], a[i], 1@{given.argument});
        }
        add_to_keys(to, of, a, left@{given.argument});
    }
//@     else
#pragma unroll
    for (u32 j = 0; j < N; j++) @{there_of and "if (" .. there_of .. ") " or ""}add(to, key[j], of_element(x[j]@{and_y("y[j]")}, index@{at}@{given.argument}), 1@{given.argument});
//@     end
//@ end
}

__device__ __forceinline__ void load_one(const element *x_at, const key_element *key_at, value (&x)[1]@{and_y(given.other_value .. " (&y)[1]")}, @{number} (&key)[1]@{beside and given.parameter or ""})
{
    @{single.word.c} word[1];
    @{single_key.word.c} key_word[1];
    @{loads.statement(single, load, "word", "x_at")}
    @{loads.statement(single_key, load, "key_word", "key_at")}
    x[0] = @{dtype.unpack("word[0]", 0)};
    key[0] = @{key_number("key_word[0]", 0)};
//@ if beside then
    @{other.word.c} other_word[1];
    @{given.load_other(1, load, "other_word", given.other_at("(u64)x_at"), given.mask_at("(u64)x_at"))}
    y[0] = @{given.other.unpack("other_word[0]", 0)};
//@ end
}

//@ if sorted then
//@     include "lib/keyed/digits.cu"
//@     include "lib/keyed/sorted.cu"
//@ else
//@ include "lib/keyed/loads.cu"
//@ end
//@ if vec > 1 and not sorted then
//@     local there = columns > 0 and "n < vectors && to.column + n % ROW_LOADS * VEC < s.width" or "n < vectors"
//@     local from = of_rows and (columns > 0 and "input, n, to.column, s" or "input, n * VEC, s")
//@     from = from or "input + head + n * VEC, s.key + head + n * VEC"
__device__ __forceinline__ void load_tile(loaded (&v)[UNROLL], const target &to, const element *input,
                                          const elements &s, u64 head, u64 vectors, u64 tile@{given.parameter})
{
#pragma unroll
    for (u32 i = 0; i < UNROLL; i++) {
        const u64 n = tile + i * BLOCK + threadIdx.x;
        if (@{there}) v[i] = load_keyed(@{from}@{given.argument});
    }
}

// Those from the first aligned load on: blocks advance by the grid's width. All loads of a tile come before the first
// use@{ahead == "yes" and ", and those of the next tile, too" or ""}.
__device__ __forceinline__ void take_vectors(target &to, const element *input, const elements &s, u64 head,
                                             u64 vectors@{given.parameter})
{
//@     if of_rows then
    const u64 keys = s.keys / s.width;
//@     end
    const u64 step = @{parts_of} * TILE;
    loaded v[UNROLL] = {};
//@     if ahead == "yes" then
    load_tile(v, to, input, s, head, vectors, @{part} * TILE@{given.argument});
//@     end
    for (u64 tile = @{part} * TILE; tile < vectors; tile += step) {
//@     if ahead == "yes" then
        loaded next[UNROLL] = {};
        load_tile(next, to, input, s, head, vectors, tile + step@{given.argument});
//@     else
        load_tile(v, to, input, s, head, vectors, tile@{given.argument});
//@     end
#pragma unroll
        for (u32 i = 0; i < UNROLL; i++) {
            const u64 n = tile + i * BLOCK + threadIdx.x;
            take_loaded(to, v[i], @{of_rows and "keys, s" or "head + n * VEC"}, @{there}@{given.argument});
//@     if ahead == "yes" then
            v[i] = next[i];
//@     end
        }
    }
}

//@ end
//@ if not sorted then
// Those before `head` and from `tail` on, one by one.
__device__ __forceinline__ void take_singles(target &to, const element *input, const elements &s, u64 head,
                                             u64 tail@{given.parameter})
{
//@ if columns > 0 then
    const u64 keys = s.keys / s.width, singles = s.count * COLUMNS - tail;
//@ elseif of_rows then
    const u64 keys = s.keys / s.width, singles = s.count * s.width - tail;
//@ else
    const u64 singles = head + s.count - tail;
//@ end
    for (u64 first = @{part} * (u64)BLOCK; first < singles; first += @{parts_of} * (u64)BLOCK) {
        const u64 n = first + threadIdx.x, index = n < head ? n : n - head + tail;
        value x[1] = {};
//@ if beside then
        @{given.other_value} y[1] = {};
//@ end
        @{number} key[1] = {};
//@ if of_rows then
//@     if columns > 0 then
        const place at{index / COLUMNS, index % COLUMNS};
        const bool there = n < singles && to.column + at.column < s.width;
//@     else
        const place at = place_of(index, s);
        const bool there = n < singles;
//@     end
        if (there) {
            load_one(input + at.row * s.width@{columns > 0 and " + to.column" or ""} + at.column, s.key + at.row, x@{and_y("y")}, key@{beside and given.argument or ""});
            key[0] = cell_of(to, key[0], keys, at, s);
        }
        take_elements(to, x@{and_y("y")}, key, at.row, there@{given.argument});
//@ else
        if (n < singles) load_one(input + index, s.key + index, x@{and_y("y")}, key@{beside and given.argument or ""});
        take_elements(to, x@{and_y("y")}, key, index, n < singles@{given.argument});
//@ end
    }
}

//@ end
__device__ __forceinline__ void count_skipped(const elements &s, u64 skipped)
{
    if (!s.skipped) return;
#pragma unroll
    for (u32 n = 16; n > 0; n /= 2) skipped += __shfl_down_sync(0xffffffff, skipped, n);
    if (threadIdx.x % 32 == 0 && skipped > 0) atomicAdd(s.skipped, skipped);
}

//@ include "lib/keyed/tables.cu"
//@ if narrow and narrow.backs > 0 then
__device__ __forceinline__ void find_scales(target &to, const element *input, u64 count@{given.parameter})
{
    const u64 at = count / BLOCK * threadIdx.x;
    u32 *const greatest = to.front + @{narrow.words} * COPIES * to.keys + @{narrow.spare};
    if (at < count) {
        @{single.word.c} word[1];
        @{loads.statement(single, "plain", "word", "input + at")}
        const value x = @{dtype.unpack("word[0]", 0)};
//@ if beside then
        @{other.word.c} other_word[1];
        @{given.load_other(1, "plain", "other_word", given.other_at("(u64)(input + at)"), given.mask_at("(u64)(input + at)"))}
//@ end
        const accumulator a = of_element(x@{and_y(given.other.unpack("other_word[0]", 0))}, 0@{given.argument});
//@     for _, part in ipairs(narrow.parts) do
//@         if part.back then
        const float size@{part.back} = fabsf((float)a@{part.path});
        if (size@{part.back} <= 0x1p126f) atomicMax(greatest + @{part.back}, __float_as_uint(size@{part.back}));
//@         end
//@     end
    }
    __syncthreads();
//@     for i = 0, narrow.backs - 1 do
    to.scale@{i} = scale_of(greatest[@{i}]);
//@     end
}

//@ end
//@ if hots > 0 then
//@ include "lib/keyed/hot.cu"
//@ end
//@ if not sliced then
extern "C" __global__ void __launch_bounds__(256)
redtune_preset_keys(elements s, void *scratch)
{
//@ if arch >= 90 then
    asm volatile("griddepcontrol.launch_dependents;");
//@ end
    accumulator *table = table_in(scratch);
    for (u64 k = blockIdx.x * 256ull + threadIdx.x; k < s.keys; k += gridDim.x * 256ull) table[k] = @{op.identity};
}

//@ end
//@ include("lib/entry.cu", { extents = sorted and "elements s, reordering r" or "elements s" })
{
//@ for _, line in ipairs(given.begin("input", "s.count", "output")) do
    @{line}
//@ end
//@ if arch >= 90 then
    asm volatile("griddepcontrol.launch_dependents;");
//@ end
    accumulator *table = table_in(scratch);
    target to = {};
    to.cells = table;
    to.keys = @{sorted and "(u32)(s.keys / s.width)" or columns > 0 and "(u32)(s.keys / s.width) * COLUMNS" or "(" .. number .. ")s.keys"};
//@ if agrees and not private then
    to.run = to.keys;  // there is none yet
    to.run_sum = @{op.identity};
//@ end
//@ if hots > 0 then
    const u64 sample = sample_key(s);
//@ end
//@ if columns > 0 and not sorted then
    // Blocks take slices of columns in turn, those of a slice other rows each; few blocks take several slices.
    const u64 slices = (s.width + COLUMNS - 1) / COLUMNS;
    to.part = blockIdx.x / slices;
    for (u64 slice = blockIdx.x % slices; slice < slices; slice += gridDim.x) {
    to.parts = gridDim.x > slices ? (gridDim.x - slice + slices - 1) / slices : 1;
    to.column = slice * COLUMNS;
    to.width = s.width;
    __syncthreads();
//@ end
//@ if sliced or shared then
    extern __shared__ uint4 memory[];
//@     if not narrow then
    accumulator *cells = (accumulator *)memory;
//@     end
//@     if private then
    for (u32 k = 0; k < to.keys; k++) cells[k * BLOCK + threadIdx.x] = @{op.identity};
    to.cells = cells;
//@     elseif warps then
    to.cells = cells + threadIdx.x / 32 * to.keys;
    for (u32 k = threadIdx.x % 32; k < to.keys; k += 32) to.cells[k] = @{op.identity};
    __syncwarp();
//@     elseif narrow then
    to.back = table;
    to.front = (u32 *)memory;
//@         local words, floats = narrow.words .. " * COPIES * to.keys", {}
//@         for _, part in ipairs(narrow.parts) do
//@             if part.kind == "float" then floats[#floats + 1] = ("i - %d * COPIES * to.keys < COPIES * to.keys"):format(part.word) end
//@         end
    for (u32 i = threadIdx.x; i < @{words} + @{narrow.spare + narrow.backs}; i += BLOCK)
        to.front[i] = @{#floats > 0 and table.concat(floats, " || ") .. " ? MIDDLE : 0" or "0"};
//@     else
    for (u32 i = threadIdx.x; i < COPIES * to.keys; i += BLOCK) cells[i] = @{op.identity};
    to.cells = cells;
//@     end
//@ end
//@ if shared then
    __syncthreads();
//@ end
//@ if narrow and narrow.backs > 0 then
    find_scales(to, input, s.count@{of_rows and " * s.width" or ""}@{given.argument});
//@ end
//@ if hots > 0 then
    find_hot_keys(to, sample);
//@ end
//@ if arch >= 90 then
    // From here on what the launch before this one leaves is added to.
    asm volatile("griddepcontrol.wait;" : : : "memory");
//@ end
//@ if sorted then
    const u64 slices = (s.width + COLUMNS - 1) / COLUMNS, pieces = (s.count + ROWS - 1) / ROWS * slices;
    for (u64 i = (blockIdx.x * (u64)BLOCK + threadIdx.x) / LANES_OF_ROW; i < pieces;
         i += gridDim.x * (u64)BLOCK / LANES_OF_ROW)
        take_sorted(to, input, s, r, i / slices, i % slices@{given.argument});
//@ elseif of_rows and vec > 1 then
    // Loads that lie within rows; else all are taken one by one.
    const bool within = s.width % VEC == 0 && (u64)input % LOAD_BYTES == 0;
    const u64 vectors = within ? s.count * @{columns > 0 and "ROW_LOADS" or "s.width / VEC"} : 0;
    take_vectors(to, input, s, 0, vectors@{given.argument});
    take_singles(to, input, s, 0, vectors * VEC@{given.argument});
//@ elseif vec > 1 then
    // Without a place from which loads of both are aligned all are taken one by one.
    u64 head = (LOAD_BYTES - (u64)input % LOAD_BYTES) % LOAD_BYTES / sizeof(element);
    if (head > s.count || (u64)(s.key + head) % KEY_LOAD_BYTES > 0) head = s.count;
    const u64 vectors = (s.count - head) / VEC;
    take_vectors(to, input, s, head, vectors@{given.argument});
    take_singles(to, input, s, head, head + vectors * VEC@{given.argument});
//@ else
    take_singles(to, input, s, 0, 0@{given.argument});
//@ end
//@ if agrees and not private then
    end_run(to@{given.argument});
//@ end
//@ if hots > 0 then
    add_hot_keys(to@{given.argument});
//@ end
//@ if sliced then
    leave_table(table, cells, to.keys@{given.argument});
//@ elseif shared then
    add_tables(table, to@{given.argument});
//@ end
//@ if columns > 0 and not sorted then
    }
//@ end
    count_skipped(s, to.skipped);
}

//@ include("lib/entry.cu", { extents = "elements s", entry = "redtune_finish_keys", block = 256 })
{
//@ for _, line in ipairs(given.begin("input", "s.count", "output")) do
    @{line}
//@ end
//@ if arch >= 90 then
    asm volatile("griddepcontrol.wait;" : : : "memory");
//@ end
    const accumulator *table = table_in(scratch);
//@ if sliced then
    // A warp combines the blocks' cells of a key.
    for (u64 k = blockIdx.x * 8ull + threadIdx.x / 32; k < s.keys; k += gridDim.x * 8ull) {
        accumulator a = @{op.identity};
        for (u64 i = threadIdx.x % 32; i < s.slices; i += 32)
            a = combine(a, @{acc.copy("table[i * s.keys + k]")}@{given.argument});
//@     include("lib/fold_lanes.cu", { lanes = 32, looped = looped })
        if (threadIdx.x % 32 == 0) { @{given.write("output[k]", "a", "0ull")} }
    }
//@ else
    for (u64 k = blockIdx.x * 256ull + threadIdx.x; k < s.keys; k += gridDim.x * 256ull) {
        const accumulator a = @{acc.copy("table[k]")};
        @{given.write("output[k]", "a", "0ull")}
    }
//@ end
}
