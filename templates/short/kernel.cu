//@ local op, given, acc, indexed, layout, parts = require("lib/kernel").of_several(_ENV, vec)
//@ if load == "evict_first" and arch < 80 then load = "no_allocate" end
//@ local two, each = given.inputs > 1, vec // row
//@ local widest = math.max(result.bytes, second and second.bytes or 0)
//@ local store = math.max(1, math.min(each, 16 // widest))
//@ include("lib/title.cu", { by = "short", of = "rows", many = true })

//@ include "lib/head.cu"
constexpr u32 ROW = @{row};  // elements of a row that is loaded as a whole
//@ include("lib/constants.cu", { names = "VEC" })
constexpr u32 EACH = VEC / ROW;  // rows per load
//@ include("lib/constants.cu", { names = "UNROLL, STRIP = BLOCK * EACH, SET = UNROLL * STRIP, LANES = VEC, LOAD_BYTES", unroll = unroll })

static_assert(sizeof(element) == @{dtype.bytes} && LOAD_BYTES <= 16 && VEC % ROW == 0, "");

//@ include "lib/extents.cu"
//@ include "lib/vector.cu"
//@ include "lib/load_element.cu"
//@ include "lib/combine.cu"
//@ if indexed then
// The first value of a row that no other goes before, and where it is.
struct best {
    value x;
    u64 index;
};

__device__ __forceinline__ best take_element(best b, value x, u64 index)
{
//@     local nan = dtype.kind == "float" and not op.skips_nan
    // @{nan and "A NaN goes before all but another NaN." or "In ascending order of the index."}
    const bool before = @{op.before("x", "b.x")}@{nan and " || (x != x && b.x == b.x)" or ""};
    return before ? best{x, index} : b;
}
//@ else
//@ include "lib/take.cu"
//@ include("lib/take_element.cu", { place = "" })
//@ end
//@ local made, none = given.part, op.part and op.part.zero or op.identity
//@ if indexed then made, none = "best", ("best{%s, ~0ull}"):format(op.last) end
//@ local value, other_value -- the results
//@ if indexed then
//@     value, other_value = op.found("a.x", "a.index", "e.count")
//@ else
//@     value, other_value = op.finalize("whole", "e.count")
//@ end
//@ include "lib/stored.cu"

// Makes the results of the rows of a load.
__device__ __forceinline__ void reduce_vector(const vector &v, const extents &e,
                                              @{given.output})
{
//@ for first = 0, each - 1, store do
//@     if not resumes then
    stored r@{first};
//@         if second then
    other_stored t@{first};
//@         end
//@     end
//@     for k = first, first + store - 1 do
    {
//@         local x = {}
//@         for i = 0, row - 1 do
//@             local at, piece = (k * row + i) // layout.per_word, (k * row + i) % layout.per_word
//@             x[i] = dtype.unpack("v.word[" .. at .. "]", piece)
//@             if two then x[i] = x[i] .. ", " .. dtype.unpack("v.other[" .. at .. "]", piece) end
//@         end
//@         if indexed then
        best a{@{x[0]}, 0};
//@             for i = 1, row - 1 do
        a = take_element(a, @{x[i]}, @{i});
//@             end
//@         elseif op.several and row > 1 then
        const value x[ROW] = {@{table.concat(x, ", ", 0, row - 1)}};
        const @{made} a = @{op.several(nil, "x")};
//@         else
        @{made} a = @{none};
//@             for i = 0, row - 1 do
        a = take_element(a, @{x[i]}@{given.argument});
//@             end
//@         end
//@         if not indexed then
        const accumulator whole = @{given.widen("a")};
//@         end
//@         if resumes then
        @{given.write("output[" .. k .. "]", "whole", "e.count")}
//@         else
        r@{first}.value[@{k - first}] = @{value};
//@             if second then
        t@{first}.value[@{k - first}] = @{other_value};
//@             end
//@         end
    }
//@     end
//@     if not resumes then
    *(stored *)(output + @{first}) = r@{first};
//@         if second then
    *(other_stored *)(second_result(output, given) + @{first}) = t@{first};
//@         end
//@     end
//@ end
}

// Makes the results of the rows of N loads of a thread, those of a block side by side. Loads and
// results are aligned.
template <u32 N>
__device__ __forceinline__ void reduce_vectors(const element *from, const extents &e,
                                               @{given.output})
{
    // All loads before the first use.
    vector v[N];
#pragma unroll
    for (u32 i = 0; i < N; i++) v[i] = load_vector((u64)(from + i * BLOCK * VEC)@{given.argument});
#pragma unroll
    for (u32 i = 0; i < N; i++) reduce_vector(v[i], e, output + i * STRIP@{given.argument});
}

// Makes the result of one row, wherever its elements are.
__device__ __forceinline__ void reduce_row(const element *from, const extents &e,
                                           @{given.output})
{
    @{made} a = @{none};
//@ local x = vec > 1 and given.read("from + i")
//@ if vec == 1 then
//@     x = dtype.unpack("v.word[0]", 0) .. (two and ", " .. dtype.unpack("v.other[0]", 0) or "")
//@ end
    for (u64 i = 0; i < e.count; i++) {
//@ if vec == 1 then
        const vector v = load_vector((u64)(from + i)@{given.argument});
//@ end
//@ if indexed then
        const value x = @{x};
        a = i == 0 ? best{x, 0} : take_element(a, x, i);
//@ else
        a = take_element(a, @{x}@{given.argument});
//@ end
    }
//@ if indexed and second then
    *output = @{value};
    *second_result(output, given) = @{other_value};
//@ elseif indexed then
    *output = @{value};
//@ else
    @{given.write("*output", given.widen("a"), "e.count")}
//@ end
}

//@ include("lib/entry.cu", { extents = "extents e" })
{
//@ include("lib/begin.cu", { count = "e.count" })
    bool packed = e.count == ROW && (e.outer_step == ROW || e.outer == 1);
    packed = packed && (u64)input % LOAD_BYTES == 0;
    packed = packed && (u64)output % sizeof(stored) == 0;
//@ if second then
    packed = packed && (u64)second_result(output, given) % sizeof(other_stored) == 0;
//@ end
    for (u64 first = (u64)blockIdx.x * SET; first < e.outer; first += (u64)gridDim.x * SET) {
        const u64 left = e.outer - first;
        const element *from = input + first * e.outer_step;
        const u32 place = threadIdx.x * EACH;
        if (packed && left >= SET) {
            reduce_vectors<UNROLL>(from + place * ROW, e, output + first + place@{given.argument});
            continue;
        }
        // The last rows, or such as are not packed.
        const u32 rows = left < SET ? left : SET, body = packed ? rows / EACH * EACH : 0;
        for (u32 r = place; r < body; r += STRIP)
            reduce_vectors<1>(from + r * ROW, e, output + first + r@{given.argument});
        for (u32 r = body + threadIdx.x; r < rows; r += BLOCK)
            reduce_row(from + r * e.outer_step, e, output + first + r@{given.argument});
    }
}
