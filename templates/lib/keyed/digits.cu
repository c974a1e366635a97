//@ -- Brings the numbers of elements into the order of their keys, by digits of 8 bits, the lowest first. Launched on
//@ -- 256 threads. A key that is out of range is the last.
//@ -- mask: "bytes" or "bits", nil: each element counts. Keys of absent elements come behind all others. `apart`: the
//@ -- elements of rows, which may be absent, are brought into the order of their results, each by itself.
//@ takes key, apart?, mask?
//@ local given = mask and ", arguments rest" or ""
//@ local count = apart and "s.count * s.width" or "s.count"
constexpr u32 DIGITS = 256, SORT_WARPS = DIGITS / 32;

struct reordering {
    u32 *key[2], *index[2];  // those of the result are the first
    u32 *counts;             // of each digit those of all warps side by side
    u32 *totals;             // of the digits
    u64 *first;              // of each key, and the end
    u64 *begin, *end;        // of each column of each key, where there are several
    void *values;
};

static_assert(sizeof(reordering) == 80, "");

struct stretch {
    u64 begin, end;
};

// The keys of a warp: whole steps of its lanes.
__device__ __forceinline__ stretch stretch_of(u64 count)
{
    const u64 warps = gridDim.x * (u64)SORT_WARPS, warp = blockIdx.x * (u64)SORT_WARPS + threadIdx.x / 32;
    const u64 each = ((count + warps - 1) / warps + 31) / 32 * 32;
    return stretch{min(warp * each, count), min((warp + 1) * each, count)};
}

//@ if mask then
struct arguments {
    u64 mask;  // of the first element: the address of its byte, or the number of its bit
};

//@ end
__device__ __forceinline__ u32 key_at(const elements &s, const reordering &r, u32 shift, u32 to, u64 i@{mask and ", const arguments &rest" or ""})
{
    if (shift > 0) return r.key[1 - to][i];
//@ if apart then
    const u64 row = i / s.width, its = (u64)@{key.kind == "signed" and "(i64)" or ""}s.key[row], keys = s.keys;
    const u64 key = its < keys / s.width ? its * s.width + (i - row * s.width) : keys;
//@ else
    const u64 key = (u64)@{key.kind == "signed" and "(i64)" or ""}s.key[i], keys = s.keys / s.width;
//@ end
//@ if mask == "bits" then
    const u64 bit = rest.mask + i;
    if ((*(const unsigned char *)(bit / 8) >> bit % 8 & 1) == 0) return (u32)keys + 1;
//@ elseif mask then
    if (((const unsigned char *)rest.mask)[i] == 0) return (u32)keys + 1;
//@ end
    return (u32)min(key, keys);
}

// The sum of x over the threads before this one; *total over all.
__device__ __forceinline__ u32 scan(u32 *sums, u32 x, u32 *total)
{
    __syncthreads();
    sums[threadIdx.x] = x;
    __syncthreads();
    for (u32 n = 1; n < DIGITS; n *= 2) {
        const u32 before = threadIdx.x >= n ? sums[threadIdx.x - n] : 0;
        __syncthreads();
        sums[threadIdx.x] += before;
        __syncthreads();
    }
    *total = sums[DIGITS - 1];
    return sums[threadIdx.x] - x;
}

extern "C" __global__ void __launch_bounds__(256)
redtune_count_digits(elements s, reordering r, u32 shift, u32 to@{given})
{
    __shared__ u32 counts[SORT_WARPS][DIGITS];
    u32 *own = counts[threadIdx.x / 32];
    const u32 lane = threadIdx.x % 32, warps = gridDim.x * SORT_WARPS, warp = blockIdx.x * SORT_WARPS + threadIdx.x / 32;
    const stretch at = stretch_of(@{count});
    for (u32 d = lane; d < DIGITS; d += 32) own[d] = 0;
    __syncwarp();
#pragma unroll 4
    for (u64 i = at.begin + lane; i < at.end; i += 32)
        atomicAdd(own + (key_at(s, r, shift, to, i@{mask and ", rest" or ""}) >> shift) % DIGITS, 1u);
    __syncwarp();
    for (u32 d = lane; d < DIGITS; d += 32) r.counts[d * warps + warp] = own[d];
}

extern "C" __global__ void __launch_bounds__(256)
redtune_scan_digits(reordering r, u32 warps)
{
    __shared__ u32 sums[DIGITS];
    u32 *counts = r.counts + blockIdx.x * (u64)warps;
    u32 before = 0;
    for (u32 first = 0; first < warps; first += DIGITS) {
        const u32 i = first + threadIdx.x;
        u32 total;
        const u32 sum = scan(sums, i < warps ? counts[i] : 0, &total);
        if (i < warps) counts[i] = before + sum;
        before += total;
    }
    if (threadIdx.x == 0) r.totals[blockIdx.x] = before;
}

extern "C" __global__ void __launch_bounds__(256)
redtune_place_digits(elements s, reordering r, u32 shift, u32 to@{given})
{
    __shared__ u32 places[SORT_WARPS][DIGITS], sums[DIGITS], firsts[DIGITS];
    u32 *own = places[threadIdx.x / 32], total;
    const u32 lane = threadIdx.x % 32, warps = gridDim.x * SORT_WARPS, warp = blockIdx.x * SORT_WARPS + threadIdx.x / 32;
    const stretch at = stretch_of(@{count});
    firsts[threadIdx.x] = scan(sums, r.totals[threadIdx.x], &total);
    __syncthreads();
    for (u32 d = lane; d < DIGITS; d += 32) own[d] = firsts[d] + r.counts[d * warps + warp];
    __syncwarp();
#pragma unroll 2
    for (u64 step = at.begin; step < at.end; step += 32) {
        const u64 i = step + lane;
        const bool there = i < at.end;
        const u32 key = there ? key_at(s, r, shift, to, i@{mask and ", rest" or ""}) : 0;
        const u32 index = there ? shift > 0 ? r.index[1 - to][i] : (u32)i : 0;
        const u32 digit = there ? (key >> shift) % DIGITS : DIGITS;
        const u32 same = __match_any_sync(0xffffffff, digit), rank = __popc(same & ((1u << lane) - 1));
        const u32 place = there ? own[digit] + rank : 0;
        __syncwarp();
        if (there && rank == 0) own[digit] += __popc(same);
        __syncwarp();
        if (there) {
            r.key[to][place] = key;
            r.index[to][place] = index;
        }
    }
}
