//@ local op, given, acc, _, layout = require("lib/kernel").of(_ENV, vec)
//@ local log2 = require("lib/kernel").log2
//@ local depth, warps, vector = block // width, block // 32, 16 // dtype.bytes
//@ local together, rows = unroll // vector, width < 32 and warps or depth
//@ local bits, least = log2(256 // depth), log2(depth * together)
//@ local shared, node_levels = finish ~= "single", 6
//@ -- With 64 registers 1024 threads are resident. Elements of 2 bytes need 120, as many loads of 4 do: bounds for 512
//@ -- threads, without which NVRTC 13 may take 80 in code this short, and waits for some loads before it asks for others.
//@ local few = dtype.bytes == 4 and acc.bytes == 4 and vec * unroll * given.inputs <= 32
//@ include("lib/title.cu", { by = "ordered_columns", of = "columns", many = true, shares = shared and "strips of " .. width * vec .. " columns" })
//
// A column's elements are rows apart. Those of a vector are VECTOR rows, which one thread takes; a
// chunk's vectors are dealt to the DEPTH threads along the axis, or to those of several blocks.

//@ include "lib/head.cu"
//@ include("lib/constants.cu", { names = "WIDTH, DEPTH, VEC, STRIP", width = width })
constexpr u32 VECTOR = @{vector};  // elements of a column that are combined first
constexpr u32 TOGETHER = @{together};  // vectors of each column in flight per thread
constexpr u32 CHUNK_LEVELS = 8;  // 2^8 vectors are a chunk
constexpr u32 CHUNK = VECTOR << CHUNK_LEVELS;  // elements
//@ include("lib/constants.cu", { names = "BITS = " .. bits })
//@ include("lib/constants.cu", { names = "LEVELS" })
constexpr u32 OWN = @{depth > 1 and "1" or "VEC"};  // columns per thread of which it has the value

//@ include("lib/constants.cu", { names = "LOAD_BYTES" })

//@ local conditions = { "LOAD_BYTES <= 16 && BLOCK % 32 == 0 && BLOCK % WIDTH == 0", "TOGETHER >= 1 && TOGETHER <= 1u << BITS" }
//@ conditions[3] = depth > 1 and "STRIP <= BLOCK" or nil
//@ include("lib/asserts.cu", { accumulator = "== " .. acc.bytes, that = conditions })

//@ include "lib/extents.cu"
//@ include "lib/vector.cu"
//@ include "lib/combine.cu"
__device__ __forceinline__ accumulator map(value x@{given.inputs > 1 and ", " .. given.other_value .. " y" or ""}@{given.parameter})
{
    return @{op.map("x", "y")};
}

//@ include("lib/splits.cu", { node_levels = node_levels })
//@ local spread = ("threadIdx.x %% 32 / WIDTH * %d + threadIdx.x / 32"):format(warps)
// Of the places along the axis those of a warp are far apart: what its lanes have is combined before what warps have.
//@ include("lib/across.cu", { along_place = width < 32 and spread })
//@ include "lib/load_columns.cu"
//@ include "lib/load_columns_if.cu"
// The elements of a column that are combined first.
struct leaves {
    value x[VECTOR];
//@ if given.inputs > 1 then
    @{given.other_value} y[VECTOR];
//@ end
};

// Their value, of n at least. What an op takes long to combine is a function of its own, which all columns
// call: a copy for each would take NVRTC minutes.
template <bool FULL>
__device__ @{op.costly and "__noinline__" or "__forceinline__"} accumulator fold_leaves(leaves own, u32 n@{given.parameter})
{
    accumulator leaf[VECTOR];
//@ for k = 0, vector - 1 do
    leaf[@{k}] = map(own.x[@{k}]@{given.inputs > 1 and (", own.y[%d]"):format(k) or ""}@{given.argument});
    if (!FULL && @{k} >= n) leaf[@{k}] = @{op.identity};
//@ end
//@ include("lib/fold_halves.cu", { array = "leaf", many = vector })
    return leaf[0];
}

