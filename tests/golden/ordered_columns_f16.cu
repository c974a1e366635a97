// redtune: the mean of f16 into f32, by the template "ordered_columns" with
// block=128,width=128,vec=8,unroll=8,load=no_allocate,finish=single
// compile with --fmad=false
//
// output[o * inner + i] = (x[0] + ... + x[n-1]) / n
// for each of `outer` times `inner` columns (o, i): x[e] is input[o * outer_step + e * step + i],
// for n = count elements e, combined in the order of docs/order.md. Start it with 128 threads
// per block, on any number of blocks.
//
// A column's elements are rows apart. Those of a vector are VECTOR rows, which one thread takes; a
// chunk's vectors are dealt to the DEPTH threads along the axis, or to those of several blocks.

typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;
typedef unsigned short element;  // in memory
typedef float value;  // in registers
typedef float accumulator;

constexpr u32 BLOCK = 128;  // threads per block
constexpr u32 WIDTH = 128;  // threads side by side, over neighbouring columns
constexpr u32 DEPTH = BLOCK / WIDTH;  // threads along the reduced axis
constexpr u32 VEC = 8;  // columns per thread
constexpr u32 STRIP = WIDTH * VEC;  // columns that a block takes at a time
constexpr u32 VECTOR = 8;  // elements of a column that are combined first
constexpr u32 TOGETHER = 1;  // vectors of each column in flight per thread
constexpr u32 CHUNK_LEVELS = 8;  // 2^8 vectors are a chunk
constexpr u32 CHUNK = VECTOR << CHUNK_LEVELS;  // elements
constexpr u32 BITS = 8;  // 2^BITS vectors of a chunk are a thread's
constexpr u32 TURN_BITS = 8;  // which take 2^TURN_BITS turns at most
constexpr u32 LEVELS = 48;  // of the tree above chunks
constexpr u32 OWN = VEC;  // columns per thread of which it has the value

constexpr u64 LOAD_BYTES = VEC * 2;

static_assert(sizeof(element) == 2 && sizeof(accumulator) == 4, "");
static_assert(LOAD_BYTES <= 16 && BLOCK % 32 == 0 && BLOCK % WIDTH == 0, "");
static_assert(TOGETHER >= 1 && TOGETHER <= 1u << BITS, "");

// As model/launch.h has it.
struct extents {
    u64 count, outer, inner, outer_step, step;
};

static_assert(sizeof(extents) == 40, "");

struct vector {
    u32 word[4];
};

__device__ __forceinline__ float half_to_float(u32 bits)
{
    float x;
    asm("{ .reg .b16 h; cvt.u16.u32 h, %1; cvt.f32.f16 %0, h; }" : "=f"(x) : "r"(bits));
    return x;
}

__device__ __forceinline__ vector load_vector(u64 from)
{
    vector v;
    asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.word[0]), "=r"(v.word[1]), "=r"(v.word[2]), "=r"(v.word[3])
                 : "l"(from));
    return v;
}

__device__ __forceinline__ accumulator combine(accumulator a, accumulator b)
{
    return a + b;
}

__device__ __forceinline__ accumulator map(value x)
{
    return x;
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
    return share{sets, blockIdx.x, 1, 0};
}

// This thread's place among those side by side, and along the reduced axis. Of the places along it
// those of a warp are far apart: what a warp's lanes have is combined before what warps have.
__device__ __forceinline__ u32 across()
{
    return threadIdx.x % WIDTH;
}

__device__ __forceinline__ u32 along()
{
    return threadIdx.x / WIDTH;
}

// A strip is whole if each thread's columns are neighbours that all exist, or none does, and one
// load at a multiple of its bytes brings VEC of them. In other strips a thread's columns are WIDTH
// apart, so that the threads' loads of one element each lie side by side.
template <bool WHOLE>
__device__ __forceinline__ u32 column_of(u32 j)
{
    return WHOLE ? across() * VEC + j : across() + j * WIDTH;
}

__device__ __forceinline__ u32 load_single(const element *from)
{
    u32 word[1];
    asm volatile("ld.global.nc.L1::no_allocate.u16 %0, [%1];"
                 : "=r"(word[0])
                 : "l"(from));
    return word[0];
}

