//@ -- The first rows of a block's strip, asked for while the kernel before still runs. `made` is
//@ -- how many columns of a strip a block makes. The loop over strips goes through one: the kernels'
//@ -- hashes, by which measurements are found, are of this text.
//@ takes given, dtype, vec, made
//@ if given.ahead then
//@ include("lib/constants.cu", { names = "AHEAD_BYTES = 1 << 23" })

// Asks for each thread's first UNROLL rows to be brought into L2, a line of 128 bytes at a time. That
// reads nothing, so it is right even while the kernel before may still write. A thread asks for the
// line that begins in its load, and the first one of a row for the strip's first line, too.
__device__ __forceinline__ void prefetch_strip(const element *input, const extents &e@{given.inputs > 1 and ", u64 second" or ""})
{
    constexpr u64 SIDE = 1 * @{made};
    const u64 sets = e.inner / SIDE + (e.inner % SIDE > 0);
    const share mine = share_of(e.outer * sets);
    const u64 o = e.outer > 1 ? mine.set / sets : 0;
    u64 column = (mine.set - o * sets) * SIDE + across() * VEC;
    if (mine.set >= mine.sets || column >= e.inner) return;
    for (u32 s = 0; s < 1 && column < e.inner; s++, column += @{made}) {
        u64 row = (u64)mine.split * UNROLL * DEPTH + along();
        const element *at = input + o * e.outer_step + row * e.step + column;
#pragma unroll
        for (u32 i = 0; i < UNROLL; i++, row += DEPTH, at += DEPTH * e.step) {
            const bool begins = STRIP * sizeof(element) >= 128 && across() == 0;
            if (row >= e.count || !(begins || (u64)at % 128 < LOAD_BYTES)) continue;
            asm volatile("prefetch.global.L2 [%0];" : : "l"(at));
//@     if given.masked then
            asm volatile("prefetch.global.L2 [%0];" : : "l"(@{given.bits and "(" or ""}second + (u64)(at - input)@{given.bits and ") / 8" or ""}));
//@     elseif given.inputs > 1 then
            asm volatile("prefetch.global.L2 [%0];" : : "l"((u64)at + second - (u64)input));
//@     end
        }
    }
}

//@ end