// The values of a vector of each of this thread's columns, of which there are n elements at least.
template <bool FULL>
__device__ __forceinline__ void fold_columns(accumulator (&a)[VEC], const vector (&v)[VECTOR], u32 n@{given.parameter})
{
    leaves own;
//@ for j = 0, vec - 1 do
//@     local at, piece = j // layout.per_word, j % layout.per_word
//@     local other = given.other_layout(vec)
//@     for k = 0, vector - 1 do
    own.x[@{k}] = @{dtype.unpack(("v[%d].word[%d]"):format(k, at), piece)};
//@         if given.inputs > 1 then
    own.y[@{k}] = @{given.other.unpack(("v[%d].other[%d]"):format(k, j // other.per_word), j % other.per_word)};
//@         end
//@     end
    a[@{j}] = fold_leaves<FULL>(own, n@{given.argument});
//@ end
}

// A thread's share of the `left` rows from that of `chunk` on, at most a chunk: of the vectors from
// number `first` on every apart-th, 2^bits in all. They are taken with the bits of their numbers
// reversed, so that neighbours are those that halving combines. FULL: all of them are there.
//@ include("lib/order_take_chunk.cu", { whole = true })
//@ if vec > 1 then
// The same of columns that lie apart.
//@     include("lib/order_take_chunk.cu", { together = 1 })
//@ end
//@ if depth > 1 then
// The threads' values meet in shared memory: of each column ROWS, after those of a warp are combined.
//@ include("lib/constants.cu", { names = "ROWS = " .. rows .. ", SHARED" })

static_assert(2 * SHARED * sizeof(accumulator) <= 49152, "");

// N values, the upper half combined into the lower.
template <u32 N>
__device__ __forceinline__ accumulator halve(const accumulator *from, u32 apart@{given.parameter})
{
    if constexpr (N == 1)
        return @{acc.copy("from[0]")};
    else
        return combine(halve<N / 2>(from, 2 * apart@{given.argument}),
                       halve<N / 2>(from + apart, 2 * apart@{given.argument})@{given.argument});
}

// The first STRIP threads return the combination of all threads' values of a column. All threads of
// the block call it, each time with the other half of the shared memory: who writes one again has
// passed the barrier of the other, before which the one was read.
__device__ __forceinline__ accumulator reduce_threads(accumulator *shared, accumulator (&a)[VEC], bool whole@{given.parameter})
{
//@ local place = "(whole ? column_of<true>(j) : column_of<false>(j))"
//@ include("lib/share_columns.cu", { place = place })
    __syncthreads();
    accumulator all = @{op.identity};
    if (threadIdx.x < STRIP) all = halve<ROWS>(shared + threadIdx.x, STRIP@{given.argument});
    return all;
}

//@ else
//@     include "lib/write_columns.cu"
//@ end
// A node of a column's tree: whole chunks, or those vectors of one whose numbers are `part` modulo
// 2^parts.
struct node {
    u64 chunk, chunks;
    u32 part, parts;
};

// Of a thread's vectors in a chunk, of which there are so many rows: it takes 2^bits.
__device__ __forceinline__ u32 bits_of(const node &at, u32 rows)
{
    u32 bits = BITS - (at.parts < BITS ? at.parts : BITS);
    while (bits > 0 && (u64)(DEPTH << at.parts << (bits - 1)) * VECTOR >= rows) bits--;
    return bits;
}

// Makes the values of a node of a strip's columns: a thread's own ones, or that of column threadIdx.x.
__device__ __forceinline__ void reduce_node(accumulator (&all)[OWN], accumulator *shared, u32 &turn,
                                            const element *from, const extents &e, u32 columns,
                                            bool whole, const node &at@{given.parameter})
{
    const u32 first = at.part + (along() << at.parts), apart = DEPTH << at.parts;
    const bool is_there = (whole ? column_of<true>(0) : column_of<false>(0)) < columns;
    // What waits for its neighbour: after n chunks there is a value of 2^k for each bit k of n.
    accumulator level[LEVELS][OWN];
    for (u64 c = 0; c < at.chunks; c++) {
        const u64 row = (at.chunk + c) * CHUNK, rows = e.count - row;
        const u32 left = rows < CHUNK ? (u32)rows : CHUNK;
        const u32 bits = bits_of(at, left);
        accumulator a[VEC];
        const element *chunk = from + row * e.step;
//@ if vec > 1 then
        if (!whole)
            take_chunk_apart(a, chunk, is_there ? left : 0, e.step, columns, first, apart, bits@{given.argument});
        else if (left == CHUNK && is_there)
//@ else
        if (left == CHUNK && is_there)
//@ end
            take_chunk<true>(a, chunk, left, e.step, columns, first, apart, bits@{given.argument});
        else
            take_chunk<false>(a, chunk, is_there ? left : 0, e.step, columns, first, apart, bits@{given.argument});
//@ if depth > 1 then
        all[0] = reduce_threads(shared + turn * SHARED, a, whole@{given.argument});
        turn ^= 1;
//@ else
#pragma unroll
        for (u32 j = 0; j < OWN; j++) all[j] = a[j];
//@ end
        if (at.chunks == 1) return;
        u32 k = 0;
        for (; c >> k & 1; k++)
#pragma unroll
            for (u32 j = 0; j < OWN; j++) all[j] = combine(level[k][j], all[j]@{given.argument});
#pragma unroll
        for (u32 j = 0; j < OWN; j++) level[k][j] = all[j];
    }
#pragma unroll
    for (u32 j = 0; j < OWN; j++) all[j] = @{op.identity};
    for (u32 k = 0; at.chunks >> k; k++)
        if (at.chunks >> k & 1)
#pragma unroll
            for (u32 j = 0; j < OWN; j++) all[j] = combine(level[k][j], all[j]@{given.argument});
}

//@ if shared then
constexpr u32 GROUPS = BLOCK / STRIP;  // of threads with a column each
constexpr u32 LEAST = @{least};  // 2^LEAST vectors are a node at least, where there are as many
constexpr u32 NODES_MAX = GROUPS * AT_ONCE << @{node_levels};

// Nodes of 2^size vectors, of a column of so many chunks, the tree of each of which has `height` levels.
__device__ __forceinline__ u64 nodes_of(u64 chunks, u32 height, u32 size)
{
    return size < height ? chunks << (height - size) : (chunks + (1ull << (size - height)) - 1) >> (size - height);
}

// The node that is a split's of its set. How many splits have one is left in mine.splits.
__device__ __forceinline__ node node_of(share &mine, u64 count)
{
    const u64 chunks = (count + CHUNK - 1) / CHUNK;
    if (mine.splits == 1) return node{0, chunks, 0, 0};
    u32 height = CHUNK_LEVELS;
    while (chunks <= 1 && height > 0 && (u64)VECTOR << (height - 1) >= count) height--;
    const u32 most = mine.splits < NODES_MAX ? mine.splits : NODES_MAX;
    u32 size = LEAST < height ? LEAST : height;
    while (nodes_of(chunks, height, size) > most) size++;
    const u64 nodes = nodes_of(chunks, height, size);
    mine.splits = nodes ? nodes : 1;
    if (size >= height) {
        const u64 each = 1ull << (size - height), first = mine.split * each;
        return node{first, first >= chunks ? 0 : chunks - first < each ? chunks - first : each, 0, 0};
    }
    const u32 parts = height - size, number = mine.split & ((1u << parts) - 1);
    return node{mine.split >> parts, 1, __brev(number) >> (32 - parts), parts};
}

// N values, each combined with its neighbour.
template <u32 N>
__device__ __forceinline__ accumulator join(const accumulator *from, u32 apart@{given.parameter})
{
    if constexpr (N == 1)
        return @{acc.copy("from[0]")};
    else
        return combine(join<N / 2>(from, apart@{given.argument}),
                       join<N / 2>(from + N / 2 * apart, apart@{given.argument})@{given.argument});
}

// Hands on this block's node of a strip, or makes the strip's results of all blocks' nodes.
__device__ __forceinline__ void finish_nodes(accumulator own, accumulator *shared, const share &mine,
                                             void *scratch, @{result.c} *output, u64 count,
                                             u32 columns@{given.parameter})
{
    const u32 step = (u32)mine.sets * STRIP, first = (u32)mine.set * STRIP;
    if (threadIdx.x < STRIP) leave(scratch, first + mine.split * step + threadIdx.x, own);
    if (mine.split < mine.splits - 1) return;
    const u32 group = threadIdx.x / STRIP, column = threadIdx.x % STRIP;
    u32 each = 1;
    while (each * GROUPS < mine.splits) each *= 2;
    const u32 begin = group * each, left = begin < mine.splits ? mine.splits - begin : 0;
    accumulator a = reduce_nodes(scratch, first + begin * step + column, step, left < each ? left : each, each@{given.argument});
    shared[threadIdx.x] = a;
    __syncthreads();
    if (threadIdx.x >= columns || threadIdx.x >= STRIP) return;
    a = combine(@{op.identity}, join<GROUPS>(shared + column, STRIP@{given.argument})@{given.argument});
    @{given.write("output[column]", "a", "count")}
}

//@ end
//@ include("lib/strips.cu", { made = "STRIP" })
//@ if given.ahead then
//@ include("lib/constants.cu", { names = "AHEAD_BYTES = 1 << 23" })

// Asks for each thread's first loads to be brought into L2, a line of 128 bytes at a time, as in
// lib/prefetch_strip.cu.
__device__ __forceinline__ void prefetch_node(const element *input, const extents &e, const share &mine,
                                              const strip &its, const node &own@{given.inputs > 1 and ", u64 second" or ""})
{
    if (mine.set >= mine.sets || mine.split >= mine.splits) return;
    const u32 column = across() * VEC, first = own.part + (along() << own.parts);
    const u64 begin = own.chunk * CHUNK, rows = e.count > begin ? e.count - begin : 0;
    const u32 left = rows < CHUNK ? (u32)rows : CHUNK, bits = bits_of(own, left);
    if (column >= its.columns) return;
    const element *at = input + its.outer * e.outer_step + begin * e.step + its.first + column;
    const bool begins = STRIP * sizeof(element) >= 128 && column == 0;
#pragma unroll 1
    for (u32 i = 0; i < TOGETHER; i++) {
        const u32 number = bits == 0 ? 0 : __brev(i) >> (32 - bits);
        const u32 row = (first + number * (DEPTH << own.parts)) * VECTOR;
        if (i >= 1u << bits) break;
#pragma unroll
        for (u32 k = 0; k < VECTOR; k++) {
            const u64 from = (u64)(at + (row + k) * e.step);
            if (row + k >= left || !(begins || from % 128 < LOAD_BYTES)) continue;
//@     include("lib/prefetch_line.cu", { place = "from", first = "(u64)input" })
        }
    }
}

//@ end
//@ include("lib/entry.cu", { extents = "extents e", least = few and 1024 // block or acc.bytes <= 8 and math.max(1, 512 // block) })
{
//@ include "lib/begin_strips.cu"
//@ local begin = { prefetch = given.ahead and { "e.count * e.inner * e.outer", "\n        prefetch_node(input, e, mine, at, own" }, count = "e.count" }
//@ -- With a count on the GPU the nodes are those of as many rows as it says.
//@ local reads_first = given.counts
//@ if reads_first then
//@     include("lib/begin.cu", begin)
//@ end
//@ if shared then
    const node own = node_of(mine, e.count);
//@ else
    const node own = {0, (e.count + CHUNK - 1) / CHUNK, 0, 0};
//@ end
//@ if not reads_first then
//@     include("lib/begin.cu", begin)
//@ end
//@ if vec > 1 then
//@ include "lib/aligned.cu"
//@ end
//@ if depth > 1 then
    __shared__ alignas(16) accumulator shared[2 * SHARED];
//@ else
    accumulator *const shared = nullptr;
//@ end
    u32 turn = 0;
    for (; mine.set < mine.sets; mine.set += gridDim.x, at = strip_of(mine.set, strips, e)) {
//@ if shared then
        if (mine.split >= mine.splits) return;
//@ end
//@ include "lib/strip_place.cu"
        accumulator all[OWN];
//@ if vec > 1 then
        const bool whole = aligned && columns % VEC == 0;
//@ else
        constexpr bool whole = true;
//@ end
        reduce_node(all, shared, turn, from, e, columns, whole, own@{given.argument});
//@ if shared then
        if (mine.splits > 1) {
            finish_nodes(all[0], shared + turn * SHARED, mine, scratch, to, e.count, columns@{given.argument});
            return;
        }
//@ end
#pragma unroll
        for (u32 j = 0; j < OWN; j++) all[j] = combine(@{op.identity}, all[j]@{given.argument});
//@ if depth > 1 then
        const u32 c = threadIdx.x;
        const accumulator a = @{acc.copy("all[0]")};
        if (c < STRIP && c < columns) @{given.write("to[c]", "a", "e.count")}
//@ elseif vec > 1 then
        if (whole)
            write_columns<true>(to, all, e.count, columns@{given.argument});
        else
            write_columns<false>(to, all, e.count, columns@{given.argument});
//@ else
        write_columns<true>(to, all, e.count, columns@{given.argument});
//@ end
    }
}
