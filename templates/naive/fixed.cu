//@ -- The naive kernel's way through the elements in the fixed order, step by step.
//@ takes given, second_at
__device__ partial leaf(const question &q, u64 index@{given.parameter})
{
    if (index >= q.count) return nothing();
    const u64 at = (q.first + index) % q.period;
    const element *from[INPUTS];
    for (u32 k = 0; k < INPUTS; k++)
//@ if given.masked then
        from[k] = index == q.planted_at[k] ? (const element *)&q.planted[k]
                : k == 0 ? q.elements[0] + at : @{second_at};
//@ else
        from[k] = index == q.planted_at[k] ? (const element *)&q.planted[k] : q.elements[k] + at;
//@ end
    return of_element(from, index@{given.argument});
}

// Halves n values.
__device__ partial halve(partial *a, u32 n@{given.parameter})
{
    for (u32 m = n / 2; m > 0; m /= 2)
        for (u32 j = 0; j < m; j++) a[j] = combine(a[j], a[j + m]@{given.argument});
    return a[0];
}

__device__ partial reduce_vector(const question &q, u64 first@{given.parameter})
{
    partial a[VEC];
    for (u32 j = 0; j < VEC; j++) a[j] = leaf(q, first + j@{given.argument});
    return halve(a, VEC@{given.argument});
}

// The chunk that begins with that element: the node there is, or vector by vector.
__device__ partial reduce_chunk(const question &q, u64 first@{given.parameter})
{
    bool is_whole = first + CHUNK <= q.count;
    for (u32 k = 0; k < INPUTS; k++)
        is_whole &= q.planted_at[k] < first || q.planted_at[k] >= first + CHUNK;
    if (is_whole && first / CHUNK < q.levels) return q.nodes[first / CHUNK];
    partial a[VECTORS];
    for (u32 j = 0; j < VECTORS; j++) a[j] = reduce_vector(q, first + j * VEC@{given.argument});
    return halve(a, VECTORS@{given.argument});
}

__device__ partial reduce(const question &q@{given.parameter})
{
    // What waits for its neighbour: after n chunks there is a value of 2^k for each bit k of n.
    partial level[64];
    const u64 n = (q.count + CHUNK - 1) / CHUNK;
    for (u64 i = 0; i < n; i++) {
        partial a = reduce_chunk(q, i * CHUNK@{given.argument});
        u32 k = 0;
        for (; i >> k & 1; k++) a = combine(level[k], a@{given.argument});
        level[k] = a;
    }
    partial top = nothing();
    for (u32 k = 0; n >> k; k++)
        if (n >> k & 1) top = combine(level[k], top@{given.argument});
    return q.node ? top : combine(nothing(), top@{given.argument});
}