// One element of each of this thread's columns, of a strip of `columns` columns; `from` is that of
// the first.
template <bool WHOLE>
__device__ __forceinline__ vector load_columns(const element *from, u32 columns)
{
    if (!WHOLE) {
        vector v = {};
        if (column_of<false>(0) < columns) v.word[0] |= load_single(from + column_of<false>(0)) << 0;
        if (column_of<false>(1) < columns) v.word[0] |= load_single(from + column_of<false>(1)) << 16;
        if (column_of<false>(2) < columns) v.word[1] |= load_single(from + column_of<false>(2)) << 0;
        if (column_of<false>(3) < columns) v.word[1] |= load_single(from + column_of<false>(3)) << 16;
        if (column_of<false>(4) < columns) v.word[2] |= load_single(from + column_of<false>(4)) << 0;
        if (column_of<false>(5) < columns) v.word[2] |= load_single(from + column_of<false>(5)) << 16;
        if (column_of<false>(6) < columns) v.word[3] |= load_single(from + column_of<false>(6)) << 0;
        if (column_of<false>(7) < columns) v.word[3] |= load_single(from + column_of<false>(7)) << 16;
        return v;
    }
    return load_vector((u64)(from + column_of<WHOLE>(0)));
}

// The elements of a column that are combined first.
struct leaves {
    value x[VECTOR];
};

// Their value, of n at least. What an op takes long to combine is a function of its own, which all columns
// call: a copy for each would take NVRTC minutes.
template <bool FULL>
__device__ __forceinline__ accumulator fold_leaves(leaves own, u32 n)
{
    accumulator leaf[VECTOR];
    leaf[0] = map(own.x[0]);
    if (!FULL && 0 >= n) leaf[0] = 0.0f;
    leaf[1] = map(own.x[1]);
    if (!FULL && 1 >= n) leaf[1] = 0.0f;
    leaf[2] = map(own.x[2]);
    if (!FULL && 2 >= n) leaf[2] = 0.0f;
    leaf[3] = map(own.x[3]);
    if (!FULL && 3 >= n) leaf[3] = 0.0f;
    leaf[4] = map(own.x[4]);
    if (!FULL && 4 >= n) leaf[4] = 0.0f;
    leaf[5] = map(own.x[5]);
    if (!FULL && 5 >= n) leaf[5] = 0.0f;
    leaf[6] = map(own.x[6]);
    if (!FULL && 6 >= n) leaf[6] = 0.0f;
    leaf[7] = map(own.x[7]);
    if (!FULL && 7 >= n) leaf[7] = 0.0f;
    leaf[0] = combine(leaf[0], leaf[4]);
    leaf[1] = combine(leaf[1], leaf[5]);
    leaf[2] = combine(leaf[2], leaf[6]);
    leaf[3] = combine(leaf[3], leaf[7]);
    leaf[0] = combine(leaf[0], leaf[2]);
    leaf[1] = combine(leaf[1], leaf[3]);
    leaf[0] = combine(leaf[0], leaf[1]);
    return leaf[0];
}

