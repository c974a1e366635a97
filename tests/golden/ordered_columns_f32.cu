// redtune: the dot of f32 into f32, by the template "ordered_columns" with
// block=256,width=4,vec=4,unroll=8,load=no_allocate,finish=poll
// compile with --fmad=false
//
// output[o * inner + i] = x[0] * y[0] + ... + x[n-1] * y[n-1]
// for each of `outer` times `inner` columns (o, i): x[e] is input[o * outer_step + e * step + i],
// for n = count elements e, combined in the order of docs/order.md. Start it with 256 threads
// per block, on any number of blocks:
// strips of 16 columns are shared by as many as there are for each.
//
// A column's elements are rows apart. Those of a vector are VECTOR rows, which one thread takes; a
// chunk's vectors are dealt to the DEPTH threads along the axis, or to those of several blocks.

typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;
typedef float element;  // in memory
typedef float value;  // in registers
typedef float accumulator;

// As model/launch.h has it.
struct arguments {
    u64 input, output;
    double scalar[2];
    u64 scalars, count, resumes;
};

static_assert(sizeof(arguments) == 56, "");

struct values {
    u64 to_second;  // from an element of the first input to that of the second, in bytes
};

// Where the second input's element is that lies as that one of the first.
template <typename T>
__device__ __forceinline__ const T *second_of(const T *first, const values &given)
{
    return (const T *)((u64)first + given.to_second);
}

__device__ __forceinline__ values values_of(const arguments &rest, const void *input,
                                            float *output)
{
    values given;
    given.to_second = rest.input - (u64)input;
    return given;
}

constexpr u32 BLOCK = 256;  // threads per block
constexpr u32 WIDTH = 4;  // threads side by side, over neighbouring columns
constexpr u32 DEPTH = BLOCK / WIDTH;  // threads along the reduced axis
constexpr u32 VEC = 4;  // columns per thread
constexpr u32 STRIP = WIDTH * VEC;  // columns that a block takes at a time
constexpr u32 VECTOR = 4;  // elements of a column that are combined first
constexpr u32 TOGETHER = 2;  // vectors of each column in flight per thread
constexpr u32 CHUNK_LEVELS = 8;  // 2^8 vectors are a chunk
constexpr u32 CHUNK = VECTOR << CHUNK_LEVELS;  // elements
constexpr u32 BITS = 2;  // 2^BITS vectors of a chunk are a thread's
constexpr u32 TURN_BITS = 1;  // which take 2^TURN_BITS turns at most
constexpr u32 LEVELS = 48;  // of the tree above chunks
constexpr u32 OWN = 1;  // columns per thread of which it has the value

constexpr u64 LOAD_BYTES = VEC * 4;

static_assert(sizeof(element) == 4 && sizeof(accumulator) == 4, "");
static_assert(LOAD_BYTES <= 16 && BLOCK % 32 == 0 && BLOCK % WIDTH == 0, "");
static_assert(TOGETHER >= 1 && TOGETHER <= 1u << BITS, "");
static_assert(STRIP <= BLOCK, "");

// As model/launch.h has it.
struct extents {
    u64 count, outer, inner, outer_step, step;
};

static_assert(sizeof(extents) == 40, "");

struct vector {
    float word[4];
    float other[4];  // of the second input
};

__device__ __forceinline__ float load_piece(u64 from)
{
    float word[1];
    asm volatile("ld.global.nc.L1::no_allocate.f32 %0, [%1];"
                 : "=f"(word[0])
                 : "l"(from));
    return word[0];
}

__device__ __forceinline__ vector load_vector(u64 from, const values &given)
{
    vector v;
    asm volatile("ld.global.nc.L1::no_allocate.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(v.word[0]), "=f"(v.word[1]), "=f"(v.word[2]), "=f"(v.word[3])
                 : "l"(from));
    const u64 second = from + given.to_second;
    if (given.to_second % LOAD_BYTES > 0) {
        // Nothing but its elements may be read, and one may lie anywhere.
        v.other[0] = load_piece(second + 0);
        v.other[1] = load_piece(second + 4);
        v.other[2] = load_piece(second + 8);
        v.other[3] = load_piece(second + 12);
        return v;
    }
    asm volatile("ld.global.nc.L1::no_allocate.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(v.other[0]), "=f"(v.other[1]), "=f"(v.other[2]), "=f"(v.other[3])
                 : "l"(second));
    return v;
}

