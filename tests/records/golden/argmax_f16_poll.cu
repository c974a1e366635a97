// redtune: the argmax of f16 into i64, by the template "block" with
// block=256,vec=8,unroll=2,load=no_allocate,tail=shared,finish=poll
//
// output[0] = the first index of the greatest of x[0] ... x[n-1]
// for any n = count and any element-aligned input.
// Start it with 256 threads per block.

typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;
struct arg {
    u32 key;  // the least wins
    u64 index;
};
typedef unsigned short element;  // in memory
typedef float value;  // in registers
typedef arg accumulator;

constexpr u32 BLOCK = 256;  // threads per block
constexpr u32 VEC = 8;  // elements per load
constexpr u32 UNROLL = 2;  // independent loads in flight per thread
constexpr u32 STEP = BLOCK * UNROLL;  // loads that a block makes at a time: a tile
constexpr u32 LANES = 8;  // accumulators per thread
constexpr u64 LOAD_BYTES = VEC * 2;
constexpr u64 TILE_BYTES = STEP * LOAD_BYTES;

static_assert(sizeof(element) == 2 && sizeof(accumulator) <= 16, "");
static_assert(LOAD_BYTES <= 16 && 2 * VEC <= BLOCK, "");

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

// Where this thread's load i of the tile at that address is.
__device__ __forceinline__ u64 place_of(u64 tile, u32 i)
{
    return tile + (threadIdx.x + i * BLOCK) * LOAD_BYTES;
}

// How many bytes of the tile there are from this thread's first load on, in 32 bits.
__device__ __forceinline__ u32 bytes_of(u64 tile, u64 stop)
{
    const u64 place = place_of(tile, 0), left = stop > place ? stop - place : 0;
    return left < TILE_BYTES ? left : TILE_BYTES;
}

// Whether load i of a tile with so many bytes is there.
__device__ __forceinline__ bool is_there(u32 i, u32 left)
{
    return i * (u32)(BLOCK * LOAD_BYTES) < left;
}

// All loads of the tile before the first use; those from stop on are left out. Whole tiles have no copy of their
// own, which NVRTC would take long for.
__device__ __forceinline__ void load_tile(vector (&v)[UNROLL], u64 tile, u64 stop)
{
    const u32 left = bytes_of(tile, stop);
#pragma unroll
    for (u32 i = 0; i < UNROLL; i++)
        if (is_there(i, left)) v[i] = load_vector(place_of(tile, i));
}

__device__ __forceinline__ value load_element(const element *from)
{
    u32 word[1];
    asm volatile("ld.global.nc.L1::no_allocate.u16 %0, [%1];"
                 : "=r"(word[0])
                 : "l"(from));
    return half_to_float(word[0]);
}

__device__ __forceinline__ u32 key_of(float x)
{
    const u32 bits = __float_as_uint(x + 0.0f);
    const u32 ordered = bits & 0x80000000u ? ~bits : bits | 0x80000000u;
    return x == x ? ~ordered : 0;
}

__device__ __forceinline__ arg first_least(arg a, arg b)
{
    const bool goes = (b.key < a.key) | ((b.key == a.key) & (b.index < a.index));
    return arg{goes ? b.key : a.key, goes ? b.index : a.index};
}

__device__ __forceinline__ u32 least_of_warp(u32 x)
{
    u32 least;
    asm volatile("redux.sync.min.u32 %0, %1, 0xffffffff;" : "=r"(least) : "r"(x));
    return least;
}

__device__ __forceinline__ arg first_of_warp(arg a)
{
    const u32 key = least_of_warp(a.key);
    const u32 high = least_of_warp(a.key == key ? (u32)(a.index >> 32) : ~0u);
    const bool is_first = a.key == key && a.index >> 32 == high;
    return arg{key, (u64)high << 32 | least_of_warp(is_first ? (u32)a.index : ~0u)};
}

template <u32 N>
__device__ __forceinline__ arg first_of_lanes(arg a)
{
#pragma unroll
    for (u32 step = N / 2; step > 0; step /= 2)
        a = first_least(a, arg{__shfl_down_sync(0xffffffff, a.key, step),
                               __shfl_down_sync(0xffffffff, a.index, step)});
    return a;
}

