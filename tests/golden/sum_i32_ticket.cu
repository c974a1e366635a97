// redtune: the sum of i32 into i64, by the template "block" with
// block=128,vec=1,unroll=1,load=plain,tail=shared,finish=ticket
//
// output[0] = x[0] + ... + x[n-1]
// for any n = count and any element-aligned input. Start it with 128 threads per block.

typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;
typedef int element;  // in memory
typedef int value;  // in registers
typedef i64 accumulator;

constexpr u32 BLOCK = 128;  // threads per block
constexpr u32 VEC = 1;  // elements per load
constexpr u32 UNROLL = 1;  // independent loads in flight per thread
constexpr u32 STEP = BLOCK * UNROLL;  // loads that a block makes at a time: a tile
constexpr u32 LANES = 1;  // accumulators per thread

constexpr u64 LOAD_BYTES = VEC * 4;
constexpr u64 TILE_BYTES = STEP * LOAD_BYTES;

static_assert(sizeof(element) == 4 && sizeof(accumulator) <= 16, "");
static_assert(LOAD_BYTES <= 16 && 2 * VEC <= BLOCK, "");

struct vector {
    int word[1];
};

__device__ __forceinline__ vector load_vector(u64 from)
{
    vector v;
    asm volatile("ld.global.s32 %0, [%1];"
                 : "=r"(v.word[0])
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

__device__ __forceinline__ accumulator combine(accumulator a, accumulator b)
{
    return a + b;
}

__device__ __forceinline__ accumulator map(value x)
{
    return (i64)x;
}

__device__ __forceinline__ void take(accumulator (&part)[LANES], const vector &v)
{
    part[0] = combine(part[0], map(v.word[0]));
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
// stands a barrier.
__device__ __forceinline__ accumulator reduce_block(accumulator a)
{
    __shared__ accumulator shared[BLOCK];
    const u32 thread = threadIdx.x;
    shared[thread] = a;
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

    accumulator part[LANES];
#pragma unroll
    for (u32 j = 0; j < LANES; j++) part[j] = 0ll;
    accumulator edge = 0ll;

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
    return combine(part[0], edge);
}

// The partial results of the blocks, in the order of their indices.
__device__ __forceinline__ accumulator *partials(void *scratch)
{
    return (accumulator *)((char *)scratch + 524544);
}

// Thread 0 returns the combination of the partial results of all blocks.
__device__ __forceinline__ accumulator reduce_partials(void *scratch, u32 blocks)
{
    accumulator a = 0ll;
    for (u32 i = threadIdx.x; i < blocks; i += BLOCK)
        a = combine(a, __ldcg(partials(scratch) + i));
    return reduce_block(a);
}

extern "C" __global__ void __launch_bounds__(128)
redtune_reduce(const element *input, u64 count, i64 *output, void *scratch, u32 overlaps)
{
    accumulator a = reduce_block(reduce_share(input, count));
    if (gridDim.x == 1) {
        if (threadIdx.x == 0) *output = a;
        return;
    }
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
    if (threadIdx.x == 0) *output = a;
}