__device__ __forceinline__ accumulator combine(accumulator a, accumulator b, const values &given)
{
    return a + b;
}

__device__ __forceinline__ accumulator map(value x, value y, const values &given)
{
    return x * y;
}

// Which of the sets of results that blocks make a block makes, from which of the splits of their
// elements.
struct share {
    u64 sets, set;
    u32 splits, split;
};

// Where there are two blocks for each set, all are shared by as many. Block b takes split b /
// sets: those that read side by side start together, and those of the last split after all others.
// So these may wait for the others, which have multiprocessors already. There is no set for what
// is left over.
__device__ __forceinline__ share share_of(u64 sets)
{
    if (sets > gridDim.x / 2) return share{sets, blockIdx.x, 1, 0};
    const u32 n = sets, splits = gridDim.x / n, split = blockIdx.x / n;
    return share{sets, split < splits ? blockIdx.x - split * n : sets, splits, split};
}

// The number of the block that has that split of the same set.
__device__ __forceinline__ u32 number_of(const share &mine, u32 split)
{
    return (u32)mine.set + split * (u32)mine.sets;
}

constexpr u32 AT_ONCE = 8;  // values that a thread asks for at a time

// A block hands over its value in words of 32 bits of it and, above them, a flag. A word is one
// store, so that whoever sees the flag has the bits: no fence, no atomic operation. Words are zero
// before and after. Every access is relaxed, the clearing too: a plain store would race.
constexpr u32 WORDS = 1;

__device__ __forceinline__ u64 *words_of(void *scratch, u32 block)
{
    return (u64 *)((char *)scratch + 256) + block * WORDS;
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
    store_word(to + 0, 1ull << 32 | __float_as_uint(a));
}

// A thread hands over a value, which is the one of that number of its launch.
__device__ __forceinline__ void leave(void *scratch, u32 number, accumulator a)
{
    publish(words_of(scratch, number), a);
}

// The combination of n nodes' values, neighbours first: the first is the one of that number of the
// launch, and each of the others `step` behind the one before it. No thread of the block has more
// than `most`, which is the same for all of them.
__device__ __forceinline__ accumulator reduce_nodes(void *scratch, u32 number, u32 step, u32 n, u32 most, const values &given)
{
    constexpr u32 LEVELS = 7;
    accumulator level[LEVELS], a = 0.0f;
#pragma unroll
    for (u32 k = 0; k < LEVELS; k++) level[k] = 0.0f;
    u32 taken = 0;
    // All lanes of a warp go on together: lanes that leave a loop of such loads at different times
    // came to the next barrier at different times on an H200, and the first of them counted for all.
    for (u32 first = 0; first < most; first += AT_ONCE, taken++) {
        accumulator value[AT_ONCE];
        u64 word[AT_ONCE][WORDS];
        u64 flags;
        // All words are asked for before one is looked at.
        do {
            flags = 1ull << 32;
#pragma unroll
            for (u32 i = 0; i < AT_ONCE; i++)
#pragma unroll
                for (u32 k = 0; k < WORDS; k++) {
                    word[i][k] = 1ull << 32;
                    if (first + i < n)
                        word[i][k] = load_word(words_of(scratch, number + (first + i) * step) + k);
                }
#pragma unroll
            for (u32 i = 0; i < AT_ONCE; i++)
#pragma unroll
                for (u32 k = 0; k < WORDS; k++) flags &= word[i][k];
        } while (__any_sync(0xffffffff, flags >> 32 == 0));
#pragma unroll
        for (u32 i = 0; i < AT_ONCE; i++) {
            if (first + i < n)
#pragma unroll
                for (u32 k = 0; k < WORDS; k++)
                    store_word(words_of(scratch, number + (first + i) * step) + k, 0);
            const u32 half0 = (u32)word[i][0];
            value[i] = __uint_as_float(half0);
            if (first + i >= n) value[i] = 0.0f;
        }
        value[0] = combine(value[0], value[1], given);
        value[2] = combine(value[2], value[3], given);
        value[4] = combine(value[4], value[5], given);
        value[6] = combine(value[6], value[7], given);
        value[0] = combine(value[0], value[2], given);
        value[4] = combine(value[4], value[6], given);
        value[0] = combine(value[0], value[4], given);
            do {
                if ((taken >> 0 & 1) == 0) {
                    level[0] = value[0];
                    break;
                }
                value[0] = combine(level[0], value[0], given);
                if ((taken >> 1 & 1) == 0) {
                    level[1] = value[0];
                    break;
                }
                value[0] = combine(level[1], value[0], given);
                if ((taken >> 2 & 1) == 0) {
                    level[2] = value[0];
                    break;
                }
                value[0] = combine(level[2], value[0], given);
                if ((taken >> 3 & 1) == 0) {
                    level[3] = value[0];
                    break;
                }
                value[0] = combine(level[3], value[0], given);
                if ((taken >> 4 & 1) == 0) {
                    level[4] = value[0];
                    break;
                }
                value[0] = combine(level[4], value[0], given);
                if ((taken >> 5 & 1) == 0) {
                    level[5] = value[0];
                    break;
                }
                value[0] = combine(level[5], value[0], given);
                level[6] = value[0];
            } while (false);
    }
    a = 0.0f;
#pragma unroll
    for (u32 k = 0; k < LEVELS; k++)
        if (taken >> k & 1) a = combine(level[k], a, given);
    return a;
}

