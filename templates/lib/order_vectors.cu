//@ -- Vectors of the fixed order (docs/order.md): 16 bytes of elements, from wherever they begin.
//@ -- `single` is the layout of a load of one element. What an op takes long to combine is a
//@ -- function of its own, called by all places that fold a vector: in each of them it would take
//@ -- NVRTC minutes.
//@ takes op, given, dtype, layout, vec
//@ local loads = require "lib/load"
//@ local single, byte = loads.layout(dtype, 1), given.other_layout(1)
//@ local of = { word = layout, other = given.other_layout(vec) }
//@ local bytes = { word = dtype.bytes, other = given.other.bytes }
//@ local load_other = given.masked and "load_other_word" or "load_element_word"
//@ -- What lies beside the element of x at that address.
//@ local function beside(at)
//@     if given.flat then return ("load_beside(%s, given)"):format(at) end
//@     return ("%s(%s)"):format(load_other, given.other_at(at))
//@ end
//@ local folding = op.costly and "__noinline__" or "__forceinline__"
//@ include "lib/order_elements.cu"
// What load_vector() brings, element by element: from where it stands at no multiple of 16 bytes.
__device__ __forceinline__ vector gather_vector(u64 from@{given.parameter})
{
    vector v;
//@ if given.flat then
//@     for j = 0, vec - 1 do
    v.other[@{j}] = @{beside(("from + %d"):format(j * dtype.bytes))};
//@     end
//@ end
//@ for k, array in ipairs(given.inputs > 1 and not given.flat and { "word", "other" } or { "word" }) do
//@     local base, load = k > 1 and given.other_at("from") or "from", k > 1 and load_other or "load_element_word"
//@     for i = 0, of[array].words - 1 do
//@         local pieces = {}
//@         for j = 0, of[array].per_word - 1 do
//@             local at = (i * of[array].per_word + j) * bytes[array]
//@             pieces[j + 1] = ("%s(%s + %d)"):format(load, base, at)
//@                 .. (j > 0 and (" << %d"):format(8 * bytes[array] * j) or "")
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

//@ include "lib/order_fold.cu"
// The value of the vector that begins there, of which there is a part only: up to `end`.
__device__ @{folding} accumulator take_edge(u64 from, u64 end@{given.parameter})
{
    // All loads before the first use. Those of missing elements bring the first one.
//@ for j = 0, vec - 1 do
    const u64 at@{j} = @{j > 0 and ("from + %d < end ? from + %d : from"):format(j * dtype.bytes, j * dtype.bytes) or "from"};
    const @{single.word.c} x@{j} = load_element_word(at@{j});
//@     if given.inputs > 1 then
    const @{byte.word.c} y@{j} = @{beside("at" .. j)};
//@     end
//@ end
    accumulator a[VEC];
//@ for j = 0, vec - 1 do
//@     local y = given.inputs > 1 and ", " .. given.other.unpack("y" .. j, 0) or ""
    a[@{j}] = map(@{dtype.unpack("x" .. j, 0)}@{y}@{given.argument});
//@     if j > 0 then
    if (from + @{j * dtype.bytes} >= end) a[@{j}] = @{op.identity};
//@     end
//@ end
    return fold(a@{given.argument});
}

