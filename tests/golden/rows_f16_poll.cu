// redtune: the mean of f16 into f32, by the template "rows" with
// block=512,lanes=512,rows=1,vec=8,unroll=4,load=no_allocate,finish=poll
//
// output[r] = (x[0] + ... + x[n-1]) / n
// for each of `outer` rows r: n = count elements side by side from input[r * outer_step] on,
// wherever that is. Start it with 512 threads per block, on any number of blocks:
// rows are shared by as many as there are for each.

typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;
typedef unsigned short element;  // in memory
typedef float value;  // in registers
typedef float accumulator;

constexpr u32 BLOCK = 512;  // threads per block
constexpr u32 GROUP = 512;  // threads per row
constexpr u32 GROUPS = BLOCK / GROUP;
constexpr u32 ROWS = 1;  // rows that a group takes at a time
constexpr u32 VEC = 8;  // elements per load
constexpr u32 UNROLL = 4;  // independent loads in flight per thread
constexpr u32 LANES = 8;  // accumulators per thread

constexpr u64 LOAD_BYTES = VEC * 2;
constexpr u64 TILE_BYTES = GROUP * UNROLL * LOAD_BYTES;

static_assert(sizeof(element) == 2, "");
static_assert(LOAD_BYTES <= 16 && BLOCK % 32 == 0 && BLOCK % GROUP == 0, "");

// As model/launch.h has it. Here inner and step are 1.
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

// This thread's place in its group.
__device__ __forceinline__ u32 member()
{
    return threadIdx.x % GROUP;
}

// Where this thread's load i of the tile at that address is.
__device__ __forceinline__ u64 place_of(u64 tile, u32 i)
{
    return tile + member() * LOAD_BYTES + i * (GROUP * LOAD_BYTES);
}

// How many bytes of the tile there are from this thread's first load on, in 32 bits: loads are compared
// with that, and their places differ by what an instruction adds.
__device__ __forceinline__ u32 bytes_of(u64 tile, u64 stop)
{
    const u64 place = place_of(tile, 0), left = stop > place ? stop - place : 0;
    return left < TILE_BYTES ? left : TILE_BYTES;
}

// Whether load i of a tile with so many bytes is there.
__device__ __forceinline__ bool is_there(u32 i, u32 left)
{
    return i * (u32)(GROUP * LOAD_BYTES) < left;
}

// Loads a vector that is there. Of one that is not, nothing is read, and nothing is to be taken.
__device__ __forceinline__ vector load_vector_if(bool there, u64 from)
{
    vector v = {};
    asm volatile("{ .reg .pred p; setp.ne.u32 p, %5, 0; @p ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4]; }"
                 : "+r"(v.word[0]), "+r"(v.word[1]), "+r"(v.word[2]), "+r"(v.word[3])
                 : "l"(from), "r"((u32)(there)));
    return v;
}

// All loads of the tile before the first use; from stop on nothing is read. Whole tiles have no path of
// their own: it would be the other half of the kernel's instructions.
__device__ __forceinline__ void load_tile(vector (&v)[UNROLL], u64 tile, u64 stop)
{
    const u32 left = bytes_of(tile, stop);
#pragma unroll
    for (u32 i = 0; i < UNROLL; i++)
        v[i] = load_vector_if(is_there(i, left), place_of(tile, i));
}

__device__ __forceinline__ value load_element(const element *from)
{
    u32 word[1];
    asm volatile("ld.global.nc.L1::no_allocate.u16 %0, [%1];"
                 : "=r"(word[0])
                 : "l"(from));
    return half_to_float(word[0]);
}

__device__ __forceinline__ accumulator combine(accumulator a, accumulator b)
{
    return a + b;
}

__device__ __forceinline__ accumulator map(value x)
{
    return x;
}

