// redtune: the sum of f32 into f32, by the template "rows" with
// block=128,lanes=4,rows=4,vec=4,unroll=1,load=no_allocate,finish=single
//
// output[r] = x[0] + ... + x[n-1]
// for each of `outer` rows r: n = count elements side by side from input[r * outer_step] on,
// wherever that is.
// Start it with 128 threads per block, on any number of blocks.

typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;
typedef float element;  // in memory
typedef float value;  // in registers
typedef float accumulator;

constexpr u32 BLOCK = 128;  // threads per block
constexpr u32 GROUP = 4;  // threads of a group, which take a result
constexpr u32 GROUPS = BLOCK / GROUP;
constexpr u32 ROWS = 4;  // results that a thread, a group or a block takes at once or one after the other
constexpr u32 VEC = 4;  // elements per load
constexpr u32 UNROLL = 1;  // independent loads in flight per thread
constexpr u32 LANES = 4;  // accumulators per thread
constexpr u64 LOAD_BYTES = VEC * 4;
constexpr u64 TILE_BYTES = GROUP * UNROLL * LOAD_BYTES;

static_assert(sizeof(element) == 4, "");
static_assert(LOAD_BYTES <= 16 && BLOCK % 32 == 0 && BLOCK % GROUP == 0, "");

// As model/launch.h has it. Of rows inner and step are 1.
struct extents {
    u64 count, outer, inner, outer_step, step;
};

static_assert(sizeof(extents) == 40, "");

struct vector {
    float word[4];
};

__device__ __forceinline__ vector load_vector(u64 from)
{
    vector v;
    asm volatile("ld.global.nc.L1::no_allocate.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(v.word[0]), "=f"(v.word[1]), "=f"(v.word[2]), "=f"(v.word[3])
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
    asm volatile("{ .reg .pred p; setp.ne.u32 p, %5, 0; @p ld.global.nc.L1::no_allocate.v4.f32 {%0, %1, %2, %3}, [%4]; }"
                 : "+f"(v.word[0]), "+f"(v.word[1]), "+f"(v.word[2]), "+f"(v.word[3])
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
    float word[1];
    asm volatile("ld.global.nc.L1::no_allocate.f32 %0, [%1];"
                 : "=f"(word[0])
                 : "l"(from));
    return word[0];
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
    part[0] = combine(part[0], map(v.word[0]));
    part[1] = combine(part[1], map(v.word[1]));
    part[2] = combine(part[2], map(v.word[2]));
    part[3] = combine(part[3], map(v.word[3]));
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

// Member 0 of each group gets the combinations of the group's values. All threads of the block
// call it, with turn = 0, 1, 0, 1, ...
__device__ __forceinline__ void reduce_group(accumulator (&a)[ROWS], u32 turn)
{
    // Further members are given values of the next group, and theirs are not looked at.
#pragma unroll
    for (u32 r = 0; r < ROWS; r++) a[r] = combine(a[r], __shfl_down_sync(0xffffffff, a[r], 2));
#pragma unroll
    for (u32 r = 0; r < ROWS; r++) a[r] = combine(a[r], __shfl_down_sync(0xffffffff, a[r], 1));
}

// What a thread has of a row: the loads of a tile of its group, and where they end.
struct progress {
    u64 begin, body, stop, tile;
    vector v[UNROLL];
};

// Starts with the `count` elements from input on. Loads are aligned: from body up to stop, which
// are the row's ends if these are aligned. The first ones are on their way before anything is computed
// that they do not need.
__device__ __forceinline__ void begin_row(progress &p, const element *input, u64 count,
                                          const share &mine)
{
    p.begin = (u64)input;
    const u64 end = p.begin + count * sizeof(element);
    p.body = (p.begin + LOAD_BYTES - 1) / LOAD_BYTES * LOAD_BYTES;
    p.stop = end / LOAD_BYTES * LOAD_BYTES;
    p.tile = p.body + mine.split * TILE_BYTES;
    load_tile(p.v, p.tile, p.stop);
}

// Each thread returns its share of what was started with: tiles are dealt round-robin to the
// splits.
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
    // Fewer than VEC elements stand before body and behind stop: all, if nothing is between these, and
    // none of an aligned row, which has no copy of this function.
    const u64 head = (u32)(p.body - p.begin) / sizeof(element);
    const u64 between = stop > p.body ? (stop - p.body) / sizeof(element) : 0;
    for (u64 i = member(); i < count - between; i += GROUP) {
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
    part[0] = combine(part[0], part[2]);
    part[1] = combine(part[1], part[3]);
    part[0] = combine(part[0], part[1]);
    return combine(part[0], edge);
}

// Each thread gets its shares of the rows from that one on, GROUPS apart. The loads of all are on
// their way before one is used.
__device__ __forceinline__ void reduce_rows(accumulator (&a)[ROWS], const element *input, u64 row,
                                            const extents &e, const share &mine)
{
    progress p[ROWS];
    const element *from[ROWS];
    u64 count[ROWS];
    {
        const u64 most = e.count;
#pragma unroll
        for (u32 r = 0; r < ROWS; r++) {
            const u64 own = row + r * GROUPS;
            from[r] = input + (own < e.outer ? own * e.outer_step : 0);
            count[r] = own < e.outer ? most : 0;
            begin_row(p[r], from[r], count[r], mine);
        }
#pragma unroll
        for (u32 r = 0; r < ROWS; r++) a[r] = end_row(p[r], from[r], count[r], mine);
    }
}

constexpr u32 SET = GROUPS * ROWS;  // rows that a block takes at a time

__device__ __forceinline__ u64 sets_of(const extents &e)
{
    return (e.outer + SET - 1) / SET;
}

extern "C" __global__ void __launch_bounds__(128)
redtune_reduce(const element *input, extents e, float *output, void *scratch, u32 overlaps)
{
    // A block's threads go on together, those too that have no row left.
    u32 turn = 0;
    for (share mine = share_of(sets_of(e)); mine.set < mine.sets; mine.set += gridDim.x) {
        const u64 row = mine.set * SET + threadIdx.x / GROUP;
        accumulator a[ROWS];
        reduce_rows(a, input, row, e, mine);
        reduce_group(a, turn);
        turn ^= 1;
#pragma unroll
        for (u32 r = 0; r < ROWS; r++)
            if (row + r * GROUPS < e.outer && member() == 0)
                output[row + r * GROUPS] = a[r];
    }
}
