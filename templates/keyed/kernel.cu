//@ local keyed, loads = require "lib/keyed", require "lib/load"
//@ local op, given, acc, indexed, layout, parts = keyed.of(_ENV, vec)
//@ local cell, load = keyed.cell(op), "no_allocate"
//@ local private, warps, shared, agrees = tables == "private", tables == "warps", tables == "shared", agree == "yes"
//@ local sliced = private or warps
//@ local single, single_key = loads.layout(dtype, 1), loads.layout(key, 1)
//@ -- The keys of a load of elements may take several loads.
//@ local key_vec = math.min(vec, 16 // key.bytes)
//@ local key_layout = loads.layout(key, key_vec)
//@ local function key_number(word, k)
//@     return ("(u64)%s%s"):format(key.kind == "signed" and "(i64)" or "", key.unpack(word, k))
//@ end
//@ include("lib/title.cu", { by = "keyed", of = "keys", many = true })

//@ include "lib/head.cu"
//@ include("lib/constants.cu", { names = "WARPS, VEC, UNROLL, LANES = VEC, LOAD_BYTES", unroll = unroll })
constexpr u64 KEY_LOAD_BYTES = @{key_vec * key.bytes}, TILE = (u64)BLOCK * UNROLL;
constexpr u32 COPIES = @{copies};  // tables of a block
typedef @{key.c} key_element;

//@ include("lib/asserts.cu", { accumulator = "== " .. acc.bytes, that = { "LOAD_BYTES <= 16 && KEY_LOAD_BYTES <= 16 && BLOCK % 32 == 0", "sizeof(key_element) == " .. key.bytes } })

// As model/launch.h has it.
struct elements {
    u64 count, keys;
    const key_element *key;
    u64 *skipped;  // where keys that are out of range are counted, or 0
    u64 slices;  // tables in global memory
};

static_assert(sizeof(elements) == 40, "");

