//@ local load = require "lib/load"
//@ local warps = block // 32
// redtune: the @{op.name} of @{dtype.name} into @{result.name}, by the template "block" with
// @{config}
//
// output[0] = @{op.formula}
// for any count and any element-aligned input. Start it with @{block} threads per block.

typedef @{dtype.c} element;
typedef @{acc.c} accumulator;
typedef unsigned int u32;
typedef unsigned long long u64;

constexpr u32 BLOCK = @{block};  // threads per block
constexpr u32 VEC = @{vec};  // elements per load
constexpr u32 UNROLL = @{unroll};  // independent loads in flight per thread
constexpr u32 STEP = BLOCK * UNROLL;  // loads that a block makes at a time
constexpr u32 COUNTERS_BYTES = @{scratch.header_bytes};  // of scratch, before the partial results

static_assert(sizeof(element) == @{dtype.bytes} && sizeof(accumulator) <= @{scratch.slot_bytes}, "");
static_assert(VEC * sizeof(element) <= 16 && 2 * VEC <= BLOCK, "");

struct vector {
    element at[VEC];
};

__device__ __forceinline__ vector load_vector(const element *from)
{
    vector v;
    @{load.neighbours(dtype, vec, vec == 1 and "v.at[0]" or "v.at", "from")}
    return v;
}

//@ if vec > 1 then
__device__ __forceinline__ element load_element(const element *from)
{
    element x;
    @{load.neighbours(dtype, 1, "x", "from")}
    return x;
}

//@ end
__device__ __forceinline__ accumulator combine(accumulator a, accumulator b)
{
    return @{op.combine(acc, "a", "b")};
}

__device__ __forceinline__ accumulator map(element x)
{
    return @{op.map(acc, "x")};
}

// Lane 0 returns the combination of the warp's values.
__device__ __forceinline__ accumulator reduce_warp(accumulator value)
{
//@ for _, step in ipairs { 16, 8, 4, 2, 1 } do
    value = combine(value, __shfl_down_sync(0xffffffff, value, @{step}));
//@ end
    return value;
}

// Thread 0 returns the combination of the block's values. All threads call it; between two calls
// stands a barrier.
__device__ __forceinline__ accumulator reduce_block(accumulator value)
{
//@ if block == 32 then
    return reduce_warp(value);
//@ elseif tail == "shuffle" then
    __shared__ accumulator warp_value[@{warps}];
    const u32 warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    value = reduce_warp(value);
    if (lane == 0) warp_value[warp] = value;
    __syncthreads();
    if (warp == 0) {
        value = lane < @{warps} ? warp_value[lane] : @{op.identity(acc)};
//@     for _, step in ipairs { 16, 8, 4, 2, 1 } do
//@         if step < warps then
        value = combine(value, __shfl_down_sync(0xffffffff, value, @{step}));
//@         end
//@     end
    }
    return value;
//@ else
    __shared__ accumulator shared[BLOCK];
    const u32 thread = threadIdx.x;
    shared[thread] = value;
    __syncthreads();
//@     local step = block // 2
//@     while step >= 32 do
    if (thread < @{step}) shared[thread] = combine(shared[thread], shared[thread + @{step}]);
    __syncthreads();
//@         step = step // 2
//@     end
    if (thread < 32) value = reduce_warp(shared[thread]);
    return value;
//@ end
}

