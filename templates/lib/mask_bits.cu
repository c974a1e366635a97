//@ -- Bits of a mask. A bit has a number, as a byte has an address: eight times its byte's address, and
//@ -- its place in that byte.
//@ takes given, load
//@ local loads = require "lib/load"
//@ local byte, pair = given.mask_layout(1), given.mask_layout(2)
// The N bits from that number on, a byte of `into` each, if they are there. Only bytes with one of them are read.
template <u32 N, u32 WORDS>
__device__ __forceinline__ void load_bits(u32 (&into)[WORDS], u64 from, bool there = true)
{
    u32 low[1] = {0}, next[1] = {0}, high[1] = {0};
    const u64 first = from / 8, last = (from + N - 1) / 8;
    if (N <= 8 || from % N > 0) {
        @{loads.guarded(byte, load, "low", "first", "there")}
    } else {
        @{loads.guarded(pair, load, "low", "first", "there")}
    }
    if (from % N > 0) {
        @{loads.guarded(byte, load, "high", "last", "there")}
        if (N > 8) {
            @{loads.guarded(byte, load, "next", "first + 1", "there")}
        }
    }
    const u32 all = low[0] | next[0] << 8 | high[0] << (N > 8 ? 16 : 8), bits = all >> from % 8 & ((1u << N) - 1);
#pragma unroll
    for (u32 i = 0; i < WORDS; i++) into[i] = (bits >> 4 * i & 15) * 0x00204081 & 0x01010101;
}

