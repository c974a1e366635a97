//@ local about = (require "ladder/family").about { step = step, block = block, form = form }
//@ local wrap = require "ladder/wrap"
//@ local one, program = form == "one", form == "program"
//@ local ragged = block & (block - 1) ~= 0
//@ local acc = op.make { dtype = dtype, result = result, arch = arch }.acc
//@ local wide = { i32 = "int4", i64 = "longlong2", f32 = "float4", f64 = "double2" }
//@ local zero = acc.dtype.zero
//@ local sum_type = acc.c
//@ local meets = step == "one_launch" or step == "poll"
//@ local vectors = step == "vector" or meets
//@ local shuffles = step == "shuffle" or vectors
//@ local strides = step == "grid_stride" or shuffles
//@ local pairs_up = step == "first_add" or step == "adjacent" or step == "last_warp" or step == "unrolled"
//@ -- A program's second launch adds up sums, which may be of another type than the elements.
//@ local elements = { dtype }
//@ if program and not meets and dtype.name ~= acc.dtype.name then elements[2] = acc.dtype end
//@ local output = (meets or one) and "total" or "partial"
//@ local target = output == "total" and "*total" or "partial[blockIdx.x]"
//@ local more = meets and ", char *scratch" or step == "global" and (", %s *work"):format(sum_type) or ""
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
//@ if step == "global" then
// work has room for a sum of every thread.
//@ end
//@ if program then
//
// nvcc -O3 FILE.cu -o sum && ./sum [COUNT]

#include <cstdio>
#include <cstdlib>
#include <vector>
//@ end

typedef unsigned int u32;
typedef unsigned long long u64;
//@ if sum_type == "i64" then
typedef long long i64;
//@ end

constexpr u32 BLOCK = @{block};  // threads per block@{ragged and "" or ", a power of two"}

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
//@ for _, dtype in ipairs(elements) do
//@     local element = dtype.c
//@     if dtype ~= elements[1] then

//@     end
//@     local lanes = 16 // dtype.bytes == 4 and { "x", "y", "z", "w" } or { "x", "y" }
@{program and "" or 'extern "C" '}__global__ void __launch_bounds__(@{block})
redtune_reduce(const @{element} *input, u64 count, @{sum_type} *@{output}@{more})
{
//@ if step == "global" then
    // The tree overwrites what it adds, and the input is not this kernel's to overwrite.
    @{sum_type} *sums = work@{one and "" or " + (u64)blockIdx.x * BLOCK"};
//@ elseif not shuffles then
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
//@     if step == "adjacent" then
    const u64 i = 2 * @{one and "thread" or "((u64)blockIdx.x * BLOCK + thread)"};
//@     else
    const u64 i = @{one and "thread" or "(u64)blockIdx.x * 2 * BLOCK + thread"};
//@     end

    // Threads behind the end bring zero. They must not leave, for all must reach the barriers.
    @{sum_type} sum = i < count ? input[i] : @{dtype.zero};
//@     if step == "adjacent" then
    if (i + 1 < count) sum += input[i + 1];
//@     else
    if (i + BLOCK < count) sum += input[i + BLOCK];
//@     end
    sums[thread] = sum;
    __syncthreads();
//@ else
    const u64 i = @{one and "thread" or "(u64)blockIdx.x * BLOCK + thread"};

    // Threads behind the end bring zero. They must not leave, for all must reach the barriers.
    sums[thread] = i < count ? input[i] : @{dtype.zero};
    __syncthreads();
//@ end

//@ if step == "global" or step == "modulo" then
    for (u32 s = 1; s < blockDim.x; s *= 2) {
        if (thread % (2 * s) == 0@{ragged and " && thread + s < blockDim.x" or ""}) sums[thread] += sums[thread + s];
        __syncthreads();
    }
//@ elseif step == "strided" then
    for (u32 s = 1; s < blockDim.x; s *= 2) {
        const u32 at = 2 * s * thread;
        if (at@{ragged and " + s" or ""} < blockDim.x) sums[at] += sums[at + s];
        __syncthreads();
    }
//@ elseif step == "sequential" or step == "first_add" or step == "adjacent" then
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
//@ end
//@ if program then
//@     local number = elements[1].c
//@     local tile = strides and "8 * BLOCK" or pairs_up and "2 * BLOCK" or "BLOCK"

static void check(cudaError_t status, const char *what)
{
    if (status == cudaSuccess) return;
    fprintf(stderr, "cannot %s: %s\n", what, cudaGetErrorString(status));
    exit(1);
}

template <class T> static T *allocate(u64 count)
{
    T *memory = nullptr;
    check(cudaMalloc(&memory, count * sizeof(T)), "allocate memory");
    return memory;
}

//@     if strides then
// A block for @{tile} elements, and no more blocks than run at once.
static u32 blocks_for(u64 count)
{
    int processors = 0, threads = 0;
    check(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, 0),
          "count the multiprocessors");
    check(cudaDeviceGetAttribute(&threads, cudaDevAttrMaxThreadsPerMultiProcessor, 0),
          "count the threads of a multiprocessor");
    const u64 most = (u64)processors * (threads / BLOCK);
    const u64 wanted = (count + @{tile} - 1) / (@{tile});
    return (u32)(wanted < most ? wanted : most);
}
//@     else
// A block takes @{tile} elements.
static u32 blocks_for(u64 count)
{
    return (u32)((count + @{tile} - 1) / (@{tile}));
}
//@     end

