//@ -- What is the same whichever way a warp goes over segments that lie one after the other.
//@ -- `full`: most batches have BATCH segments, and a path without min().
//@ takes dtype, layout, vec, full
//@ local loads = require "lib/load"
//@ local single = loads.layout(dtype, 1)
constexpr u32 BATCH = 128;  // segments that a warp knows at a time
constexpr u32 EACH = BATCH / 32;  // that a lane knows

//@ if vec > 1 then
// Those elements of the vector at that place that are the table's.
__device__ __forceinline__ vector load_within(u64 place, u64 low, u64 high)
{
    vector v;
//@     for i = 0, layout.words - 1 do
    v.word[@{i}] = 0;
//@         for k = 0, layout.per_word - 1 do
//@             local at = (i * layout.per_word + k) * dtype.bytes
    if (place + @{at} >= low && place + @{at} < high) {
        @{single.word.c} word[1];
        @{loads.statement(single, "plain", "word", "place + " .. at)}
        v.word[@{i}] @{k > 0 and "|" or ""}= word[0]@{k > 0 and " << " .. 8 * dtype.bytes * k or ""};
    }
//@         end
//@     end
    return v;
}

//@ end
// The offsets of a batch: of this lane's segments, and the one behind the last. Behind the `left`
// segments that there are all are the same.
__device__ __forceinline__ void load_offsets(const segments &s, u64 base, u64 left, i64 (&next)[EACH + 1])
{
    const u32 most = left < BATCH ? left : BATCH, lane = threadIdx.x % 32;
//@ for _, offset in ipairs { "i64", "int" } do
    @{offset == "i64" and "if (s.wide)" or "else"} {
        const @{offset} *const from = (const @{offset} *)s.begin + base;
//@     if full then
        const @{offset} *const own = from + lane;
        if (most == BATCH) {
#pragma unroll
            for (u32 j = 0; j < EACH; j++) next[j] = own[j * 32];
            next[EACH] = from[BATCH];
            return;
        }
//@     end
#pragma unroll
        for (u32 j = 0; j < EACH; j++) next[j] = from[min(j * 32 + lane, most)];
        next[EACH] = from[most];
    }
//@ end
}