// This thread's place among those side by side, and along the reduced axis. Of the places along it
// those of a warp are far apart: what a warp's lanes have is combined before what warps have.
__device__ __forceinline__ u32 across()
{
    return threadIdx.x % WIDTH;
}

__device__ __forceinline__ u32 along()
{
    return threadIdx.x % 32 / WIDTH * 8 + threadIdx.x / 32;
}

// A strip is whole if each thread's columns are neighbours that all exist, or none does, and one
// load at a multiple of its bytes brings VEC of them. In other strips a thread's columns are WIDTH
// apart, so that the threads' loads of one element each lie side by side.
template <bool WHOLE>
__device__ __forceinline__ u32 column_of(u32 j)
{
    return WHOLE ? across() * VEC + j : across() + j * WIDTH;
}

__device__ __forceinline__ float load_single(const element *from)
{
    float word[1];
    asm volatile("ld.global.nc.L1::no_allocate.f32 %0, [%1];"
                 : "=f"(word[0])
                 : "l"(from));
    return word[0];
}

// One element of each of this thread's columns, of a strip of `columns` columns; `from` is that of
// the first.
template <bool WHOLE>
__device__ __forceinline__ vector load_columns(const element *from, u32 columns, const values &given)
{
    if (!WHOLE) {
        vector v = {};
        if (column_of<false>(0) < columns) v.word[0] = load_single(from + column_of<false>(0));
        if (column_of<false>(1) < columns) v.word[1] = load_single(from + column_of<false>(1));
        if (column_of<false>(2) < columns) v.word[2] = load_single(from + column_of<false>(2));
        if (column_of<false>(3) < columns) v.word[3] = load_single(from + column_of<false>(3));
        from = second_of(from, given);
        if (column_of<false>(0) < columns) v.other[0] = load_single(from + column_of<false>(0));
        if (column_of<false>(1) < columns) v.other[1] = load_single(from + column_of<false>(1));
        if (column_of<false>(2) < columns) v.other[2] = load_single(from + column_of<false>(2));
        if (column_of<false>(3) < columns) v.other[3] = load_single(from + column_of<false>(3));
        return v;
    }
    return load_vector((u64)(from + column_of<WHOLE>(0)), given);
}

// The elements of a column that are combined first.
struct leaves {
    value x[VECTOR];
    value y[VECTOR];
};

// Their value, of n at least. What an op takes long to combine is a function of its own, which all columns
// call: a copy for each would take NVRTC minutes.
template <bool FULL>
__device__ __forceinline__ accumulator fold_leaves(leaves own, u32 n, const values &given)
{
    accumulator leaf[VECTOR];
    leaf[0] = map(own.x[0], own.y[0], given);
    if (!FULL && 0 >= n) leaf[0] = 0.0f;
    leaf[1] = map(own.x[1], own.y[1], given);
    if (!FULL && 1 >= n) leaf[1] = 0.0f;
    leaf[2] = map(own.x[2], own.y[2], given);
    if (!FULL && 2 >= n) leaf[2] = 0.0f;
    leaf[3] = map(own.x[3], own.y[3], given);
    if (!FULL && 3 >= n) leaf[3] = 0.0f;
    leaf[0] = combine(leaf[0], leaf[2], given);
    leaf[1] = combine(leaf[1], leaf[3], given);
    leaf[0] = combine(leaf[0], leaf[1], given);
    return leaf[0];
}