int main(int argc, char **argv)
{
    const u64 count = argc > 1 ? strtoull(argv[1], nullptr, 10) : 1 << 24;
    if (count == 0) {
        fprintf(stderr, "usage: %s [COUNT]\n", argv[0]);
        return 2;
    }

    // -1, 0 and 1 in no order: every partial sum is exact, so that a sum is right or wrong.
    std::vector<@{number}> numbers(count);
    @{sum_type} expected = 0;
    u32 state = 1;
    for (@{number} &number : numbers) {
        state = state * 1664525 + 1013904223;
        number = (int)(state >> 24) % 3 - 1;
        expected += number;
    }

    const u32 blocks = blocks_for(count);
    @{number} *input = allocate<@{number}>(count);
    check(cudaMemcpy(input, numbers.data(), count * sizeof *input, cudaMemcpyHostToDevice),
          "copy the input");
//@     if meets then
    @{sum_type} *total = allocate<@{sum_type}>(1);

    // Zero before the first call; every call leaves it so.
//@         if step == "poll" then
    const u64 scratch_bytes = @{scratch.words_offset} + blocks * WORDS * sizeof(u64);
//@         else
    const u64 scratch_bytes = @{scratch.slots_offset} + blocks * sizeof *total;
//@         end
    char *scratch = allocate<char>(scratch_bytes);
    check(cudaMemset(scratch, 0, scratch_bytes), "clear the scratch");
    redtune_reduce<<<blocks, BLOCK>>>(input, count, total, scratch);
//@     else
    @{sum_type} *partial = allocate<@{sum_type}>(blocks);
    @{sum_type} *fewer = allocate<@{sum_type}>(blocks_for(blocks));
//@         if step == "global" then
    @{sum_type} *work = allocate<@{sum_type}>((u64)blocks * BLOCK);
//@         end
//@         local work = step == "global" and ", work" or ""

    // The first launch leaves a sum per block. The second adds these up, as do more of them where
    // one block cannot take all: each reads what the one before has written.
    redtune_reduce<<<blocks, BLOCK>>>(input, count, partial@{work});
    @{sum_type} *total = partial, *other = fewer;
    for (u64 left = blocks; left > 1; left = blocks_for(left)) {
        redtune_reduce<<<blocks_for(left), BLOCK>>>(total, left, other@{work});
        @{sum_type} *written = other;
        other = total;
        total = written;
    }
//@     end
    check(cudaGetLastError(), "launch the kernel");

    @{sum_type} sum = 0;
    check(cudaMemcpy(&sum, total, sizeof sum, cudaMemcpyDeviceToHost), "copy the sum");
    printf("@{step}: the sum of %llu elements is %.0f, and %.0f is right\n", count, (double)sum,
           (double)expected);
    cudaFree(input);
//@     if meets then
    cudaFree(total);
    cudaFree(scratch);
//@     else
    cudaFree(partial);
    cudaFree(fewer);
//@         if step == "global" then
    cudaFree(work);
//@         end
//@     end
    return sum == expected ? 0 : 1;
}
//@ end
