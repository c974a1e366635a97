// redtune: the sum of f32 into f32, by the template "block" with
// block=128,vec=4,unroll=4,load=no_allocate,tail=shuffle,finish=cluster
//
// output[0] = x[0] + ... + x[n-1]
// for any n = count and any element-aligned input. Start it with 128 threads per block.

typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;
typedef float element;  // in memory
typedef float value;  // in registers
typedef float accumulator;

constexpr u32 BLOCK = 128;  // threads per block
constexpr u32 VEC = 4;  // elements per load
constexpr u32 UNROLL = 4;  // independent loads in flight per thread
constexpr u32 STEP = BLOCK * UNROLL;  // loads that a block makes at a time: a tile
constexpr u32 LANES = 4;  // accumulators per thread

constexpr u64 LOAD_BYTES = VEC * 4;
constexpr u64 TILE_BYTES = STEP * LOAD_BYTES;
constexpr u64 AHEAD_BYTES = 1 << 20;  // larger inputs are not prefetched

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
        if (tile + TILE_BYTES <= stop) {
#pragma unroll
            for (u32 i = 0; i < UNROLL; i++) take(part, v[i]);
        } else {
#pragma unroll
            for (u32 i = 0; i < UNROLL; i++)
                if (place_of(tile, i) < stop) take(part, v[i]);
        }
        tile += (u64)gridDim.x * TILE_BYTES;
        load_tile(v, tile, stop);
    }
    part[0] = combine(part[0], part[2]);
    part[1] = combine(part[1], part[3]);
    part[0] = combine(part[0], part[1]);
    return combine(part[0], edge);
}

// A warp hands over its value in words of 32 bits of it and, above them, a flag: whoever sees the
// flag has the bits. The words are in the shared memory of block 0, which is a fraction of the way
// to L2. They are zero before a warp writes, since block 0 clears them before all blocks meet.
// That is also when all of them have started. Block 0 waits for the words, so it ends last.
constexpr u32 BLOCKS = 8;  // of the cluster, which is the grid
constexpr u32 WARPS = BLOCK / 32;
constexpr u32 VALUES = BLOCKS * WARPS;
constexpr u32 WORDS = 1;  // of a value

// All threads call it, before they do anything that takes time.
__device__ __forceinline__ void begin_meeting(u64 *words)
{
    if (blockIdx.x == 0) {
        if (threadIdx.x < 32) words[threadIdx.x] = 0;
        asm volatile("barrier.cluster.arrive.release.aligned;" : : : "memory");
    } else {
        // There is nothing to release, and a fence would take time.
        asm volatile("barrier.cluster.arrive.relaxed.aligned;" : : : "memory");
    }
}

// The first lane of each warp has the warp's value. All threads call it.
__device__ __forceinline__ void hand_over(u64 *words, accumulator a)
{
    const u32 value = blockIdx.x * WARPS + threadIdx.x / 32;
    const u32 place = (u32)__cvta_generic_to_shared(words + value * WORDS);
    u32 to;
    asm("mapa.shared::cluster.u32 %0, %1, 0;" : "=r"(to) : "r"(place));
    asm volatile("barrier.cluster.wait.acquire.aligned;" : : : "memory");
    if (threadIdx.x % 32 > 0) return;
    asm volatile("st.relaxed.cluster.shared::cluster.u64 [%0], %1;" : : "r"(to + 0), "l"(1ull << 32 | __float_as_uint(a)) : "memory");
}

// Waits for a value.
__device__ __forceinline__ accumulator collect(const u64 *from)
{
    const u32 place = (u32)__cvta_generic_to_shared(from);
    u64 word[WORDS];
    u64 flags;
    do {
#pragma unroll
        for (u32 i = 0; i < WORDS; i++)
            asm volatile("ld.relaxed.cluster.shared::cta.u64 %0, [%1];" : "=l"(word[i]) : "r"(place + 8 * i) : "memory");
        flags = word[0];
#pragma unroll
        for (u32 i = 1; i < WORDS; i++) flags &= word[i];
    } while (flags >> 32 == 0);
    const u32 half0 = (u32)word[0];
    return __uint_as_float(half0);
}

// Thread 0 of block 0 returns the combination of all values. The first warp of block 0 calls it.
__device__ __forceinline__ accumulator end_meeting(const u64 *words)
{
    accumulator a = 0.0f;
#pragma unroll
    for (u32 i = 0; i < VALUES; i += 32) a = combine(a, collect(words + (i + threadIdx.x) * WORDS));
    __syncwarp();
    return reduce_warp(a);
}

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

extern "C" __global__ void __launch_bounds__(128) __cluster_dims__(8, 1, 1)
redtune_reduce(const element *input, u64 count, float *output, void *scratch, u32 overlaps)
{
    __shared__ u64 words[VALUES * WORDS];
    begin_meeting(words);
    // The next kernel may be launched from now on, and this one may have been launched before the
    // one before it ended: nothing is read or written until that one is over.
    asm volatile("griddepcontrol.launch_dependents;");
    // A larger input gains nothing, or loses by competing with the one still being read.
    if (overlaps && count <= AHEAD_BYTES / sizeof(element)) prefetch_tile(input, count);
    asm volatile("griddepcontrol.wait;" : : : "memory");
    hand_over(words, reduce_warp(reduce_share(input, count)));
    if (blockIdx.x > 0 || threadIdx.x >= 32) return;
    const accumulator a = end_meeting(words);
    if (threadIdx.x == 0) *output = a;
}