// The values of a vector of each of this thread's columns, of which there are n elements at least.
template <bool FULL>
__device__ __forceinline__ void fold_columns(accumulator (&a)[VEC], const vector (&v)[VECTOR], u32 n, const values &given)
{
    leaves own;
    own.x[0] = v[0].word[0];
    own.y[0] = v[0].other[0];
    own.x[1] = v[1].word[0];
    own.y[1] = v[1].other[0];
    own.x[2] = v[2].word[0];
    own.y[2] = v[2].other[0];
    own.x[3] = v[3].word[0];
    own.y[3] = v[3].other[0];
    a[0] = fold_leaves<FULL>(own, n, given);
    own.x[0] = v[0].word[1];
    own.y[0] = v[0].other[1];
    own.x[1] = v[1].word[1];
    own.y[1] = v[1].other[1];
    own.x[2] = v[2].word[1];
    own.y[2] = v[2].other[1];
    own.x[3] = v[3].word[1];
    own.y[3] = v[3].other[1];
    a[1] = fold_leaves<FULL>(own, n, given);
    own.x[0] = v[0].word[2];
    own.y[0] = v[0].other[2];
    own.x[1] = v[1].word[2];
    own.y[1] = v[1].other[2];
    own.x[2] = v[2].word[2];
    own.y[2] = v[2].other[2];
    own.x[3] = v[3].word[2];
    own.y[3] = v[3].other[2];
    a[2] = fold_leaves<FULL>(own, n, given);
    own.x[0] = v[0].word[3];
    own.y[0] = v[0].other[3];
    own.x[1] = v[1].word[3];
    own.y[1] = v[1].other[3];
    own.x[2] = v[2].word[3];
    own.y[2] = v[2].other[3];
    own.x[3] = v[3].word[3];
    own.y[3] = v[3].other[3];
    a[3] = fold_leaves<FULL>(own, n, given);
}

// A thread's share of the `left` rows from that of `chunk` on, at most a chunk: of the vectors from
// number `first` on every apart-th, 2^bits in all. They are taken with the bits of their numbers
// reversed, so that neighbours are those that halving combines. FULL: all of them are there.
template <bool WHOLE, bool FULL>
__device__ __forceinline__ void take_chunk(accumulator (&a)[VEC], const element *chunk, u32 left, u64 step,
                                           u32 columns, u32 first, u32 apart, u32 bits, const values &given)
{
    accumulator level[TURN_BITS + 1][VEC];
#pragma unroll
    for (u32 k = 0; k <= TURN_BITS; k++)
#pragma unroll
        for (u32 j = 0; j < VEC; j++) level[k][j] = 0.0f;
#pragma unroll
    for (u32 j = 0; j < VEC; j++) a[j] = 0.0f;
#pragma unroll 1
    for (u32 turn = 0; turn * TOGETHER < 1u << bits; turn++) {
        // All loads before the first use.
        vector v[TOGETHER][VECTOR];
        u32 there[TOGETHER];
#pragma unroll
        for (u32 i = 0; i < TOGETHER; i++) {
            const u32 number = turn * TOGETHER + i, at = bits == 0 ? 0 : __brev(number) >> (32 - bits);
            const u32 row = (first + at * apart) * VECTOR;
            const element *from = chunk + row * step;
            there[i] = number < 1u << bits && row < left ? left - row : 0;
#pragma unroll
            for (u32 k = 0; k < VECTOR; k++, from += step)
                if (FULL || k < there[i]) v[i][k] = load_columns<WHOLE>(from, columns, given);
        }
        accumulator part[TOGETHER][VEC];
#pragma unroll
        for (u32 i = 0; i < TOGETHER; i++) fold_columns<FULL>(part[i], v[i], there[i], given);
#pragma unroll
        for (u32 j = 0; j < VEC; j++) {
            part[0][j] = combine(part[0][j], part[1][j], given);
            a[j] = part[0][j];
            do {
                if ((turn >> 0 & 1) == 0) {
                    level[0][j] = a[j];
                    break;
                }
                a[j] = combine(level[0][j], a[j], given);
                level[1][j] = a[j];
            } while (false);
        }
    }
}

// The threads' values meet in shared memory: of each column ROWS, after those of a warp are combined.
constexpr u32 ROWS = 8;
constexpr u32 SHARED = ROWS * STRIP > BLOCK ? ROWS * STRIP : BLOCK;

