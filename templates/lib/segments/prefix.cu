//@ -- The launch that counts the work before segments which are given with their ends.
//@ takes arch, scratch
// The work before chunk c of segments that are given with two tables; behind the last one, of all.
__device__ __forceinline__ u64 *chunk_table(void *scratch)
{
    return (u64 *)((char *)scratch + @{scratch.slots_offset});
}

// Segments of a chunk.
__device__ __forceinline__ u64 chunk_of(const segments &s)
{
    const u64 chunk = (s.count + CHUNKS - 1) / CHUNKS;
    return chunk < 32 ? 32 : chunk;
}

__device__ __forceinline__ u64 scan_warp(u64 x)
{
    const u32 lane = threadIdx.x % 32;
#pragma unroll
    for (u32 step = 1; step < 32; step *= 2) {
        const u64 other = __shfl_up_sync(ALL, x, step);
        if (lane >= step) x += other;
    }
    return x;
}

// The first launch, where there are two: leaves the table of chunks. The last block to come makes
// sums of what the others leave.
extern "C" __global__ void __launch_bounds__(256)
redtune_prefix(segments s, void *scratch)
{
//@ if arch >= 90 then
    asm volatile("griddepcontrol.launch_dependents;");
    asm volatile("griddepcontrol.wait;" : : : "memory");
//@ end
    u64 *const table = chunk_table(scratch);
    const u64 chunk = chunk_of(s), chunks = (s.count + chunk - 1) / chunk;
    const u32 thread = threadIdx.x, lane = thread % 32;
    for (u64 c = blockIdx.x * (PREFIX_BLOCK / 32) + thread / 32; c < chunks;
         c += gridDim.x * (PREFIX_BLOCK / 32)) {
        const u64 end = (c + 1) * chunk < s.count ? (c + 1) * chunk : s.count;
        u64 work = 0;
        for (u64 i = c * chunk + lane; i < end; i += 32) work += COST + segment_of(s, i).count;
        work = scan_warp(work);
        if (lane == 31) table[c] = work;
    }
    __shared__ bool last;
    __shared__ u64 warp_sum[PREFIX_BLOCK / 32];
    __threadfence();
    __syncthreads();
    if (thread == 0) {
        last = atomicInc((u32 *)scratch + 1, gridDim.x - 1) == gridDim.x - 1;
        __threadfence();
    }
    __syncthreads();
    if (!last) return;
    constexpr u32 EACH = CHUNKS / PREFIX_BLOCK;
    u64 work[EACH], sum = 0;
#pragma unroll
    for (u32 k = 0; k < EACH; k++) {
        const u64 c = thread * EACH + k;
        work[k] = c < chunks ? __ldcg(table + c) : 0;
    }
#pragma unroll
    for (u32 k = 0; k < EACH; k++) sum += work[k];
    const u64 through = scan_warp(sum);
    if (lane == 31) warp_sum[thread / 32] = through;
    __syncthreads();
    u64 before = through - sum;
    for (u32 w = 0; w < thread / 32; w++) before += warp_sum[w];
#pragma unroll
    for (u32 k = 0; k < EACH; k++) {
        const u64 c = thread * EACH + k;
        if (c <= chunks) table[c] = before;
        before += work[k];
    }
    // Behind the last chunk there may be no thread's.
    if (chunks == CHUNKS && thread == PREFIX_BLOCK - 1) table[CHUNKS] = before;
}