__device__ __forceinline__ void take(accumulator (&part)[LANES], const vector &v)
{
    part[0] = combine(part[0], map(half_to_float(v.word[0])));
    part[1] = combine(part[1], map(half_to_float(v.word[0] >> 16)));
    part[2] = combine(part[2], map(half_to_float(v.word[1])));
    part[3] = combine(part[3], map(half_to_float(v.word[1] >> 16)));
    part[4] = combine(part[4], map(half_to_float(v.word[2])));
    part[5] = combine(part[5], map(half_to_float(v.word[2] >> 16)));
    part[6] = combine(part[6], map(half_to_float(v.word[3])));
    part[7] = combine(part[7], map(half_to_float(v.word[3] >> 16)));
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

// Combines a with the values of every step-th number up to that of the end, once they are there.
__device__ __forceinline__ void collect(accumulator &a, void *scratch, u32 number, u32 step,
                                        u32 end)
{
    for (; number < end; number += AT_ONCE * step) {
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
                    if (i == 0 || number + i * step < end)
                        word[i][k] = load_word(words_of(scratch, number + i * step) + k);
                }
#pragma unroll
            for (u32 i = 0; i < AT_ONCE; i++)
#pragma unroll
                for (u32 k = 0; k < WORDS; k++) flags &= word[i][k];
        } while (flags >> 32 == 0);
#pragma unroll
        for (u32 i = 0; i < AT_ONCE; i++) {
            if (i > 0 && number + i * step >= end) break;
#pragma unroll
            for (u32 k = 0; k < WORDS; k++)
                store_word(words_of(scratch, number + i * step) + k, 0);
            const u32 half0 = (u32)word[i][0];
            a = combine(a, __uint_as_float(half0));
        }
    }
}

// Lane 0 returns the combination of the warp's values.
__device__ __forceinline__ accumulator reduce_warp(accumulator a)
{
    a = combine(a, __shfl_down_sync(0xffffffff, a, 16));
    a = combine(a, __shfl_down_sync(0xffffffff, a, 8));
    a = combine(a, __shfl_down_sync(0xffffffff, a, 4));
    a = combine(a, __shfl_down_sync(0xffffffff, a, 2));
    a = combine(a, __shfl_down_sync(0xffffffff, a, 1));
    return a;
}

// Member 0 of each group gets the combinations of the group's values. All threads of the block
// call it, with turn = 0, 1, 0, 1, ...
__device__ __forceinline__ void reduce_group(accumulator (&a)[ROWS], u32 turn)
{
#pragma unroll
    for (u32 r = 0; r < ROWS; r++) a[r] = reduce_warp(a[r]);
    // Two sets of values, so that one barrier does: who writes a set again has passed the barrier
    // of the other, before which all have read this one.
    __shared__ accumulator warp_value[2][ROWS][BLOCK / 32];
    const u32 warp = threadIdx.x / 32, lane = threadIdx.x % 32;
#pragma unroll
    for (u32 r = 0; r < ROWS; r++)
        if (lane == 0) warp_value[turn][r][warp] = a[r];
    __syncthreads();
    if (warp % 16 == 0) {
#pragma unroll
        for (u32 r = 0; r < ROWS; r++) {
            a[r] = lane < 16 ? warp_value[turn][r][warp + lane] : 0.0f;
            a[r] = combine(a[r], __shfl_down_sync(0xffffffff, a[r], 8));
            a[r] = combine(a[r], __shfl_down_sync(0xffffffff, a[r], 4));
            a[r] = combine(a[r], __shfl_down_sync(0xffffffff, a[r], 2));
            a[r] = combine(a[r], __shfl_down_sync(0xffffffff, a[r], 1));
        }
    }
}

// What a thread has of a row: the loads of a tile of its group, and where they end.
struct progress {
    u64 begin, body, stop, tile;
    vector v[UNROLL];
};

// Starts with the `count` elements from input on. Loads are aligned: from body up to stop, which
// are the row's ends if it is ALIGNED. The first ones are on their way before anything is computed
// that they do not need.
template <bool ALIGNED>
__device__ __forceinline__ void begin_row(progress &p, const element *input, u64 count,
                                          const share &mine)
{
    p.begin = (u64)input;
    const u64 end = p.begin + count * sizeof(element);
    p.body = ALIGNED ? p.begin : (p.begin + LOAD_BYTES - 1) / LOAD_BYTES * LOAD_BYTES;
    p.stop = ALIGNED ? end : end / LOAD_BYTES * LOAD_BYTES;
    p.tile = p.body + mine.split * TILE_BYTES;
    load_tile(p.v, p.tile, p.stop);
}

