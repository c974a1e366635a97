//@ local about = (require "ladder/family").about { step = step }
//@ local wrap = require "ladder/wrap"
//@ local one, warps = form == "one", block // 32
//@ local acc = op.make { dtype = dtype, result = result, arch = arch }.acc
//@ local wide = { i32 = "int4", i64 = "longlong2", f32 = "float4", f64 = "double2" }
//@ local lanes = 16 // dtype.bytes == 4 and { "x", "y", "z", "w" } or { "x", "y" }
//@ local zero = acc.dtype.zero
//@ local element, sum_type = dtype.c, acc.c
//@ local meets = step == "one_launch" or step == "poll"
//@ local vectors = step == "vector" or meets
//@ local shuffles = step == "shuffle" or vectors
//@ local strides = step == "grid_stride" or shuffles
//@ local pairs_up = step == "first_add" or step == "last_warp" or step == "unrolled"
//@ local target = meets and "*total" or one and "*total" or "partial[blockIdx.x]"
// The ladder, step @{about.place}: @{step}@{one and ", in one block" or ""}.
//
@{wrap.comment(about.text, 96)}
//
//@ if one and strides then
// total = input[0] + ... + input[count-1], on one block of @{block} threads.
//@ elseif one then
// total = input[0] + ... + input[count-1] for a count of at most @{pairs_up and 2 * block or block}, on one block of @{block} threads.
//@ elseif meets then
// total = input[0] + ... + input[count-1], on blocks of @{block} threads.
//@ else
// partial[b] = the sum of what block b takes of input[0], ..., input[count-1], on blocks of
// @{block} threads. No block can wait for all others, so the kernel is launched again over the
// partial sums, with an element of type @{sum_type}, until one is left.
//@ end

typedef unsigned int u32;
typedef unsigned long long u64;
//@ if sum_type == "i64" then
typedef long long i64;
//@ end

constexpr u32 BLOCK = @{block};  // threads per block, a power of two

//@ if shuffles then
// Lane 0 returns the sum of the warp's.
__device__ @{sum_type} warp_sum(@{sum_type} sum)
{
    for (u32 s = 16; s > 0; s /= 2) sum += __shfl_down_sync(0xffffffff, sum, s);
    return sum;
}

// Thread 0 returns the sum of the block's.
__device__ @{sum_type} block_sum(@{sum_type} sum)
{
    __shared__ @{sum_type} of_warp[BLOCK / 32];
    const u32 warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    sum = warp_sum(sum);
    if (lane == 0) of_warp[warp] = sum;
    __syncthreads();
    if (warp == 0) sum = warp_sum(lane < BLOCK / 32 ? of_warp[lane] : @{zero});
    return sum;
}

//@ end
//@ if step == "poll" then
//@     local words = acc.halves
// A sum is handed over in words of 32 bits of it and, above them, a flag. They are zero before
// and after. volatile: each access is one, made now, of the memory that all blocks share.
constexpr u32 WORDS = @{words};

__device__ void give(volatile u64 *word, @{sum_type} sum)
{
//@     for i = 0, words - 1 do
    word[@{i}] = 1ull << 32 | @{acc.half("sum", i)};
//@     end
}

__device__ @{sum_type} take(volatile u64 *word)
{
//@     for i = 0, words - 1 do
    u64 word@{i};
    do word@{i} = word[@{i}]; while (word@{i} >> 32 == 0);
    word[@{i}] = 0;
    const u32 half@{i} = (u32)word@{i};
//@     end
    return @{acc.join("half")};
}