// The values of a vector of each of this thread's columns, of which there are n elements at least.
template <bool FULL>
__device__ __forceinline__ void fold_columns(accumulator (&a)[VEC], const vector (&v)[VECTOR], u32 n)
{
    leaves own;
    own.x[0] = half_to_float(v[0].word[0]);
    own.x[1] = half_to_float(v[1].word[0]);
    own.x[2] = half_to_float(v[2].word[0]);
    own.x[3] = half_to_float(v[3].word[0]);
    own.x[4] = half_to_float(v[4].word[0]);
    own.x[5] = half_to_float(v[5].word[0]);
    own.x[6] = half_to_float(v[6].word[0]);
    own.x[7] = half_to_float(v[7].word[0]);
    a[0] = fold_leaves<FULL>(own, n);
    own.x[0] = half_to_float(v[0].word[0] >> 16);
    own.x[1] = half_to_float(v[1].word[0] >> 16);
    own.x[2] = half_to_float(v[2].word[0] >> 16);
    own.x[3] = half_to_float(v[3].word[0] >> 16);
    own.x[4] = half_to_float(v[4].word[0] >> 16);
    own.x[5] = half_to_float(v[5].word[0] >> 16);
    own.x[6] = half_to_float(v[6].word[0] >> 16);
    own.x[7] = half_to_float(v[7].word[0] >> 16);
    a[1] = fold_leaves<FULL>(own, n);
    own.x[0] = half_to_float(v[0].word[1]);
    own.x[1] = half_to_float(v[1].word[1]);
    own.x[2] = half_to_float(v[2].word[1]);
    own.x[3] = half_to_float(v[3].word[1]);
    own.x[4] = half_to_float(v[4].word[1]);
    own.x[5] = half_to_float(v[5].word[1]);
    own.x[6] = half_to_float(v[6].word[1]);
    own.x[7] = half_to_float(v[7].word[1]);
    a[2] = fold_leaves<FULL>(own, n);
    own.x[0] = half_to_float(v[0].word[1] >> 16);
    own.x[1] = half_to_float(v[1].word[1] >> 16);
    own.x[2] = half_to_float(v[2].word[1] >> 16);
    own.x[3] = half_to_float(v[3].word[1] >> 16);
    own.x[4] = half_to_float(v[4].word[1] >> 16);
    own.x[5] = half_to_float(v[5].word[1] >> 16);
    own.x[6] = half_to_float(v[6].word[1] >> 16);
    own.x[7] = half_to_float(v[7].word[1] >> 16);
    a[3] = fold_leaves<FULL>(own, n);
    own.x[0] = half_to_float(v[0].word[2]);
    own.x[1] = half_to_float(v[1].word[2]);
    own.x[2] = half_to_float(v[2].word[2]);
    own.x[3] = half_to_float(v[3].word[2]);
    own.x[4] = half_to_float(v[4].word[2]);
    own.x[5] = half_to_float(v[5].word[2]);
    own.x[6] = half_to_float(v[6].word[2]);
    own.x[7] = half_to_float(v[7].word[2]);
    a[4] = fold_leaves<FULL>(own, n);
    own.x[0] = half_to_float(v[0].word[2] >> 16);
    own.x[1] = half_to_float(v[1].word[2] >> 16);
    own.x[2] = half_to_float(v[2].word[2] >> 16);
    own.x[3] = half_to_float(v[3].word[2] >> 16);
    own.x[4] = half_to_float(v[4].word[2] >> 16);
    own.x[5] = half_to_float(v[5].word[2] >> 16);
    own.x[6] = half_to_float(v[6].word[2] >> 16);
    own.x[7] = half_to_float(v[7].word[2] >> 16);
    a[5] = fold_leaves<FULL>(own, n);
    own.x[0] = half_to_float(v[0].word[3]);
    own.x[1] = half_to_float(v[1].word[3]);
    own.x[2] = half_to_float(v[2].word[3]);
    own.x[3] = half_to_float(v[3].word[3]);
    own.x[4] = half_to_float(v[4].word[3]);
    own.x[5] = half_to_float(v[5].word[3]);
    own.x[6] = half_to_float(v[6].word[3]);
    own.x[7] = half_to_float(v[7].word[3]);
    a[6] = fold_leaves<FULL>(own, n);
    own.x[0] = half_to_float(v[0].word[3] >> 16);
    own.x[1] = half_to_float(v[1].word[3] >> 16);
    own.x[2] = half_to_float(v[2].word[3] >> 16);
    own.x[3] = half_to_float(v[3].word[3] >> 16);
    own.x[4] = half_to_float(v[4].word[3] >> 16);
    own.x[5] = half_to_float(v[5].word[3] >> 16);
    own.x[6] = half_to_float(v[6].word[3] >> 16);
    own.x[7] = half_to_float(v[7].word[3] >> 16);
    a[7] = fold_leaves<FULL>(own, n);
}

// A thread's share of the `left` rows from that of `chunk` on, at most a chunk: of the vectors from
// number `first` on every apart-th, 2^bits in all. They are taken with the bits of their numbers
// reversed, so that neighbours are those that halving combines. FULL: all of them are there.
template <bool WHOLE, bool FULL>
__device__ __forceinline__ void take_chunk(accumulator (&a)[VEC], const element *chunk, u32 left, u64 step,
                                           u32 columns, u32 first, u32 apart, u32 bits)
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
                if (FULL || k < there[i]) v[i][k] = load_columns<WHOLE>(from, columns);
        }
        accumulator part[TOGETHER][VEC];
#pragma unroll
        for (u32 i = 0; i < TOGETHER; i++) fold_columns<FULL>(part[i], v[i], there[i]);