// Each thread returns its share of what was started with: tiles are dealt round-robin to the
// splits.
template <bool ALIGNED>
__device__ __forceinline__ accumulator end_row(progress &p, const element *input, u64 count,
                                               const share &mine)
{
    const u64 stop = p.stop;
    u64 tile = p.tile;
    vector(&v)[UNROLL] = p.v;
    accumulator part[LANES];
#pragma unroll
    for (u32 j = 0; j < LANES; j++) part[j] = 0.0f;
    accumulator edge = 0.0f;
    // Fewer than VEC elements stand before body and behind stop: all, if nothing is between these.
    const u64 head = (u32)(p.body - p.begin) / sizeof(element);
    const u64 between = stop > p.body ? (stop - p.body) / sizeof(element) : 0;
    for (u64 i = member(); !ALIGNED && i < count - between; i += GROUP) {
        if (mine.split > 0) break;
        const u64 at = i < head ? i : i + between;
        edge = combine(edge, map(load_element(input + at)));
    }

    while (tile < stop) {
        {
            const u32 left = bytes_of(tile, stop);
#pragma unroll
            for (u32 i = 0; i < UNROLL; i++)
                if (is_there(i, left))
                    take(part, v[i]);
        }
        tile += mine.splits * TILE_BYTES;
        // Loads that are not there would cost instructions, too.
        if (tile >= stop) break;
        load_tile(v, tile, stop);
    }
    part[0] = combine(part[0], part[4]);
    part[1] = combine(part[1], part[5]);
    part[2] = combine(part[2], part[6]);
    part[3] = combine(part[3], part[7]);
    part[0] = combine(part[0], part[2]);
    part[1] = combine(part[1], part[3]);
    part[0] = combine(part[0], part[1]);
    return combine(part[0], edge);
}

// Each thread gets its shares of the rows from that one on, GROUPS apart. The loads of all are on
// their way before one is used.
template <bool ALIGNED>
__device__ __forceinline__ void reduce_rows(accumulator (&a)[ROWS], const element *input, u64 row,
                                            const extents &e, const share &mine)
{
    const u64 most = e.count;
    progress p[ROWS];
    const element *from[ROWS];
    u64 count[ROWS];
#pragma unroll
    for (u32 r = 0; r < ROWS; r++, row += GROUPS) {
        from[r] = input + (row < e.outer ? row * e.outer_step : 0);
        count[r] = row < e.outer ? most : 0;
        begin_row<ALIGNED>(p[r], from[r], count[r], mine);
    }
#pragma unroll
    for (u32 r = 0; r < ROWS; r++)
        a[r] = end_row<ALIGNED>(p[r], from[r], count[r], mine);
}

constexpr u32 SET = GROUPS * ROWS;  // rows that a block takes at a time

__device__ __forceinline__ u64 sets_of(const extents &e)
{
    return (e.outer + SET - 1) / SET;
}

extern "C" __global__ void __launch_bounds__(512)
redtune_reduce(const element *input, extents e, float *output, void *scratch, u32 overlaps)
{
    // A block's threads go on together, those too that have no row left.
    const u64 steps = (e.outer > 1 ? e.outer_step : 0) | e.count;
    const bool aligned = ((u64)input | steps * sizeof(element)) % LOAD_BYTES == 0;
    u32 turn = 0;
    for (share mine = share_of(sets_of(e)); mine.set < mine.sets; mine.set += gridDim.x) {
        const u64 row = mine.set * SET + threadIdx.x / GROUP;
        accumulator a[ROWS];
        if (aligned)
            reduce_rows<true>(a, input, row, e, mine);
        else
            reduce_rows<false>(a, input, row, e, mine);
        // The last split's threads take up what the others leave with their own.
        const bool last = mine.split == mine.splits - 1;
        if (last)
            collect(a[0], scratch, number_of(mine, threadIdx.x), BLOCK * (u32)mine.sets,
                    number_of(mine, mine.split));
        reduce_group(a, turn);
        turn ^= 1;
        if (!last) {
            if (threadIdx.x == 0) leave(scratch, number_of(mine, mine.split), a[0]);
            return;
        }
#pragma unroll
        for (u32 r = 0; r < ROWS; r++)
            if (row + r * GROUPS < e.outer && member() == 0)
                output[row + r * GROUPS] = (float)((double)a[r] / (double)e.count);
    }
}
