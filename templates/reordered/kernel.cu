//@ local unsigned = { "unsigned char", "unsigned short", [4] = "unsigned", [8] = "unsigned long long" }
// redtune: elements of @{dtype.bytes} bytes in the order of their keys of @{key.name}, by the template "reordered" with
// @{config}
//
// A digit is 8 bits of a key; a key that is out of range is the last. For each digit, the lowest first:
//   redtune_count_digits  each warp counts the digits of its stretch of the keys
//   redtune_scan_digits   block d scans the warps' counts of digit d
//   redtune_place_digits  each warp takes its keys to where those of their digit go, in their order
//@ local apart = mask and of_rows or nil
//@ local count = apart and "s.count * s.width" or "s.count"
//@ if apart then
// Then redtune_find_keys finds where each key begins, and redtune_reduce takes the elements there. Element d of a row is one
// by itself, whose key is that of the row times the width, and d.
//@ else
// Then redtune_find_keys finds where each key begins, and redtune_reduce takes the elements there. Of rows it takes each
// column by itself: element (i, d) goes to number d * count + i.
//@ end
//@ if mask then
// Elements whose @{mask == "bits" and "bit" or "byte"} in the mask is 0 are absent: they come behind those, and no key has them.
//@ end
// Start it with @{block} threads per block; the first three with as many blocks, but that of digits with one for each.

//@ include "lib/types.cu"
typedef @{unsigned[dtype.bytes]} element;
typedef @{key.c} key_element;
constexpr u32 BLOCK = @{block}, WARPS = BLOCK / 32;

static_assert(BLOCK == 256 && sizeof(element) == @{dtype.bytes} && sizeof(key_element) == @{key.bytes} && sizeof(element) <= 8, "");

// As model/launch.h has them.
struct elements {
    u64 count, keys;
    u64 width;
    const key_element *key;
    u64 *skipped;
    u64 slices;
};

static_assert(sizeof(elements) == 48, "");

//@ include("lib/keyed/digits.cu", { apart = apart, mask = mask or nil })
//@ if mask then
// How many keys are less.
__device__ __forceinline__ u64 first_of(const elements &s, const reordering &r, u64 key)
{
    u64 begin = 0, end = @{count};
    while (begin < end) {
        const u64 middle = (begin + end) / 2;
        if (r.key[0][middle] < key) begin = middle + 1;
        else end = middle;
    }
    return begin;
}

//@ end
// A thread for each key, and one for the end, that of those in range.
extern "C" __global__ void __launch_bounds__(@{block})
redtune_find_keys(elements s, reordering r)
{
//@ if apart then
    // Rows whose keys are out of range count, whatever their elements.
    u64 skipped = 0;
    for (u64 i = blockIdx.x * (u64)BLOCK + threadIdx.x; s.skipped && i < s.count; i += gridDim.x * (u64)BLOCK)
        skipped += (u64)@{key.kind == "signed" and "(i64)" or ""}s.key[i] >= s.keys / s.width;
    if (skipped > 0) atomicAdd(s.skipped, skipped);
    for (u64 k = blockIdx.x * (u64)BLOCK + threadIdx.x; k <= s.keys; k += gridDim.x * (u64)BLOCK)
        r.first[k] = first_of(s, r, k);
}
//@ else
    const u64 keys = s.keys / s.width;
    for (u64 k = blockIdx.x * (u64)BLOCK + threadIdx.x; k <= keys; k += gridDim.x * (u64)BLOCK) {
//@ if mask then
        const u64 begin = first_of(s, r, k), end = k == keys && s.skipped ? first_of(s, r, k + 1) : begin;
        r.first[k] = begin;
        if (begin < end) atomicAdd(s.skipped, end - begin);
//@ else
        u64 begin = 0, end = s.count;
        while (begin < end) {
            const u64 middle = (begin + end) / 2;
            if (r.key[0][middle] < k) begin = middle + 1;
            else end = middle;
        }
        r.first[k] = begin;
        if (k == keys && s.skipped && begin < s.count) atomicAdd(s.skipped, s.count - begin);
//@ end
    }
}

//@ end
//@ if not apart then
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
            if (row + x < s.count && column + i < s.width) ((element *)r.values)[(column + i) * s.count + row + x] = tile[x][i];
        __syncthreads();
    }
    for (u64 cell = blockIdx.x * (u64)BLOCK + threadIdx.x; cell < s.keys; cell += gridDim.x * (u64)BLOCK) {
        const u64 k = cell / s.width, before = cell % s.width * s.count;
        r.begin[cell] = before + r.first[k];
        r.end[cell] = before + r.first[k + 1];
    }
}

//@ end
extern "C" __global__ void __launch_bounds__(@{block})
redtune_reduce(const element *input, elements s, reordering r)
{
//@ if not apart then
    if (s.width > 1) {
        take_columns(input, s, r);
        return;
    }
//@ end
#pragma unroll 4
    for (u64 i = blockIdx.x * (u64)BLOCK + threadIdx.x; i < @{count}; i += gridDim.x * (u64)BLOCK)
        ((element *)r.values)[i] = input[r.index[0][i]];
}

// Indices within a key's elements become those of all.
extern "C" __global__ void __launch_bounds__(@{block})
redtune_name_indices(elements s, reordering r, i64 *indices)
{
    for (u64 cell = blockIdx.x * (u64)BLOCK + threadIdx.x; cell < s.keys; cell += gridDim.x * (u64)BLOCK)
//@ if apart then
        if (indices[cell] >= 0) indices[cell] = r.index[0][r.first[cell] + indices[cell]] / s.width;
//@ else
        if (indices[cell] >= 0) indices[cell] = r.index[0][r.first[cell / s.width] + indices[cell]];
//@ end
}
