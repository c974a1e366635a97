//@ local convert = require "lib/convert"
//@ local flavour, load = load, require "lib/load"
//@ local name, formula, indexed = op.name, op.formula, op.indexed
//@ local op = op.make { dtype = dtype, result = result, arch = arch }
//@ local acc = op.acc
//@ local layout, single = load.layout(dtype, vec), load.layout(dtype, 1)
//@ local lanes = (op.narrow or op.word) and layout.words or vec
//@ local warps = block // 32
//@ local ahead = arch >= 90 and not indexed
// redtune: the @{name} of @{dtype.name} into @{result.name}, by the template "block" with
// @{config}
//
// output[0] = @{formula}
// for any n = count and any element-aligned input. Start it with @{block} threads per block.

typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;
//@ if acc.declare then
@{acc.declare}
//@ end
typedef @{dtype.c} element;  // in memory
typedef @{dtype.value} value;  // in registers
typedef @{acc.c} accumulator;

constexpr u32 BLOCK = @{block};  // threads per block
constexpr u32 VEC = @{vec};  // elements per load
constexpr u32 UNROLL = @{unroll};  // independent loads in flight per thread
constexpr u32 STEP = BLOCK * UNROLL;  // loads that a block makes at a time: a tile
constexpr u32 LANES = @{lanes};  // accumulators per thread

constexpr u64 LOAD_BYTES = VEC * @{dtype.bytes};
constexpr u64 TILE_BYTES = STEP * LOAD_BYTES;
//@ if ahead then
constexpr u64 AHEAD_BYTES = 1 << 20;  // larger inputs are not prefetched
//@ end

static_assert(sizeof(element) == @{dtype.bytes} && sizeof(accumulator) <= @{scratch.slot_bytes}, "");
static_assert(LOAD_BYTES <= 16 && 2 * VEC <= BLOCK, "");

struct vector {
    @{layout.word.c} word[@{layout.words}];
};

//@ local conversions = convert.functions(dtype, result)
//@ if conversions ~= "" then
@{conversions}
//@ end
__device__ __forceinline__ vector load_vector(u64 from)
{
    vector v;
    @{load.statement(layout, flavour, "v.word", "from")}
    return v;
}

// Where this thread's load i of the tile at that address is.
__device__ __forceinline__ u64 place_of(u64 tile, u32 i)
{
    return tile + (threadIdx.x + i * BLOCK) * LOAD_BYTES;
}

// All loads of the tile before the first use; those from stop on are left out.
__device__ __forceinline__ void load_tile(vector (&v)[UNROLL], u64 tile, u64 stop)
{
    if (tile + TILE_BYTES <= stop) {
#pragma unroll
        for (u32 i = 0; i < UNROLL; i++) v[i] = load_vector(place_of(tile, i));
    } else {
#pragma unroll
        for (u32 i = 0; i < UNROLL; i++)
            if (place_of(tile, i) < stop) v[i] = load_vector(place_of(tile, i));
    }
}

//@ if vec > 1 then
__device__ __forceinline__ value load_element(const element *from)
{
    @{single.word.c} word[1];
    @{load.statement(single, flavour, "word", "from")}
    return @{dtype.unpack("word[0]", 0)};
}

//@ end
//@ if op.functions then
@{op.functions}
//@ end
__device__ __forceinline__ accumulator combine(accumulator a, accumulator b)
{
    return @{op.combine("a", "b")};
}

//@ if indexed then
// A thread counts its loads; the first value of a lane that no other goes before is remembered with
// the load that brought it. Lane j holds element j of each load, in ascending order of the index.
struct best {
    value x;
    u32 load;
};

__device__ __forceinline__ accumulator candidate(value x, u64 index)
{
    return arg{key_of(x), index};
}

__device__ __forceinline__ void take(best (&part)[LANES], const vector &v, u32 load)
{
//@     for j = 0, vec - 1 do
//@         local word = "v.word[" .. j // layout.per_word .. "]"
    const value x@{j} = @{dtype.unpack(word, j % layout.per_word)};
//@     end
//@     if dtype.kind == "float" then
//@         local nan = {}
//@         for j = 0, vec - 1 do nan[#nan + 1] = ("x%d != x%d"):format(j, j) end
    // A NaN goes before all but another NaN. There is hardly ever one.
    if (@{table.concat(nan, " || ")}) {
//@         for j = 0, vec - 1 do
        if (x@{j} != x@{j} && part[@{j}].x == part[@{j}].x) part[@{j}] = best{x@{j}, load};
//@         end
    }
//@     end
//@     for j = 0, vec - 1 do
    if (@{op.before("x" .. j, "part[" .. j .. "].x")}) part[@{j}] = best{x@{j}, load};
//@     end
}
//@ else
__device__ __forceinline__ accumulator map(value x)
{
    return @{op.map("x")};
}