//@ include "lib/vector.cu"
//@ include "lib/combine.cu"
//@ include "lib/take.cu"
__device__ __forceinline__ accumulator *table_in(void *scratch)
{
    return (accumulator *)((char *)scratch + @{scratch.slots_offset});
}

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
__device__ __forceinline__ void add_to(accumulator *cell, accumulator a@{given.parameter})
{
//@     if cell.parts then
//@         for _, part in ipairs(cell.parts) do
    atomicAdd((@{part[2]} *)&(*cell)@{part[1]}, (@{part[2]})a@{part[1]});
//@         end
//@     else
//@         local word, bits, back = table.unpack(cell.word)
    @{word} held;
    asm volatile("ld.relaxed.gpu.@{word} %0, [%1];" : "=@{word == "u32" and "r" or "l"}"(held) : "l"(cell) : "memory");
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
// What a thread brings its elements into, and how many keys it skipped.
struct target {
    accumulator *cells;
    u64 keys, skipped;
};

__device__ __forceinline__ void add(target &to, u64 key, const accumulator &a, u32 elements@{given.parameter})
{
    if (key >= to.keys) {
        to.skipped += elements;
        return;
    }
//@ if sliced then
    accumulator *cell = to.cells + @{private and "(u32)key * BLOCK + threadIdx.x" or "(u32)key"};
    *cell = combine(@{acc.copy("(*cell)")}, a@{given.argument});
//@ else
    add_to(to.cells + @{shared and "(u32)key" or "key"}, a@{given.argument});
//@ end
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
__device__ __forceinline__ accumulator of_element(value x, u64 index@{given.parameter})
{
//@ if indexed then
    return candidate(x, index);
//@ else
    return map(x@{given.argument});
//@ end
}

// N elements of a thread, from that index on, if they are there, and their keys. All lanes of a warp call it.
template <u32 N>
__device__ __forceinline__ void take_elements(target &to, const value (&x)[N], const u64 (&key)[N], u64 index,
                                              bool there@{given.parameter})
{
//@ if agrees and not private then
//@     local alone = warps and "all" or "all || (there && same)"
    bool same = true;
#pragma unroll
    for (u32 j = 1; j < N; j++) same = same && key[j] == key[0];
    const u64 first = __shfl_sync(0xffffffff, key[0], 0);
    const bool all = __all_sync(0xffffffff, !there || (same && key[0] == first));
    if (@{alone}) {
        accumulator a = @{op.identity};
        if (there) {
#pragma unroll
            for (u32 j = 0; j < N; j++) a = combine(a, of_element(x[j], index + j@{given.argument})@{given.argument});
        }
        u32 elements = N;
        bool adds = true;
        if (all) {
            elements *= __popc(__ballot_sync(0xffffffff, there));
//@     include("lib/fold_lanes.cu", { lanes = 32 })
            adds = threadIdx.x % 32 == 0 && there;
        }
        if (adds) add(to, key[0], a, elements@{given.argument});
//@     if warps then
        __syncwarp();
//@     end
        return;
    }
//@ end
//@ if warps then
#pragma unroll
    for (u32 j = 0; j < N; j++)
        add_in_turn(to, key[j], of_element(x[j], index + j@{given.argument}), there@{given.argument});
//@ else
    if (!there) return;
#pragma unroll
    for (u32 j = 0; j < N; j++) add(to, key[j], of_element(x[j], index + j@{given.argument}), 1@{given.argument});
//@ end
}

__device__ __forceinline__ void load_one(const element *x_at, const key_element *key_at, value (&x)[1], u64 (&key)[1])
{
    @{single.word.c} word[1];
    @{single_key.word.c} key_word[1];
    @{loads.statement(single, load, "word", "x_at")}
    @{loads.statement(single_key, load, "key_word", "key_at")}
    x[0] = @{dtype.unpack("word[0]", 0)};
    key[0] = @{key_number("key_word[0]", 0)};
}

//@ if vec > 1 then
// A load of elements, and their keys.
struct loaded {
    vector elements;
//@     for i = 0, vec // key_vec - 1 do
    @{key_layout.word.c} key@{i}[@{key_layout.words}];
//@     end
};

__device__ __forceinline__ loaded load_keyed(const element *x_at, const key_element *key_at@{given.parameter})
{
    loaded v;
    v.elements = load_vector((u64)x_at@{given.argument});
//@     for i = 0, vec // key_vec - 1 do
    @{loads.statement(key_layout, load, "v.key" .. i, ("key_at + %d"):format(i * key_vec))}
//@     end
    return v;
}

__device__ __forceinline__ void take_loaded(target &to, const loaded &v, u64 index, bool there@{given.parameter})
{
    value x[VEC];
    u64 key[VEC];
//@     for j = 0, vec - 1 do
    x[@{j}] = @{dtype.unpack("v.elements.word[" .. j // layout.per_word .. "]", j % layout.per_word)};
//@         local word = ("v.key%d[%d]"):format(j // key_vec, j % key_vec // key_layout.per_word)
    key[@{j}] = @{key_number(word, j % key_vec % key_layout.per_word)};
//@     end
    take_elements(to, x, key, index, there@{given.argument});
}

// Those from the first aligned load on: blocks advance by the grid's width.
__device__ __forceinline__ void take_vectors(target &to, const element *input, const elements &s, u64 head,
                                             u64 vectors@{given.parameter})
{
    for (u64 tile = blockIdx.x * TILE; tile < vectors; tile += gridDim.x * TILE) {
        // All loads before the first use.
        loaded v[UNROLL] = {};
#pragma unroll
        for (u32 i = 0; i < UNROLL; i++) {
            const u64 n = tile + i * BLOCK + threadIdx.x;
            if (n < vectors) v[i] = load_keyed(input + head + n * VEC, s.key + head + n * VEC@{given.argument});
        }
#pragma unroll
        for (u32 i = 0; i < UNROLL; i++) {
            const u64 n = tile + i * BLOCK + threadIdx.x;
            take_loaded(to, v[i], head + n * VEC, n < vectors@{given.argument});
        }
    }
}

//@ end
// Those before `head` and from `tail` on, one by one.
__device__ __forceinline__ void take_singles(target &to, const element *input, const elements &s, u64 head,
                                             u64 tail@{given.parameter})
{
    const u64 singles = head + s.count - tail;
    for (u64 first = blockIdx.x * (u64)BLOCK; first < singles; first += gridDim.x * (u64)BLOCK) {
        const u64 n = first + threadIdx.x, index = n < head ? n : n - head + tail;
        value x[1] = {};
        u64 key[1] = {};
        if (n < singles) load_one(input + index, s.key + index, x, key);
        take_elements(to, x, key, index, n < singles@{given.argument});
    }
}

__device__ __forceinline__ void count_skipped(const elements &s, u64 skipped)
{
    if (!s.skipped) return;
#pragma unroll
    for (u32 n = 16; n > 0; n /= 2) skipped += __shfl_down_sync(0xffffffff, skipped, n);
    if (threadIdx.x % 32 == 0 && skipped > 0) atomicAdd(s.skipped, skipped);
}

//@ if private then
// Leaves the block's table: a warp combines the columns of a key.
__device__ __forceinline__ void leave_table(accumulator *table, const accumulator *cells, u64 keys@{given.parameter})
{
    __syncthreads();
    for (u64 k = threadIdx.x / 32; k < keys; k += WARPS) {
        const accumulator *cell = cells + (u32)k * BLOCK + threadIdx.x % 32;
        accumulator a = @{acc.copy("(*cell)")};
#pragma unroll 1
        for (u32 i = 1; i < WARPS; i++) a = combine(a, @{acc.copy("cell[i * 32]")}@{given.argument});
//@ include("lib/fold_lanes.cu", { lanes = 32 })
        if (threadIdx.x % 32 == 0) table[blockIdx.x * keys + k] = a;
    }
}

//@ elseif warps then
// Leaves the block's table: a thread combines the warps' cells of a key.
__device__ __forceinline__ void leave_table(accumulator *table, const accumulator *cells, u64 keys@{given.parameter})
{
    __syncthreads();
    for (u64 k = threadIdx.x; k < keys; k += BLOCK) {
        accumulator a = @{acc.copy("cells[k]")};
#pragma unroll 1
        for (u32 i = 1; i < WARPS; i++) a = combine(a, @{acc.copy("cells[i * keys + k]")}@{given.argument});
        table[blockIdx.x * keys + k] = a;
    }
}

//@ elseif shared then
// Adds the block's tables to the one of all.
__device__ __forceinline__ void add_tables(accumulator *table, const accumulator *cells, u64 keys@{given.parameter})
{
    __syncthreads();
    for (u64 k = threadIdx.x; k < keys; k += BLOCK) {
        accumulator a = @{acc.copy("cells[k]")};
#pragma unroll
        for (u32 i = 1; i < COPIES; i++) a = combine(a, @{acc.copy("cells[i * keys + k]")}@{given.argument});
        if (!is_neutral(a)) add_to(table + k, a@{given.argument});
    }
}

//@ end
//@ if not sliced then
extern "C" __global__ void __launch_bounds__(256)
redtune_preset_keys(elements s, void *scratch)
{
    accumulator *table = table_in(scratch);
    for (u64 k = blockIdx.x * 256ull + threadIdx.x; k < s.keys; k += gridDim.x * 256ull) table[k] = @{op.identity};
}

//@ end
//@ include("lib/entry.cu", { extents = "elements s" })
{
//@ for _, line in ipairs(given.begin("input", "s.count", "output")) do
    @{line}
//@ end
    accumulator *table = table_in(scratch);
    target to = {table, s.keys, 0};
//@ if sliced or shared then
    extern __shared__ uint4 memory[];
    accumulator *cells = (accumulator *)memory;
//@     if private then
    for (u32 k = 0; k < (u32)s.keys; k++) cells[k * BLOCK + threadIdx.x] = @{op.identity};
    to.cells = cells;
//@     elseif warps then
    to.cells = cells + threadIdx.x / 32 * (u32)s.keys;
    for (u32 k = threadIdx.x % 32; k < (u32)s.keys; k += 32) to.cells[k] = @{op.identity};
    __syncwarp();
//@     else
    for (u32 i = threadIdx.x; i < COPIES * (u32)s.keys; i += BLOCK) cells[i] = @{op.identity};
    to.cells = cells + threadIdx.x % COPIES * (u32)s.keys;
    __syncthreads();
//@     end
//@ end
//@ if vec > 1 then
    // Without a place from which loads of both are aligned all are taken one by one.
    u64 head = (LOAD_BYTES - (u64)input % LOAD_BYTES) % LOAD_BYTES / sizeof(element);
    if (head > s.count || (u64)(s.key + head) % KEY_LOAD_BYTES > 0) head = s.count;
    const u64 vectors = (s.count - head) / VEC;
    take_vectors(to, input, s, head, vectors@{given.argument});
    take_singles(to, input, s, head, head + vectors * VEC@{given.argument});
//@ else
    take_singles(to, input, s, 0, 0@{given.argument});
//@ end
    count_skipped(s, to.skipped);
//@ if sliced then
    leave_table(table, cells, s.keys@{given.argument});
//@ elseif shared then
    add_tables(table, cells, s.keys@{given.argument});
//@ end
}

//@ include("lib/entry.cu", { extents = "elements s", entry = "redtune_finish_keys", block = 256 })
{
//@ for _, line in ipairs(given.begin("input", "s.count", "output")) do
    @{line}
//@ end
    const accumulator *table = table_in(scratch);
//@ if sliced then
    // A warp combines the blocks' cells of a key.
    for (u64 k = blockIdx.x * 8ull + threadIdx.x / 32; k < s.keys; k += gridDim.x * 8ull) {
        accumulator a = @{op.identity};
        for (u64 i = threadIdx.x % 32; i < s.slices; i += 32)
            a = combine(a, @{acc.copy("table[i * s.keys + k]")}@{given.argument});
//@     include("lib/fold_lanes.cu", { lanes = 32 })
        if (threadIdx.x % 32 == 0) { @{given.write("output[k]", "a", "0ull")} }
    }
//@ else
    for (u64 k = blockIdx.x * 256ull + threadIdx.x; k < s.keys; k += gridDim.x * 256ull) {
        const accumulator a = @{acc.copy("table[k]")};
        @{given.write("output[k]", "a", "0ull")}
    }
//@ end
}