#pragma unroll
        for (u32 j = 0; j < VEC; j++) {
            a[j] = part[0][j];
            do {
                if ((turn >> 0 & 1) == 0) {
                    level[0][j] = a[j];
                    break;
                }
                a[j] = combine(level[0][j], a[j]);
                if ((turn >> 1 & 1) == 0) {
                    level[1][j] = a[j];
                    break;
                }
                a[j] = combine(level[1][j], a[j]);
                if ((turn >> 2 & 1) == 0) {
                    level[2][j] = a[j];
                    break;
                }
                a[j] = combine(level[2][j], a[j]);
                if ((turn >> 3 & 1) == 0) {
                    level[3][j] = a[j];
                    break;
                }
                a[j] = combine(level[3][j], a[j]);
                if ((turn >> 4 & 1) == 0) {
                    level[4][j] = a[j];
                    break;
                }
                a[j] = combine(level[4][j], a[j]);
                if ((turn >> 5 & 1) == 0) {
                    level[5][j] = a[j];
                    break;
                }
                a[j] = combine(level[5][j], a[j]);
                if ((turn >> 6 & 1) == 0) {
                    level[6][j] = a[j];
                    break;
                }
                a[j] = combine(level[6][j], a[j]);
                if ((turn >> 7 & 1) == 0) {
                    level[7][j] = a[j];
                    break;
                }
                a[j] = combine(level[7][j], a[j]);
                level[8][j] = a[j];
            } while (false);
        }
    }
}

struct alignas(16) stored {
    float value[4];
};

// Writes this thread's results: neighbours together, where that is aligned.
template <bool WHOLE>
__device__ __forceinline__ void write_columns(float *output, const accumulator (&a)[VEC],
                                              u64 count, u32 columns)
{
    if (WHOLE && (u64)output % sizeof(stored) == 0) {
        if (column_of<WHOLE>(0) >= columns) return;
#pragma unroll
        for (u32 j = 0; j < VEC; j += 4) {
            stored s;
#pragma unroll
            for (u32 i = 0; i < 4; i++) s.value[i] = (float)((double)a[j + i] / (double)count);
            *(stored *)(output + column_of<WHOLE>(j)) = s;
        }
    } else {
#pragma unroll
        for (u32 j = 0; j < VEC; j++) {
            const u32 column = column_of<WHOLE>(j);
            if (column < columns) output[column] = (float)((double)a[j] / (double)count);
        }
    }
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
                                            const node &at)
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
            take_chunk<WHOLE, true>(a, chunk, left, e.step, columns, first, apart, bits);
        else
            take_chunk<WHOLE, false>(a, chunk, is_there ? left : 0, e.step, columns, first, apart, bits);
#pragma unroll
        for (u32 j = 0; j < OWN; j++) all[j] = a[j];
        if (at.chunks == 1) return;
        u32 k = 0;
        for (; c >> k & 1; k++)
#pragma unroll
            for (u32 j = 0; j < OWN; j++) all[j] = combine(level[k][j], all[j]);
#pragma unroll
        for (u32 j = 0; j < OWN; j++) level[k][j] = all[j];
    }
#pragma unroll
    for (u32 j = 0; j < OWN; j++) all[j] = 0.0f;
    for (u32 k = 0; at.chunks >> k; k++)
        if (at.chunks >> k & 1)
#pragma unroll
            for (u32 j = 0; j < OWN; j++) all[j] = combine(level[k][j], all[j]);
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

extern "C" __global__ void __launch_bounds__(128)
redtune_reduce(const element *input, extents e, float *output, void *scratch, u32 overlaps)
{
    // What the arguments alone say is made before the kernel waits for the one before it.
    const u64 strips = e.inner / STRIP + (e.inner % STRIP > 0);
    share mine = share_of(e.outer * strips);
    strip at = strip_of(mine.set, strips, e);
    const node own = {0, (e.count + CHUNK - 1) / CHUNK, 0, 0};
    // Steps that are not used, of one outer or of one element, keep nothing from being aligned.
    const u64 steps = (e.outer > 1 ? e.outer_step : 0) | (e.count > 1 ? e.step : 0);
    const bool aligned = ((u64)input | steps * sizeof(element)) % LOAD_BYTES == 0;
    accumulator *const shared = nullptr;
    u32 turn = 0;
    for (; mine.set < mine.sets; mine.set += gridDim.x, at = strip_of(mine.set, strips, e)) {
        const u32 columns = at.columns;
        const element *from = input + at.outer * e.outer_step + at.first;
        float *to = output + at.outer * e.inner + at.first;
        accumulator all[OWN];
        const bool whole = aligned && columns % VEC == 0;
        if (whole)
            reduce_node<true>(all, shared, turn, from, e, columns, own);
        else
            reduce_node<false>(all, shared, turn, from, e, columns, own);
#pragma unroll
        for (u32 j = 0; j < OWN; j++) all[j] = combine(0.0f, all[j]);
        if (whole)
            write_columns<true>(to, all, e.count, columns);
        else
            write_columns<false>(to, all, e.count, columns);
    }
}
