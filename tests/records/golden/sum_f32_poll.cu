// redtune: the sum of f32 into f32, by the template "block" with
// block=256,vec=4,unroll=4,load=no_allocate,tail=shuffle,finish=poll
//
// output[0] = x[0] + ... + x[n-1]
// for any n = count and any element-aligned input.
// Start it with 256 threads per block.

typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;
typedef float element;  // in memory
typedef float value;  // in registers
typedef float accumulator;

constexpr u32 BLOCK = 256;  // threads per block
constexpr u32 VEC = 4;  // elements per load
constexpr u32 UNROLL = 4;  // independent loads in flight per thread
constexpr u32 STEP = BLOCK * UNROLL;  // loads that a block makes at a time: a tile
constexpr u32 LANES = 4;  // accumulators per thread
constexpr u64 LOAD_BYTES = VEC * 4;
constexpr u64 TILE_BYTES = STEP * LOAD_BYTES;

static_assert(sizeof(element) == 4 && sizeof(accumulator) <= 16, "");
static_assert(LOAD_BYTES <= 16 && 2 * VEC <= BLOCK, "");

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

// Thread 0 returns the combination of the block's values. All threads call it; between two calls
// stands a barrier. Thread 0 combines the warps' values itself, in the order in which shuffles would:
// it reads them by a few loads at once, where each shuffle waits for the one before.
__device__ __forceinline__ accumulator reduce_block(accumulator a)
{
    __shared__ accumulator warp_value[8];
    a = reduce_warp(a);
    if (threadIdx.x % 32 == 0) warp_value[threadIdx.x / 32] = a;
    __syncthreads();
    if (threadIdx.x == 0) {
        accumulator value[8];
#pragma unroll
        for (u32 i = 0; i < 8; i++) value[i] = warp_value[i];
#pragma unroll
        for (u32 i = 0; i < 4; i++) value[i] = combine(value[i], value[i + 4]);
#pragma unroll
        for (u32 i = 0; i < 2; i++) value[i] = combine(value[i], value[i + 2]);
#pragma unroll
        for (u32 i = 0; i < 1; i++) value[i] = combine(value[i], value[i + 1]);
        a = value[0];
    }
    return a;
}

// Each thread returns its share of the one tile that its block has, of an input of whole loads, up to
// stop: without the loop and without the edges. Their instructions would have to be fetched, which
// takes a small reduction a tenth of its time.
__device__ __forceinline__ accumulator reduce_tile(u64 tile, u64 stop)
{
    vector v[UNROLL];
    load_tile(v, tile, stop);

    accumulator part[LANES];
#pragma unroll
    for (u32 j = 0; j < LANES; j++) part[j] = 0.0f;
    const accumulator edge = 0.0f;
    {
        if (tile + TILE_BYTES <= stop) {
#pragma unroll
            for (u32 i = 0; i < UNROLL; i++) take(part, v[i]);
        } else {
#pragma unroll
            for (u32 i = 0; i < UNROLL; i++)
                if (place_of(tile, i) < stop) take(part, v[i]);
        }
    }
    part[0] = combine(part[0], part[2]);
    part[1] = combine(part[1], part[3]);
    part[0] = combine(part[0], part[1]);
    return combine(part[0], edge);
}

// Each thread returns its share of the input: tiles of STEP loads are dealt round-robin to blocks.
__device__ __forceinline__ accumulator reduce_share(const element *input, u64 count)
{
    // Loads are aligned: from body up to stop. The first ones are on their way before anything is
    // computed that they do not need.
    const u32 thread = threadIdx.x;
    const u64 begin = (u64)input, end = begin + count * sizeof(element);
    if ((u32)begin % LOAD_BYTES == 0) {
        const u64 whole = begin + blockIdx.x * TILE_BYTES;
        if (count == gridDim.x * (TILE_BYTES / sizeof(element))) return reduce_tile(whole, whole + TILE_BYTES);
    }
    const u64 body = (begin + LOAD_BYTES - 1) / LOAD_BYTES * LOAD_BYTES;
    const u64 stop = end / LOAD_BYTES * LOAD_BYTES;
    u64 tile = body + (u64)blockIdx.x * TILE_BYTES;
    vector v[UNROLL];
    load_tile(v, tile, stop);

    accumulator part[LANES];
#pragma unroll
    for (u32 j = 0; j < LANES; j++) part[j] = 0.0f;
    accumulator edge = 0.0f;
    // Fewer than VEC elements stand before body and behind stop. The last block takes these, one a
    // thread.
    if (blockIdx.x == gridDim.x - 1) {
        const u64 head = (u32)(body - begin) / sizeof(element);
        const u64 behind = ((stop > body ? stop : body) - begin) / sizeof(element) - head;
        const u64 at = thread < head ? thread : thread + behind;
        if (at < count) edge = map(load_element(input + at));
    }

    while (tile < stop) {
        {
            const u32 left = bytes_of(tile, stop);
#pragma unroll
            for (u32 i = 0; i < UNROLL; i++)
                if (is_there(i, left))
                    take(part, v[i]);
        }
        tile += (u64)gridDim.x * TILE_BYTES;
        load_tile(v, tile, stop);
    }
    part[0] = combine(part[0], part[2]);
    part[1] = combine(part[1], part[3]);
    part[0] = combine(part[0], part[1]);
    return combine(part[0], edge);
}

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
    return __uint_as_float(half0);
}

extern "C" __global__ void __launch_bounds__(256)
redtune_reduce(const element *input, u64 count, float *output, void *scratch, u32 overlaps)
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
        if (threadIdx.x > 0) a = 0.0f;
        for (u32 i = threadIdx.x; i < blocks; i += BLOCK)
            if (i > 0) a = combine(a, collect(words_of(scratch, i)));
        __syncthreads();
    }
    if (threadIdx.x == 0) *output = a;
}
