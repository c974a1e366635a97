//@ -- A warp's way through chunks in the fixed order (docs/order.md): of a chunk's 256 loads of 16
//@ -- bytes lane l takes l, l + 32, ..., l + 224. `single` is the layout of a load of one element.
__device__ __forceinline__ accumulator map(value x@{given.inputs > 1 and ", value y" or ""}@{given.parameter})
{
    return @{op.map("x", "y")};
}

__device__ __forceinline__ @{single.word.c} load_element_word(u64 from)
{
    @{single.word.c} word[1];
    @{loads.statement(single, "plain", "word", "from")}
    return word[0];
}

// What load_vector() brings, element by element: from where it stands at no multiple of 16 bytes.
__device__ __forceinline__ vector gather_vector(u64 from@{given.parameter})
{
    vector v;
//@ for k, array in ipairs(given.inputs > 1 and { "word", "other" } or { "word" }) do
//@     local base = k > 1 and "from + given.to_second" or "from"
//@     for i = 0, layout.words - 1 do
//@         local pieces = {}
//@         for j = 0, layout.per_word - 1 do
//@             local at = (i * layout.per_word + j) * dtype.bytes
//@             pieces[j + 1] = ("load_element_word(%s + %d)"):format(base, at)
//@                 .. (j > 0 and (" << %d"):format(8 * dtype.bytes * j) or "")
//@         end
    v.@{array}[@{i}] = @{table.concat(pieces, " | ")};
//@     end
//@ end
    return v;
}

template <bool ALIGNED>
__device__ __forceinline__ vector bring_vector(u64 from@{given.parameter})
{
    return ALIGNED ? load_vector(from@{given.argument}) : gather_vector(from@{given.argument});
}

// The elements of a vector, the upper half combined into the lower until one is left.
__device__ __forceinline__ accumulator fold(accumulator (&a)[VEC]@{given.parameter})
{
//@ local half = vec // 2
//@ while half > 0 do
//@     for j = 0, half - 1 do
    a[@{j}] = combine(a[@{j}], a[@{j + half}]@{given.argument});
//@     end
//@     half = half // 2
//@ end
    return a[0];
}

__device__ __forceinline__ accumulator fold_vector(const vector &v@{given.parameter})
{
    accumulator a[VEC];
//@ for j = 0, vec - 1 do
//@     local at, k = j // layout.per_word, j % layout.per_word
//@     local x = dtype.unpack("v.word[" .. at .. "]", k)
//@     local y = given.inputs > 1 and ", " .. dtype.unpack("v.other[" .. at .. "]", k) or ""
    a[@{j}] = map(@{x}@{y}@{given.argument});
//@ end
    return fold(a@{given.argument});
}

// A step brings UNROLL loads of a lane's eight, which are taken with the bits of their numbers
// reversed: 0, 4, 2, 6, 1, 5, 3, 7. So neighbours are those that halving combines.
template <bool ALIGNED>
__device__ __forceinline__ void load_step(vector (&v)[UNROLL], u64 chunk, u32 step@{given.parameter})
{
    const u64 from = chunk + threadIdx.x % 32 * LOAD_BYTES;
#pragma unroll
    for (u32 i = 0; i < UNROLL; i++) {
        const u32 k = step * UNROLL + i, load = k % 2 * 4 + k / 2 % 2 * 2 + k / 4;
        v[i] = bring_vector<ALIGNED>(from + load * 32 * LOAD_BYTES@{given.argument});
    }
}

// A step's loads, neighbours first.
__device__ __forceinline__ accumulator fold_step(const vector (&v)[UNROLL]@{given.parameter})
{
    accumulator a[UNROLL];
#pragma unroll
    for (u32 i = 0; i < UNROLL; i++) a[i] = fold_vector(v[i]@{given.argument});
//@ local apart = 1
//@ while apart < unroll do
//@     for i = 0, unroll - 1, 2 * apart do
    a[@{i}] = combine(a[@{i}], a[@{i + apart}]@{given.argument});
//@     end
//@     apart = 2 * apart
//@ end
    return a[0];
}

// A lane's share of the last chunk, of which the input may have a part only.
template <bool ALIGNED>
__device__ __forceinline__ accumulator take_last(u64 chunk, u64 end@{given.parameter})
{
    accumulator a[LOADS];
#pragma unroll
    for (u32 i = 0; i < LOADS; i++) {
        const u64 from = chunk + (threadIdx.x % 32 + i * 32) * LOAD_BYTES;
        if (from + LOAD_BYTES <= end) {
            a[i] = fold_vector(bring_vector<ALIGNED>(from@{given.argument})@{given.argument});
        } else {
            accumulator each[VEC];
//@ for j = 0, vec - 1 do
            each[@{j}] = @{op.identity};
//@     local y = given.inputs > 1 and ", " .. dtype.unpack("load_element_word(at" .. j .. " + given.to_second)", 0) or ""
            const u64 at@{j} = from + @{j * dtype.bytes};
            if (at@{j} < end) each[@{j}] = map(@{dtype.unpack("load_element_word(at" .. j .. ")", 0)}@{y}@{given.argument});
//@ end
            a[i] = fold(each@{given.argument});
        }
    }
//@ for _, half in ipairs { 4, 2, 1 } do
//@     for i = 0, half - 1 do
    a[@{i}] = combine(a[@{i}], a[@{i + half}]@{given.argument});
//@     end
//@ end
    return a[0];
}

// Lane 0 returns the combination of the lanes' values, the upper half combined into the lower.
__device__ __forceinline__ accumulator reduce_lanes(accumulator a@{given.parameter})
{
//@ for _, step in ipairs { 16, 8, 4, 2, 1 } do
    a = combine(a, @{acc.shuffle("a", step)}@{given.argument});
//@ end
    return a;
}

// Adds the value of chunk number c of a run, which lane 0 has, to those that wait: neighbours are
// combined.
__device__ __forceinline__ accumulator carry(accumulator waiting, accumulator a, u32 c@{given.parameter})
{
    u32 level = 0;
    if (c & 1) a = @{acc.fetch("a", "0")};
    for (; c >> level & 1; level++) a = combine(@{acc.fetch("waiting", "level")}, a@{given.argument});
    return threadIdx.x % 32 == level ? a : waiting;
}

// Lane 0 returns the value of a run of n chunks, which wait: behind them is nothing.
__device__ __forceinline__ accumulator settle(accumulator waiting, u32 n@{given.parameter})
{
    if (n <= 1) return waiting; // lane 0 has the only one, or nothing waits
    accumulator a = @{op.identity};
    for (u32 level = 0; n >> level; level++)
        if (n >> level & 1) a = combine(@{acc.fetch("waiting", "level")}, a@{given.argument});
    return a;
}

