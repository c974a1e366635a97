//@ local function key_number(at)
//@     return ("(u64)%s%s"):format(key.kind == "signed" and "(i64)" or "", at)
//@ end
//@ local unsigned = { "unsigned char", "unsigned short", [4] = "unsigned", [8] = "unsigned long long" }
// redtune: elements of @{dtype.bytes} bytes in the order of their keys of @{key.name}, by the template "reordered" with
// @{config}
//
// A digit is 8 bits of a key; a key that is out of range is the last. For each digit, the lowest first:
//   redtune_count_digits  each warp counts the digits of its stretch of the keys
//   redtune_scan_digits   block d scans the warps' counts of digit d
//   redtune_place_digits  each warp takes its keys to where those of their digit go, in their order
// Then redtune_find_keys finds where each key begins, and redtune_reduce takes the elements there. Of rows it takes each
// column by itself: element (i, d) goes to number d * count + i.
// Start it with @{block} threads per block; the first three with as many blocks, but that of digits with one for each.

//@ include "lib/types.cu"
typedef @{unsigned[dtype.bytes]} element;
typedef @{key.c} key_element;
constexpr u32 BLOCK = @{block}, WARPS = BLOCK / 32, DIGITS = 256, ALL = 0xffffffff;

static_assert(BLOCK == DIGITS && sizeof(element) == @{dtype.bytes} && sizeof(key_element) == @{key.bytes}, "");

// As model/launch.h has them.
struct elements {
    u64 count, keys;
    u64 width;
    const key_element *key;
    u64 *skipped;
    u64 slices;
};

struct reordering {
    u32 *key[2], *index[2];  // those of the result are the first
    u32 *counts;             // of each digit those of all warps side by side
    u32 *totals;             // of the digits
    u64 *first;              // of each key, and the end
    u64 *begin, *end;        // of each column of each key, where there are several
    element *values;
};

static_assert(sizeof(elements) == 48 && sizeof(reordering) == 80, "");

struct stretch {
    u64 begin, end;
};

// The keys of a warp: whole steps of its lanes.
__device__ __forceinline__ stretch stretch_of(u64 count)
{
    const u64 warps = gridDim.x * (u64)WARPS, warp = blockIdx.x * (u64)WARPS + threadIdx.x / 32;
    const u64 each = ((count + warps - 1) / warps + 31) / 32 * 32;
    return stretch{min(warp * each, count), min((warp + 1) * each, count)};
}

__device__ __forceinline__ u32 key_at(const elements &s, const reordering &r, u32 shift, u32 to, u64 i)
{
    if (shift > 0) return r.key[1 - to][i];
    const u64 key = @{key_number("s.key[i]")}, keys = s.keys / s.width;
    return (u32)min(key, keys);
}

// The sum of x over the threads before this one; *total over all.
__device__ __forceinline__ u32 scan(u32 *sums, u32 x, u32 *total)
{
    __syncthreads();
    sums[threadIdx.x] = x;
    __syncthreads();
    for (u32 n = 1; n < BLOCK; n *= 2) {
        const u32 before = threadIdx.x >= n ? sums[threadIdx.x - n] : 0;
        __syncthreads();
        sums[threadIdx.x] += before;
        __syncthreads();
    }
    *total = sums[BLOCK - 1];
    return sums[threadIdx.x] - x;
}

extern "C" __global__ void __launch_bounds__(@{block})
redtune_count_digits(elements s, reordering r, u32 shift, u32 to)
{
    __shared__ u32 counts[WARPS][DIGITS];
    u32 *own = counts[threadIdx.x / 32];
    const u32 lane = threadIdx.x % 32, warps = gridDim.x * WARPS, warp = blockIdx.x * WARPS + threadIdx.x / 32;
    const stretch at = stretch_of(s.count);
    for (u32 d = lane; d < DIGITS; d += 32) own[d] = 0;
    __syncwarp();
#pragma unroll 4
    for (u64 i = at.begin + lane; i < at.end; i += 32)
        atomicAdd(own + (key_at(s, r, shift, to, i) >> shift) % DIGITS, 1u);
    __syncwarp();
    for (u32 d = lane; d < DIGITS; d += 32) r.counts[d * warps + warp] = own[d];
}

