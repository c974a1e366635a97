//@ -- Elements that lie side by side, in the fixed order (docs/order.md), by a warp.
//@ takes op, given
// The first lane returns the value of `bytes` bytes of elements side by side, by a warp. A call of it costs sums a
// fifth of their time; what takes long to combine would take NVRTC a minute in five places.
__device__ @{op.costly and "__noinline__" or "__forceinline__"} accumulator reduce_run(u64 begin, u64 bytes@{given.parameter})
{
    const run own = {begin, (u32)(bytes / CHUNK_BYTES), (u32)(bytes % CHUNK_BYTES)}, none = {0, 0, 0};
    vector v[UNROLL];
    if (begin % LOAD_BYTES == 0) {
        load_first<true>(v, own@{given.argument});
        return take_run<true>(v, own, none@{given.argument});
    }
    load_first<false>(v, own@{given.argument});
    return take_run<false>(v, own, none@{given.argument});
}