static_assert(2 * SHARED * sizeof(accumulator) <= 49152, "");

// N values, the upper half combined into the lower.
template <u32 N>
__device__ __forceinline__ accumulator halve(const accumulator *from, u32 apart, const values &given)
{
    if constexpr (N == 1)
        return from[0];
    else
        return combine(halve<N / 2>(from, 2 * apart, given),
                       halve<N / 2>(from + apart, 2 * apart, given), given);
}

// The first STRIP threads return the combination of all threads' values of a column. All threads of
// the block call it, each time with the other half of the shared memory: who writes one again has
// passed the barrier of the other, before which the one was read.
template <bool WHOLE>
__device__ __forceinline__ accumulator reduce_threads(accumulator *shared, accumulator (&a)[VEC], const values &given)
{
#pragma unroll
    for (u32 j = 0; j < VEC; j++) a[j] = combine(a[j], __shfl_down_sync(0xffffffff, a[j], 16), given);
#pragma unroll
    for (u32 j = 0; j < VEC; j++) a[j] = combine(a[j], __shfl_down_sync(0xffffffff, a[j], 8), given);
#pragma unroll
    for (u32 j = 0; j < VEC; j++) a[j] = combine(a[j], __shfl_down_sync(0xffffffff, a[j], 4), given);
    const u32 row = threadIdx.x / 32;
    if (threadIdx.x % 32 < WIDTH)
#pragma unroll
    for (u32 j = 0; j < VEC; j++) shared[row * STRIP + column_of<WHOLE>(j)] = a[j];
    __syncthreads();
    accumulator all = 0.0f;
    if (threadIdx.x < STRIP) all = halve<ROWS>(shared + threadIdx.x, STRIP, given);
    return all;
}

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
template <bool WHOLE>
__device__ __forceinline__ void reduce_node(accumulator (&all)[OWN], accumulator *shared, u32 &turn,
                                            const element *from, const extents &e, u32 columns,
                                            const node &at, const values &given)
{
    const u32 first = at.part + (along() << at.parts), apart = DEPTH << at.parts;
    const bool is_there = column_of<WHOLE>(0) < columns;
    // What waits for its neighbour: after n chunks there is a value of 2^k for each bit k of n.
    accumulator level[LEVELS][OWN];
    for (u64 c = 0; c < at.chunks; c++) {
        const u64 row = (at.chunk + c) * CHUNK, rows = e.count - row;
        const u32 left = rows < CHUNK ? (u32)rows : CHUNK;
        const u32 bits = bits_of(at, left);
        accumulator a[VEC];
        const element *chunk = from + row * e.step;
        // No copy of its own for complete chunks of what is loaded element by element.
        if (WHOLE && left == CHUNK && is_there)
            take_chunk<WHOLE, true>(a, chunk, left, e.step, columns, first, apart, bits, given);
        else
            take_chunk<WHOLE, false>(a, chunk, is_there ? left : 0, e.step, columns, first, apart, bits, given);
        all[0] = reduce_threads<WHOLE>(shared + turn * SHARED, a, given);
        turn ^= 1;
        if (at.chunks == 1) return;
        u32 k = 0;
        for (; c >> k & 1; k++)
#pragma unroll
            for (u32 j = 0; j < OWN; j++) all[j] = combine(level[k][j], all[j], given);
#pragma unroll
        for (u32 j = 0; j < OWN; j++) level[k][j] = all[j];
    }
#pragma unroll
    for (u32 j = 0; j < OWN; j++) all[j] = 0.0f;
    for (u32 k = 0; at.chunks >> k; k++)
        if (at.chunks >> k & 1)
#pragma unroll
            for (u32 j = 0; j < OWN; j++) all[j] = combine(level[k][j], all[j], given);
}

constexpr u32 GROUPS = BLOCK / STRIP;  // of threads with a column each
constexpr u32 LEAST = 7;  // 2^LEAST vectors are a node at least, where there are as many
constexpr u32 NODES_MAX = GROUPS * AT_ONCE << 6;

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
__device__ __forceinline__ accumulator join(const accumulator *from, u32 apart, const values &given)
{
    if constexpr (N == 1)
        return from[0];
    else
        return combine(join<N / 2>(from, apart, given),
                       join<N / 2>(from + N / 2 * apart, apart, given), given);
}

