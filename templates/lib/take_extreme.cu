//@ -- take() brings a vector into the best that a thread has, of an indexed op. All elements of a
//@ -- vector are of one result: their extreme is found first, and which of them has it when all are
//@ -- taken.
//@ takes op, given, dtype, layout, vec
//@ local measured, number = op.measured, dtype.kind ~= "float" or op.skips_nan
//@ local x = {}
//@ for j = 0, vec - 1 do
//@     x[j] = measured.of(dtype.unpack(("v.word[%d]"):format(j // layout.per_word), j % layout.per_word))
//@ end
// A thread counts its loads. It remembers the first of those with a value that no other goes before.
struct best {
    @{measured.c} x;
    u32 load;
    vector v;
};

__device__ __forceinline__ accumulator candidate(value x, u64 index)
{
    return arg{key_of(x), index};
}

//@ if measured.functions then
@{measured.functions}
//@ end
__device__ __forceinline__ void take(best (&part)[LANES], const vector &v, u32 load@{given.parameter})
{
//@ for j = 0, vec - 1 do
    const @{measured.c} x@{j} = @{x[j]};
//@ end
//@ local many, name = vec, "x"
//@ while many > 1 do
//@     for j = 0, many // 2 - 1 do
    const @{measured.c} @{name}x@{j} = @{measured.combine(name .. 2 * j, name .. 2 * j + 1)};
//@     end
//@     many, name = many // 2, name .. "x"
//@ end
//@ name = name .. "0"
//@ if number then
    if (@{measured.before(name, "part[0].x")}) part[0] = best{@{name}, load, v};
//@ else
    // It is a NaN if one of them is, which goes before all but another NaN.
    const bool is_new = @{name} != @{name} && part[0].x == part[0].x;
    if (is_new || @{measured.before(name, "part[0].x")}) part[0] = best{@{name}, load, v};
//@ end
}

// Which element of its vector is the first such. If no value went before the last one there is, all
// are that: the first one.
__device__ __forceinline__ u32 element_of(const best &b)
{
    const vector &v = b.v;
    u32 at = 0;
//@ for j = vec - 1, 0, -1 do
    {
        const @{measured.c} x = @{x[j]};
        if (x == b.x@{number and "" or " || x != x"}) at = @{j};
    }
//@ end
    return at;
}
