//@ local op, given, acc, layout, vec = require("lib/kernel").of_order(_ENV)
//@ local two, masked = given.inputs > 1, given.masked
//@ local bits = require("lib/kernel").log2(256 // lanes)
//@ local loads = require "lib/load"
//@ local row = { parameter = ", const strides &s, const origin &base", argument = ", s, base" }
//@ include("lib/title.cu", { by = "ordered_strided", of = "axes", many = true })

//@ include "lib/head.cu"
//@ include("lib/constants.cu", { names = "GROUP, GROUPS", lanes = lanes })
constexpr u32 SHARES = @{shares};  // groups that share a result
constexpr u32 RESULTS = GROUPS / SHARES;  // of a block at a time
//@ include("lib/constants.cu", { names = "VEC, UNROLL", unroll = unroll })
//@ include("lib/constants.cu", { names = "BITS = " .. bits .. ", LEVELS, LOAD_BYTES = 16, CHUNK_BYTES = 256 * LOAD_BYTES" })

//@ include("lib/asserts.cu", { that = { "BLOCK % 32 == 0 && GROUPS % SHARES == 0 && UNROLL <= 1u << BITS" } })

//@ include "lib/vector.cu"
//@ include "lib/combine.cu"
//@ include "lib/strides.cu"
//@ include "lib/order_elements.cu"
//@ include "lib/order_fold.cu"
// The elements of a result have the numbers of a packed array's: number n is `at` the byte where it would be there,
// and `base` where number 0 is.
//
// Where the elements of a vector are, from number n on. Those of one run of the innermost axis lie at equal steps; in
// place of a missing one is the first.
__device__ __forceinline__ void find_elements(origin (&at)[VEC], u64 n, const strides &s, const origin &base)
{
    const axis &inner = s.reduced[0];
    u64 within = n;
    if (s.reduced_axes > 1) divide(within, inner);
    at[0] = moved(base, place_of_element(s, n));
#pragma unroll
    for (u32 j = 1; j < VEC; j++) {
        at[j] = at[0];
        if (within + j < inner.size)
            at[j] = moved(at[0], place{(i64)j * inner.x, @{two and "(i64)j * inner.y, " or ""}@{given.pairs and "(i64)j * s.reduced_mask[0], " or ""}0});
        else if (n + j < s.count)
            at[j] = moved(base, place_of_element(s, n + j));
    }
}

__device__ __forceinline__ vector gather_vector(u64 n, const strides &s, const origin &base)
{
    vector v;
    origin at[VEC];
    find_elements(at, n, s, base);
//@ for _, array in ipairs(two and { "word", "other" } or { "word" }) do
//@     local of = array == "word" and layout or given.other_layout(vec)
//@     local load = array == "other" and (masked and "load_other_word((u64)" or given.pairs and "load_beside(")
//@         or "load_element_word((u64)"
//@     local bytes = array == "word" and dtype.bytes or given.other.bytes
//@     for i = 0, of.words - 1 do
//@         local pieces = {}
//@         for k = 0, of.per_word - 1 do
//@             local at = ("at[%d]"):format(i * of.per_word + k)
//@             pieces[k + 1] = load == "load_beside(" and load .. at .. ")"
//@                 or ("%s%s.%s)"):format(load, at, array == "word" and "x" or "y")
//@                 .. (k > 0 and (" << %d"):format(8 * bytes * k) or "")
//@         end
    v.@{array}[@{i}] = @{table.concat(pieces, " | ")};
//@     end
//@ end
    return v;
}

// ALIGNED: one load brings the vector.
template <bool ALIGNED>
__device__ __forceinline__ vector bring_vector(u64 at, const strides &s, const origin &base@{given.parameter})
{
    if (!ALIGNED) return gather_vector(at / sizeof(element), s, base);
    const origin first = moved(base, place_of_element(s, at / sizeof(element)));
    vector v;
    @{loads.statement(layout, load, "v.word", "first.x")}
//@ if two then
    @{given.load_other(vec, load, "v.other", "first.y", "first.mask")}
//@ end
    return v;
}

// The value of the vector of which there is a part only, up to `end`.
__device__ __forceinline__ accumulator take_edge(u64 at, u64 end, const strides &s, const origin &base@{given.parameter})
{
    const vector v = gather_vector(at / sizeof(element), s, base);
    accumulator a[VEC];
//@ for j = 0, vec - 1 do
//@     local other = given.other_layout(vec)
//@     local x = dtype.unpack("v.word[" .. j // layout.per_word .. "]", j % layout.per_word)
//@     local y = two and ", " .. given.other.unpack("v.other[" .. j // other.per_word .. "]", j % other.per_word) or ""
    a[@{j}] = map(@{x}@{y}@{given.argument});
    if (at + @{j * dtype.bytes} >= end) a[@{j}] = @{op.identity};
//@ end
    return fold(a@{given.argument});
}

//@ include("lib/order_share.cu", { row = row })
//@ include("lib/order_run.cu", { row = row })
//@ include("lib/entry.cu", { extents = given.counts and "strides s" or "const __grid_constant__ strides s" })
{
//@ if shares > 1 then
    __shared__ alignas(16) accumulator shared[GROUPS];
//@ end
//@ include("lib/begin.cu", { count = "s.count" })
    const origin inputs = {input + s.x@{two and ", second_of(input, given) + s.y" or ""}@{given.pairs and ", given.mask + s.mask" or ""}};
    const bool aligned = s.reduced_vec >= VEC && (u64)inputs.x % LOAD_BYTES == 0@{two and " && (u64)inputs.y % " .. vec * given.other.bytes .. " == 0" or ""}@{given.pairs and " && inputs.mask % VEC == 0" or ""};
    const u64 end = s.count * sizeof(element), chunks = (end + CHUNK_BYTES - 1) / CHUNK_BYTES;
    // Neighbouring groups have neighbouring results. Each has a node of a result's tree: as many chunks as a power
    // of two says, of which the last ones may be missing.
    const u32 group = threadIdx.x / GROUP, slot = group % RESULTS, part = group / RESULTS;
    u64 run = 1;
    while (run * SHARES < chunks) run *= 2;
    u32 bits = BITS;
    while (bits > 0 && (GROUP * LOAD_BYTES << (bits - 1)) >= end) bits--;
    // A block's threads go on together, those too that have no result left.
    for (u64 first = (u64)blockIdx.x * RESULTS; first < s.results; first += (u64)gridDim.x * RESULTS) {
        const bool is_there = first + slot < s.results;
        const place at = place_of_result(s, is_there ? first + slot : 0);
        const origin base = moved(inputs, at);
        const u64 begin = part * run * CHUNK_BYTES;
        accumulator a = aligned ? reduce_run<true>(begin, run, end, bits, s, base@{given.argument})
                                : reduce_run<false>(begin, run, end, bits, s, base@{given.argument});
//@ if shares > 1 then
        // Neighbours first, as everywhere above the chunks.
        if (threadIdx.x % GROUP == 0) shared[group] = a;
#pragma unroll 1
        for (u32 apart = 1; apart < SHARES; apart *= 2) {
            __syncthreads();
            if (threadIdx.x % GROUP > 0 || part % (2 * apart) > 0) continue;
            a = combine(a, shared[group + apart * RESULTS]@{given.argument});
            shared[group] = a;
        }
        __syncthreads();
//@ end
        a = combine(@{op.identity}, a@{given.argument});
        if (is_there && part == 0 && threadIdx.x % GROUP == 0) @{given.write("output[s.result + at.result]", "a", "s.count")}
    }
}