// Hands on this block's node of a strip, or makes the strip's results of all blocks' nodes.
__device__ __forceinline__ void finish_nodes(accumulator own, accumulator *shared, const share &mine,
                                             void *scratch, float *output, u64 count,
                                             u32 columns, const values &given)
{
    const u32 step = (u32)mine.sets * STRIP, first = (u32)mine.set * STRIP;
    if (threadIdx.x < STRIP) leave(scratch, first + mine.split * step + threadIdx.x, own);
    if (mine.split < mine.splits - 1) return;
    const u32 group = threadIdx.x / STRIP, column = threadIdx.x % STRIP;
    u32 each = 1;
    while (each * GROUPS < mine.splits) each *= 2;
    const u32 begin = group * each, left = begin < mine.splits ? mine.splits - begin : 0;
    accumulator a = reduce_nodes(scratch, first + begin * step + column, step, left < each ? left : each, each, given);
    shared[threadIdx.x] = a;
    __syncthreads();
    if (threadIdx.x >= columns || threadIdx.x >= STRIP) return;
    a = combine(0.0f, join<GROUPS>(shared + column, STRIP, given), given);
    output[column] = a;
}

struct strip {
    u64 outer, first;  // the index of all its columns, and the first of them
    u32 columns;
};

// Of a few strips all have about as many columns: the blocks that share one have as much to do as
// those of another then. A strip has whole loads, or whole lines or sectors where rows begin with one.
// Each outer index has `strips` of them.
__device__ __forceinline__ strip strip_of(u64 set, u64 strips, const extents &e)
{
    constexpr u32 FEW = 64, LINE = 64 / sizeof(element), SECTOR = 32 / sizeof(element);
    const u64 outer = e.outer > 1 ? set / strips : 0, number = set - outer * strips;
    const u64 first = number * STRIP, left = e.inner - first;
    if (strips > FEW || e.inner % STRIP == 0) return strip{outer, first, left < STRIP ? (u32)left : STRIP};
    const u32 unit = STRIP % LINE == 0 && e.step % LINE == 0       ? LINE
                     : STRIP % SECTOR == 0 && e.step % SECTOR == 0 ? SECTOR
                                                                     : VEC;
    const u32 inner = e.inner, units = (inner + unit - 1) / unit, n = strips, k = number;
    const u32 begin = k * units / n * unit, end = (k + 1) * units / n * unit;
    return strip{outer, begin, (end < inner ? end : inner) - begin};
}

extern "C" __global__ void __launch_bounds__(256)
redtune_reduce(const element *input, extents e, float *output, void *scratch, u32 overlaps, arguments rest)
{
    // What the arguments alone say is made before the kernel waits for the one before it.
    const u64 strips = e.inner / STRIP + (e.inner % STRIP > 0);
    share mine = share_of(e.outer * strips);
    strip at = strip_of(mine.set, strips, e);
    const node own = node_of(mine, e.count);
    const values given = values_of(rest, input, output);
    // Steps that are not used, of one outer or of one element, keep nothing from being aligned.
    const u64 steps = (e.outer > 1 ? e.outer_step : 0) | (e.count > 1 ? e.step : 0);
    const bool aligned = ((u64)input | steps * sizeof(element)) % LOAD_BYTES == 0;
    __shared__ alignas(16) accumulator shared[2 * SHARED];
    u32 turn = 0;
    for (; mine.set < mine.sets; mine.set += gridDim.x, at = strip_of(mine.set, strips, e)) {
        if (mine.split >= mine.splits) return;
        const u32 columns = at.columns;
        const element *from = input + at.outer * e.outer_step + at.first;
        float *to = output + at.outer * e.inner + at.first;
        accumulator all[OWN];
        const bool whole = aligned && columns % VEC == 0;
        if (whole)
            reduce_node<true>(all, shared, turn, from, e, columns, own, given);
        else
            reduce_node<false>(all, shared, turn, from, e, columns, own, given);
        if (mine.splits > 1) {
            finish_nodes(all[0], shared + turn * SHARED, mine, scratch, to, e.count, columns, given);
            return;
        }
#pragma unroll
        for (u32 j = 0; j < OWN; j++) all[j] = combine(0.0f, all[j], given);
        const u32 c = threadIdx.x;
        const accumulator a = all[0];
        if (c < STRIP && c < columns) to[c] = a;
    }
}