//@ end
extern "C" __global__ void __launch_bounds__(@{block})
//@ if meets then
redtune_reduce(const @{element} *input, u64 count, @{sum_type} *total, char *scratch)
//@ elseif one then
redtune_reduce(const @{element} *input, u64 count, @{sum_type} *total)
//@ else
redtune_reduce(const @{element} *input, u64 count, @{sum_type} *partial)
//@ end
{
//@ if not shuffles then
    __shared__ @{sum_type} sums[BLOCK];
//@ end
    const u32 thread = threadIdx.x;
//@ if strides then
//@     if one then
    const u64 first = thread, stride = BLOCK;
//@     else
    const u64 first = (u64)blockIdx.x * BLOCK + thread, stride = (u64)gridDim.x * BLOCK;
//@     end
    @{sum_type} sum = @{zero};
//@     if vectors then
    // input must be aligned to 16 bytes, as the start of every allocation is.
    const @{wide[dtype.name]} *vectors = (const @{wide[dtype.name]} *)input;
    for (u64 i = first; i < count / @{#lanes}; i += stride) {
        const @{wide[dtype.name]} v = vectors[i];
//@         for _, lane in ipairs(lanes) do
        sum += v.@{lane};
//@         end
    }
    // What is left does not fill a vector.
    const u64 rest = count / @{#lanes} * @{#lanes} + first;
    if (rest < count) sum += input[rest];
//@     else
    for (u64 i = first; i < count; i += stride) sum += input[i];
//@     end
//@     if not shuffles then
    sums[thread] = sum;
    __syncthreads();
//@     end
//@ elseif pairs_up then
    const u64 i = @{one and "thread" or "(u64)blockIdx.x * 2 * BLOCK + thread"};

    // Threads behind the end bring zero. They must not leave, for all must reach the barriers.
    @{sum_type} sum = i < count ? input[i] : @{dtype.zero};
    if (i + BLOCK < count) sum += input[i + BLOCK];
    sums[thread] = sum;
    __syncthreads();
//@ else
    const u64 i = @{one and "thread" or "(u64)blockIdx.x * BLOCK + thread"};

    // Threads behind the end bring zero. They must not leave, for all must reach the barriers.
    sums[thread] = i < count ? input[i] : @{dtype.zero};
    __syncthreads();
//@ end

//@ if step == "modulo" then
    for (u32 s = 1; s < blockDim.x; s *= 2) {
        if (thread % (2 * s) == 0) sums[thread] += sums[thread + s];
        __syncthreads();
    }
//@ elseif step == "strided" then
    for (u32 s = 1; s < blockDim.x; s *= 2) {
        const u32 at = 2 * s * thread;
        if (at < blockDim.x) sums[at] += sums[at + s];
        __syncthreads();
    }
//@ elseif step == "sequential" or step == "first_add" then
    for (u32 s = blockDim.x / 2; s > 0; s /= 2) {
        if (thread < s) sums[thread] += sums[thread + s];
        __syncthreads();
    }
//@ elseif step == "neighbours" then
    for (u32 s = blockDim.x / 2; s > 0; s /= 2) {
        @{sum_type} sum = @{zero};
        if (thread < s) sum = sums[2 * thread] + sums[2 * thread + 1];
        __syncthreads();  // all have read before anyone writes
        if (thread < s) sums[thread] = sum;
        __syncthreads();
    }
//@ elseif not shuffles then
//@     if step == "last_warp" then
    for (u32 s = blockDim.x / 2; s > 32; s /= 2) {
        if (thread < s) sums[thread] += sums[thread + s];
        __syncthreads();
    }
//@     else
//@         local s = block // 2
//@         while s > 32 do
    if (thread < @{s}) sums[thread] += sums[thread + @{s}];
    __syncthreads();
//@             s = s // 2
//@         end
//@     end
    // One warp is left. Its lanes do not run in step by themselves, not since Volta: between
    // writing a sum and reading it stands __syncwarp. And no lane reads what another writes.
    if (thread < 32) {
//@     for _, s in ipairs { 32, 16, 8, 4, 2, 1 } do
//@         if s == 32 and block > 32 then
        sums[thread] += sums[thread + 32];
        __syncwarp();
//@         elseif s < 32 then
        if (thread < @{s}) sums[thread] += sums[thread + @{s}];
        __syncwarp();
//@         end
//@     end
    }
//@ end
//@ if step == "one_launch" then
    // Every block leaves its sum in partial and draws a ticket. Who draws the last one finds all
    // sums there: the fences order a sum before its block's ticket. The counter wraps to zero.
    @{sum_type} *partial = (@{sum_type} *)(scratch + @{scratch.slots_offset});
    u32 *tickets = (u32 *)scratch;
    __shared__ bool last;
    sum = block_sum(sum);
    if (thread == 0) {
        partial[blockIdx.x] = sum;
        __threadfence();
        last = atomicInc(tickets, gridDim.x - 1) == gridDim.x - 1;
        __threadfence();
    }
    __syncthreads();
    if (!last) return;
    sum = @{zero};
    for (u32 b = thread; b < gridDim.x; b += BLOCK) sum += __ldcg(partial + b);  // past L1
    sum = block_sum(sum);
//@ elseif step == "poll" then
    // Block 0 waits for all others, which wait for nobody: no deadlock, even where they do not all
    // run at once.
    u64 *words = (u64 *)(scratch + @{scratch.words_offset});
    sum = block_sum(sum);
    if (blockIdx.x > 0) {
        if (thread == 0) give(words + blockIdx.x * WORDS, sum);
        return;
    }
    if (thread > 0) sum = @{zero};  // thread 0 has block 0's sum
    for (u32 b = thread; b < gridDim.x; b += BLOCK)
        if (b > 0) sum += take(words + b * WORDS);
    __syncthreads();
    sum = block_sum(sum);
//@ elseif shuffles then
    sum = block_sum(sum);
//@ end
    if (thread == 0) @{target} = @{shuffles and "sum" or "sums[0]"};
}