//@     if op.narrow then
typedef @{op.narrow.c} narrow;  // holds the sum of a word's elements over one tile

__device__ __forceinline__ void take(narrow (&part)[LANES], const vector &v)
//@     else
__device__ __forceinline__ void take(accumulator (&part)[LANES], const vector &v)
//@     end
{
//@     for j = 0, lanes - 1 do
//@         local lane, word = "part[" .. j .. "]", "v.word[" .. j // (lanes // layout.words) .. "]"
//@         if op.narrow then
    @{lane} = @{op.narrow.step(lane, word, layout.per_word)};
//@         elseif op.word then
    @{lane} = @{op.word(lane, word, layout.per_word)};
//@         else
    @{lane} = combine(@{lane}, map(@{dtype.unpack(word, j % layout.per_word)}));
//@         end
//@     end
}
//@ end

// Lane 0 returns the combination of the warp's values.
__device__ __forceinline__ accumulator reduce_warp(accumulator a)
{
//@ for _, step in ipairs { 16, 8, 4, 2, 1 } do
    a = combine(a, @{acc.shuffle("a", step)});
//@ end
    return a;
}

// Thread 0 returns the combination of the block's values. All threads call it; between two calls
// stands a barrier.
__device__ __forceinline__ accumulator reduce_block(accumulator a)
{
//@ if block == 32 then
    return reduce_warp(a);
//@ elseif tail == "shuffle" then
    __shared__ accumulator warp_value[@{warps}];
    const u32 warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    a = reduce_warp(a);
    if (lane == 0) warp_value[warp] = a;
    __syncthreads();
    if (warp == 0) {
        a = lane < @{warps} ? warp_value[lane] : @{op.identity};
//@     for _, step in ipairs { 16, 8, 4, 2, 1 } do
//@         if step < warps then
        a = combine(a, @{acc.shuffle("a", step)});
//@         end
//@     end
    }
    return a;
//@ else
    __shared__ accumulator shared[BLOCK];
    const u32 thread = threadIdx.x;
    shared[thread] = a;
    __syncthreads();
//@     local step = block // 2
//@     while step >= 32 do
    if (thread < @{step}) shared[thread] = combine(shared[thread], shared[thread + @{step}]);
    __syncthreads();
//@         step = step // 2
//@     end
    if (thread < 32) a = reduce_warp(shared[thread]);
    return a;
//@ end
}