extern "C" __global__ void __launch_bounds__(@{block})
redtune_scan_digits(reordering r, u32 warps)
{
    __shared__ u32 sums[BLOCK];
    u32 *counts = r.counts + blockIdx.x * (u64)warps;
    u32 before = 0;
    for (u32 first = 0; first < warps; first += BLOCK) {
        const u32 i = first + threadIdx.x;
        u32 total;
        const u32 sum = scan(sums, i < warps ? counts[i] : 0, &total);
        if (i < warps) counts[i] = before + sum;
        before += total;
    }
    if (threadIdx.x == 0) r.totals[blockIdx.x] = before;
}

extern "C" __global__ void __launch_bounds__(@{block})
redtune_place_digits(elements s, reordering r, u32 shift, u32 to)
{
    __shared__ u32 places[WARPS][DIGITS], sums[BLOCK], firsts[DIGITS];
    u32 *own = places[threadIdx.x / 32], total;
    const u32 lane = threadIdx.x % 32, warps = gridDim.x * WARPS, warp = blockIdx.x * WARPS + threadIdx.x / 32;
    const stretch at = stretch_of(s.count);
    firsts[threadIdx.x] = scan(sums, r.totals[threadIdx.x], &total);
    __syncthreads();
    for (u32 d = lane; d < DIGITS; d += 32) own[d] = firsts[d] + r.counts[d * warps + warp];
    __syncwarp();
#pragma unroll 2
    for (u64 step = at.begin; step < at.end; step += 32) {
        const u64 i = step + lane;
        const bool there = i < at.end;
        const u32 key = there ? key_at(s, r, shift, to, i) : 0;
        const u32 index = there ? shift > 0 ? r.index[1 - to][i] : (u32)i : 0;
        const u32 digit = there ? (key >> shift) % DIGITS : DIGITS;
        const u32 same = __match_any_sync(ALL, digit), rank = __popc(same & ((1u << lane) - 1));
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

// A thread for each key, and one for the end, that of those in range.
extern "C" __global__ void __launch_bounds__(@{block})
redtune_find_keys(elements s, reordering r)
{
    const u64 keys = s.keys / s.width;
    for (u64 k = blockIdx.x * (u64)BLOCK + threadIdx.x; k <= keys; k += gridDim.x * (u64)BLOCK) {
        u64 begin = 0, end = s.count;
        while (begin < end) {
            const u64 middle = (begin + end) / 2;
            if (r.key[0][middle] < k) begin = middle + 1;
            else end = middle;
        }
        r.first[k] = begin;
        if (k == keys && s.skipped && begin < s.count) atomicAdd(s.skipped, s.count - begin);
    }
}

// Columns of 32 rows by shared memory, so that loads and stores are side by side.
__device__ __forceinline__ void take_columns(const element *input, const elements &s, const reordering &r)
{
    __shared__ element tile[32][33];
    const u32 x = threadIdx.x % 32, y = threadIdx.x / 32;
    const u64 across = (s.width + 31) / 32, tiles = (s.count + 31) / 32 * across;
    for (u64 t = blockIdx.x; t < tiles; t += gridDim.x) {
        const u64 row = t / across * 32, column = t % across * 32;
        for (u32 i = y; i < 32; i += WARPS)
            if (row + i < s.count && column + x < s.width)
                tile[i][x] = input[r.index[0][row + i] * s.width + column + x];
        __syncthreads();
        for (u32 i = y; i < 32; i += WARPS)
            if (row + x < s.count && column + i < s.width) r.values[(column + i) * s.count + row + x] = tile[x][i];
        __syncthreads();
    }
    for (u64 cell = blockIdx.x * (u64)BLOCK + threadIdx.x; cell < s.keys; cell += gridDim.x * (u64)BLOCK) {
        const u64 k = cell / s.width, before = cell % s.width * s.count;
        r.begin[cell] = before + r.first[k];
        r.end[cell] = before + r.first[k + 1];
    }
}

extern "C" __global__ void __launch_bounds__(@{block})
redtune_reduce(const element *input, elements s, reordering r)
{
    if (s.width > 1) {
        take_columns(input, s, r);
        return;
    }
#pragma unroll 4
    for (u64 i = blockIdx.x * (u64)BLOCK + threadIdx.x; i < s.count; i += gridDim.x * (u64)BLOCK)
        r.values[i] = input[r.index[0][i]];
}

// Indices within a key's elements become those of all.
extern "C" __global__ void __launch_bounds__(@{block})
redtune_name_indices(elements s, reordering r, i64 *indices)
{
    for (u64 cell = blockIdx.x * (u64)BLOCK + threadIdx.x; cell < s.keys; cell += gridDim.x * (u64)BLOCK)
        if (indices[cell] >= 0) indices[cell] = r.index[0][r.first[cell / s.width] + indices[cell]];
}