__device__ __forceinline__ accumulator combine(accumulator a, accumulator b)
{
    return first_least(a, b);
}

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
    const value x0 = half_to_float(v.word[0]);
    const value x1 = half_to_float(v.word[0] >> 16);
    const value x2 = half_to_float(v.word[1]);
    const value x3 = half_to_float(v.word[1] >> 16);
    const value x4 = half_to_float(v.word[2]);
    const value x5 = half_to_float(v.word[2] >> 16);
    const value x6 = half_to_float(v.word[3]);
    const value x7 = half_to_float(v.word[3] >> 16);
    // A NaN goes before all but another NaN.
    if (!(x0 <= part[0].x) && part[0].x == part[0].x) part[0] = best{x0, load};
    if (!(x1 <= part[1].x) && part[1].x == part[1].x) part[1] = best{x1, load};
    if (!(x2 <= part[2].x) && part[2].x == part[2].x) part[2] = best{x2, load};
    if (!(x3 <= part[3].x) && part[3].x == part[3].x) part[3] = best{x3, load};
    if (!(x4 <= part[4].x) && part[4].x == part[4].x) part[4] = best{x4, load};
    if (!(x5 <= part[5].x) && part[5].x == part[5].x) part[5] = best{x5, load};
    if (!(x6 <= part[6].x) && part[6].x == part[6].x) part[6] = best{x6, load};
    if (!(x7 <= part[7].x) && part[7].x == part[7].x) part[7] = best{x7, load};
}

// Lane 0 returns the combination of the warp's values.
__device__ __forceinline__ accumulator reduce_warp(accumulator a)
{
    return first_of_warp(a);
}

// Thread 0 returns the combination of the block's values. All threads call it; between two calls
// stands a barrier.
__device__ __forceinline__ accumulator reduce_block(accumulator a)
{
    __shared__ accumulator shared[BLOCK];
    const u32 thread = threadIdx.x;
    shared[thread] = a;
    __syncthreads();
    if (thread < 128) shared[thread] = combine(shared[thread], shared[thread + 128]);
    __syncthreads();
    if (thread < 64) shared[thread] = combine(shared[thread], shared[thread + 64]);
    __syncthreads();
    if (thread < 32) shared[thread] = combine(shared[thread], shared[thread + 32]);
    __syncthreads();
    if (thread < 32) a = reduce_warp(shared[thread]);
    return a;
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

    best part[LANES];
    u32 load = 0;
#pragma unroll
    for (u32 j = 0; j < LANES; j++) part[j] = best{__int_as_float(0xff800000), 0};
    accumulator edge = arg{~(u32)0, ~0ull};
    // Fewer than VEC elements stand before body and behind stop. The last block takes these, one a
    // thread.
    if (blockIdx.x == gridDim.x - 1) {
        const u64 head = (u32)(body - begin) / sizeof(element);
        const u64 behind = ((stop > body ? stop : body) - begin) / sizeof(element) - head;
        const u64 at = thread < head ? thread : thread + behind;
        if (at < count) edge = candidate(load_element(input + at), at);
    }

    while (tile < stop) {
        {
            const u32 left = bytes_of(tile, stop);
#pragma unroll
            for (u32 i = 0; i < UNROLL; i++)
                if (is_there(i, left))
                    take(part, v[i], load + i);
        }
        load += UNROLL;
        tile += (u64)gridDim.x * TILE_BYTES;
        load_tile(v, tile, stop);
    }
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
}

// A block hands over its value in words of 32 bits of it and, above them, a flag. A word is one
// store, so that whoever sees the flag has the bits: no fence, no atomic operation. Words are zero
// before and after. Every access is relaxed, the clearing too: a plain store would race.
constexpr u32 WORDS = 3;

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
    store_word(to + 0, 1ull << 32 | a.key);
    store_word(to + 1, 1ull << 32 | (u32)a.index);
    store_word(to + 2, 1ull << 32 | (u32)((u64)a.index >> 32));
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
    const u32 half0 = (u32)word[0];
    const u32 half1 = (u32)word[1];
    const u32 half2 = (u32)word[2];
    return arg{half0, (u64)half2 << 32 | half1};
}

extern "C" __global__ void __launch_bounds__(256)
redtune_reduce(const element *input, u64 count, i64 *output, void *scratch, u32 overlaps)
{
    accumulator a = reduce_share(input, count);
    // Block 0 comes back with the values of all others: one copy of what the threads' values meet in.
    for (u32 blocks = gridDim.x;; blocks = 1) {
        a = reduce_block(a);
        if (blocks == 1) break;
        if (blockIdx.x > 0) {
            if (threadIdx.x == 0) publish(words_of(scratch, blockIdx.x), a);
            return;
        }
        // It waits for all others, which wait for nobody.
        if (threadIdx.x > 0) a = arg{~(u32)0, ~0ull};
        for (u32 i = threadIdx.x; i < blocks; i += BLOCK)
            if (i > 0) a = combine(a, collect(words_of(scratch, i)));
        __syncthreads();
    }
    if (threadIdx.x == 0) *output = (i64)a.index;
}