// Each thread returns its share of the input: tiles of STEP loads are dealt round-robin to blocks.
__device__ __forceinline__ accumulator reduce_share(const element *input, u64 count)
{
    // Loads are aligned: from body up to stop. The first ones are on their way before anything is
    // computed that they do not need.
    const u32 thread = threadIdx.x;
    const u64 begin = (u64)input, end = begin + count * sizeof(element);
    const u64 body = (begin + LOAD_BYTES - 1) / LOAD_BYTES * LOAD_BYTES;
    const u64 stop = end / LOAD_BYTES * LOAD_BYTES;
    u64 tile = body + (u64)blockIdx.x * TILE_BYTES;
    vector v[UNROLL];
    load_tile(v, tile, stop);

//@ if indexed then
    best part[LANES];
    u32 load = 0;
#pragma unroll
    for (u32 j = 0; j < LANES; j++) part[j] = best{@{op.last}, 0};
//@ else
    accumulator part[LANES];
#pragma unroll
    for (u32 j = 0; j < LANES; j++) part[j] = @{op.identity};
//@ end
    accumulator edge = @{op.identity};
//@ if vec > 1 then
    // Fewer than VEC elements stand before body and behind stop. The last block takes these, one a
    // thread.
    if (blockIdx.x == gridDim.x - 1) {
        const u64 head = (u32)(body - begin) / sizeof(element);
        const u64 behind = ((stop > body ? stop : body) - begin) / sizeof(element) - head;
        const u64 at = thread < head ? thread : thread + behind;
//@     if indexed then
        if (at < count) edge = candidate(load_element(input + at), at);
//@     else
        if (at < count) edge = map(load_element(input + at));
//@     end
    }
//@ end

    while (tile < stop) {
//@ local target, behind = "part", indexed and ", load + i" or ""
//@ if op.narrow then
//@     target = "sum"
        narrow sum[LANES];
#pragma unroll
        for (u32 j = 0; j < LANES; j++) sum[j] = @{op.narrow.zero};
//@ end
        if (tile + TILE_BYTES <= stop) {
#pragma unroll
            for (u32 i = 0; i < UNROLL; i++) take(@{target}, v[i]@{behind});
        } else {
#pragma unroll
            for (u32 i = 0; i < UNROLL; i++)
                if (place_of(tile, i) < stop) take(@{target}, v[i]@{behind});
        }
//@ if op.narrow then
#pragma unroll
        for (u32 j = 0; j < LANES; j++) part[j] = combine(part[j], @{op.widen("sum[j]")});
//@ elseif indexed then
        load += UNROLL;
//@ end
        tile += (u64)gridDim.x * TILE_BYTES;
        load_tile(v, tile, stop);
    }
//@ if indexed then
    // Where no value went before the last one there is, it is the first load's, if there was one.
    const u64 first = place_of(body + (u64)blockIdx.x * TILE_BYTES, 0);
    if (first < stop) {
#pragma unroll
        for (u32 j = 0; j < LANES; j++) {
            const u64 tiles = part[j].load / UNROLL, i = part[j].load % UNROLL;
            const u64 place = first + (tiles * gridDim.x * STEP + i * BLOCK) * LOAD_BYTES;
            edge = combine(edge, candidate(part[j].x, (place - begin) / sizeof(element) + j));
        }
    }
    return edge;
//@ else
//@     if op.fold then
//@         for j = 0, lanes - 1 do
//@             local lane = "part[" .. j .. "]"
    @{lane} = @{op.fold(lane, layout.per_word)};
//@         end
//@     end
//@     local width = lanes
//@     while width > 1 do
//@         width = width // 2
//@         for j = 0, width - 1 do
    part[@{j}] = combine(part[@{j}], part[@{j + width}]);
//@         end
//@     end
    return combine(part[0], edge);
//@ end
}

//@ if finish == "two_pass" or finish == "ticket" then
// The partial results of the blocks, in the order of their indices.
__device__ __forceinline__ accumulator *partials(void *scratch)
{
    return (accumulator *)((char *)scratch + @{scratch.slots_offset});
}

// Thread 0 returns the combination of the partial results of all blocks.
__device__ __forceinline__ accumulator reduce_partials(void *scratch, u32 blocks)
{
    accumulator a = @{op.identity};
    for (u32 i = threadIdx.x; i < blocks; i += BLOCK)
        a = combine(a, @{acc.reload("partials(scratch) + i")});
    return reduce_block(a);
}

//@ elseif finish == "poll" then
// A block hands over its value in words of 32 bits of it and, above them, a flag. A word is one
// store, so that whoever sees the flag has the bits: no fence, no atomic operation. Words are zero
// before and after. Every access is relaxed, the clearing too: a plain store would race.
constexpr u32 WORDS = @{acc.halves};

__device__ __forceinline__ u64 *words_of(void *scratch, u32 block)
{
    return (u64 *)((char *)scratch + @{scratch.words_offset}) + block * WORDS;
}

__device__ __forceinline__ void store_word(u64 *to, u64 word)
{
    asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" : : "l"(to), "l"(word) : "memory");
}

__device__ __forceinline__ u64 load_word(const u64 *from)
{
    u64 word;
    asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(word) : "l"(from) : "memory");
    return word;
}

__device__ __forceinline__ void publish(u64 *to, accumulator a)
{
//@     for i = 0, acc.halves - 1 do
    store_word(to + @{i}, 1ull << 32 | @{acc.half("a", i)});
//@     end
}