// Each thread returns its share of the input: tiles of STEP loads are dealt round-robin to blocks.
__device__ __forceinline__ accumulator reduce_share(const element *input, u64 count)
{
    const u32 thread = threadIdx.x;
    accumulator part[VEC], edge = @{op.identity(acc)};
#pragma unroll
    for (u32 i = 0; i < VEC; i++) part[i] = @{op.identity(acc)};

//@ if vec > 1 then
    // Loads are aligned: fewer than VEC elements stand before the first of them and after the
    // last. The last block takes these, one a thread.
    const u64 before = (0 - (u64)input) % (VEC * sizeof(element)) / sizeof(element);
    const u64 head = before < count ? before : count;
    const u64 loads = (count - head) / VEC;
    const element *body = input + head;
    if (blockIdx.x == gridDim.x - 1) {
        const u64 at = thread < head ? thread : thread + loads * VEC;
        if (at < count) edge = map(load_element(input + at));
    }
//@ else
    const u64 loads = count;
    const element *body = input;
//@ end

    for (u64 first = (u64)blockIdx.x * STEP; first < loads; first += (u64)gridDim.x * STEP) {
        const element *from = body + (first + thread) * VEC;
        vector v[UNROLL];
        if (first + STEP <= loads) {
#pragma unroll
            for (u32 i = 0; i < UNROLL; i++) v[i] = load_vector(from + i * BLOCK * VEC);
#pragma unroll
            for (u32 i = 0; i < UNROLL; i++)
#pragma unroll
                for (u32 j = 0; j < VEC; j++) part[j] = combine(part[j], map(v[i].at[j]));
        } else {
            const u64 left = loads - first;
#pragma unroll
            for (u32 i = 0; i < UNROLL; i++)
                if (thread + i * BLOCK < left) v[i] = load_vector(from + i * BLOCK * VEC);
#pragma unroll
            for (u32 i = 0; i < UNROLL; i++)
                if (thread + i * BLOCK < left)
#pragma unroll
                    for (u32 j = 0; j < VEC; j++) part[j] = combine(part[j], map(v[i].at[j]));
        }
    }
//@ local width = vec
//@ while width > 1 do
//@     width = width // 2
//@     for j = 0, width - 1 do
    part[@{j}] = combine(part[@{j}], part[@{j + width}]);
//@     end
//@ end
    return combine(part[0], edge);
}

//@ if finish ~= "single" then
// The partial results of the blocks, in the order of their indices.
__device__ __forceinline__ accumulator *partials(void *scratch)
{
    return (accumulator *)((char *)scratch + COUNTERS_BYTES);
}

// Thread 0 returns the combination of the partial results of all blocks.
__device__ __forceinline__ accumulator reduce_partials(void *scratch, u32 blocks)
{
    accumulator value = @{op.identity(acc)};
    for (u32 i = threadIdx.x; i < blocks; i += BLOCK)
        value = combine(value, __ldcg(partials(scratch) + i));
    return reduce_block(value);
}

//@ end
extern "C" __global__ void __launch_bounds__(@{block})
redtune_reduce(const element *input, u64 count, @{result.c} *output, void *scratch)
{
    accumulator value = reduce_block(reduce_share(input, count));
//@ if finish == "single" then
    if (threadIdx.x == 0) *output = @{op.finalize(acc, "value")};
//@ else
    if (gridDim.x == 1) {
        if (threadIdx.x == 0) *output = @{op.finalize(acc, "value")};
        return;
    }
//@ end
//@ if finish == "two_pass" then
    if (threadIdx.x == 0) partials(scratch)[blockIdx.x] = value;
//@ elseif finish == "ticket" then
    // The block that draws the last ticket finds all partial results written. atomicInc wraps, so
    // the counter is left at zero.
    __shared__ bool last;
    if (threadIdx.x == 0) {
        partials(scratch)[blockIdx.x] = value;
        __threadfence();
        last = atomicInc((u32 *)scratch, gridDim.x - 1) == gridDim.x - 1;
        __threadfence();
    }
    __syncthreads();
    if (!last) return;
    value = reduce_partials(scratch, gridDim.x);
    if (threadIdx.x == 0) *output = @{op.finalize(acc, "value")};
//@ end
}
//@ if finish == "two_pass" then

// The second launch: one block of BLOCK threads, over the partial results of the first one's blocks.
extern "C" __global__ void __launch_bounds__(@{block})
redtune_finish(void *scratch, u32 blocks, @{result.c} *output)
{
    accumulator value = reduce_partials(scratch, blocks);
    if (threadIdx.x == 0) *output = @{op.finalize(acc, "value")};
}
//@ end