// Waits for the value of another block. All words are asked for before one is looked at: a second
// round trip to L2 would be a tenth of a small reduction.
__device__ __forceinline__ accumulator collect(u64 *from)
{
    u64 word[WORDS];
    u64 flags;
    do {
#pragma unroll
        for (u32 i = 0; i < WORDS; i++) word[i] = load_word(from + i);
        flags = word[0];
#pragma unroll
        for (u32 i = 1; i < WORDS; i++) flags &= word[i];
    } while (flags >> 32 == 0);
#pragma unroll
    for (u32 i = 0; i < WORDS; i++) store_word(from + i, 0);
//@     for i = 0, acc.halves - 1 do
    const u32 half@{i} = (u32)word[@{i}];
//@     end
    return @{acc.join("half")};
}

//@ end
//@ if ahead then
// Asks for the block's first tile to be brought into L2, a line of 128 bytes at a time. That reads
// nothing, so it is right even while the kernel before may still write.
__device__ __forceinline__ void prefetch_tile(const element *input, u64 count)
{
    const u64 begin = (u64)input, stop = begin + count * sizeof(element);
    const u64 tile = begin + (u64)blockIdx.x * TILE_BYTES;
    if (threadIdx.x % (128 / LOAD_BYTES) > 0) return;
#pragma unroll
    for (u32 i = 0; i < UNROLL; i++) {
        const u64 place = place_of(tile, i);
        if (place < stop) asm volatile("prefetch.global.L2 [%0];" : : "l"(place));
    }
}

//@ end
extern "C" __global__ void __launch_bounds__(@{block})
redtune_reduce(const element *input, u64 count, @{result.c} *output, void *scratch, u32 overlaps)
{
//@ if arch >= 90 then
    // The next kernel may be launched from now on, and this one may have been launched before the
    // one before it ended: nothing is read or written until that one is over.
    asm volatile("griddepcontrol.launch_dependents;");
//@     if ahead then
    // A larger input gains nothing, or loses by competing with the one still being read.
    if (overlaps && count <= AHEAD_BYTES / sizeof(element)) prefetch_tile(input, count);
//@     end
    asm volatile("griddepcontrol.wait;" : : : "memory");
//@ end
    accumulator a = reduce_block(reduce_share(input, count));
//@ if finish == "single" then
    if (threadIdx.x == 0) *output = @{op.finalize("a", "count")};
//@ else
    if (gridDim.x == 1) {
        if (threadIdx.x == 0) *output = @{op.finalize("a", "count")};
        return;
    }
//@ end
//@ if finish == "two_pass" then
    if (threadIdx.x == 0) partials(scratch)[blockIdx.x] = a;
//@ elseif finish == "ticket" then
    // The block that draws the last ticket finds all partial results written. atomicInc wraps, so
    // the counter is left at zero.
    __shared__ bool last;
    if (threadIdx.x == 0) {
        partials(scratch)[blockIdx.x] = a;
        __threadfence();
        last = atomicInc((u32 *)scratch, gridDim.x - 1) == gridDim.x - 1;
        __threadfence();
    }
    __syncthreads();
    if (!last) return;
    a = reduce_partials(scratch, gridDim.x);
    if (threadIdx.x == 0) *output = @{op.finalize("a", "count")};
//@ elseif finish == "poll" then
    if (blockIdx.x > 0) {
        if (threadIdx.x == 0) publish(words_of(scratch, blockIdx.x), a);
        return;
    }
    // Block 0 waits for all others, which wait for nobody.
    if (threadIdx.x > 0) a = @{op.identity};
    for (u32 i = threadIdx.x; i < gridDim.x; i += BLOCK)
        if (i > 0) a = combine(a, collect(words_of(scratch, i)));
//@     if block > 32 then
    __syncthreads();
//@     end
    a = reduce_block(a);
    if (threadIdx.x == 0) *output = @{op.finalize("a", "count")};
//@ end
}
//@ if finish == "two_pass" then

// The second launch: one block of BLOCK threads, over the partial results of the first one's blocks.
extern "C" __global__ void __launch_bounds__(@{block})
redtune_finish(void *scratch, u32 blocks, u64 count, @{result.c} *output)
{
//@     if arch >= 90 then
    asm volatile("griddepcontrol.launch_dependents;");
    asm volatile("griddepcontrol.wait;" : : : "memory");
//@     end
    accumulator a = reduce_partials(scratch, blocks);
    if (threadIdx.x == 0) *output = @{op.finalize("a", "count")};
}
//@ end
