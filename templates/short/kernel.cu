//@ local loads = require "lib/load"
//@ local name, formula, indexed = op.name, op.formula, op.indexed or false
//@ local given = require("lib/operands").of(_ENV)
//@ local op = given.made
//@ local acc = op.acc
//@ local layout = loads.layout(dtype, vec)
//@ op.narrow, op.word = nil, nil -- these would combine neighbours, which may be of several rows
//@ if load == "evict_first" and arch < 80 then load = "no_allocate" end
//@ local parts, two, each = vec, given.inputs > 1, vec // row
//@ local widest = math.max(result.bytes, second and second.bytes or 0)
//@ local store = math.max(1, math.min(each, 16 // widest))
// redtune: the @{name} of @{dtype.name} into @{result.name}, by the template "short" with
// @{config}
//
// output[r] = @{formula}
// for each of `outer` rows r: n = count elements side by side from input[r * outer_step] on,
// wherever that is. Start it with @{block} threads per block, on any number of blocks.

//@ include "lib/types.cu"
typedef @{dtype.c} element;  // in memory
typedef @{dtype.value} value;  // in registers
typedef @{acc.c} accumulator;

//@ include "lib/given.cu"
constexpr u32 BLOCK = @{block};  // threads per block
constexpr u32 ROW = @{row};  // elements of a row that is loaded as a whole
constexpr u32 VEC = @{vec};  // elements per load
constexpr u32 EACH = VEC / ROW;  // rows per load
constexpr u32 UNROLL = @{unroll};  // independent loads in flight per thread
constexpr u32 STRIP = BLOCK * EACH;  // rows of a block's loads that lie side by side
constexpr u32 SET = UNROLL * STRIP;  // rows that a block takes at a time
constexpr u32 LANES = VEC;

constexpr u64 LOAD_BYTES = VEC * @{dtype.bytes};

static_assert(sizeof(element) == @{dtype.bytes} && LOAD_BYTES <= 16 && VEC % ROW == 0, "");

// As model/launch.h has it. Here inner and step are 1.
struct extents {
    u64 count, outer, inner, outer_step, step;
};

static_assert(sizeof(extents) == 40, "");

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
//@     local nan = dtype.kind == "float"
    // @{nan and "A NaN goes before all but another NaN." or "In ascending order of the index."}
    const bool before = @{op.before("x", "b.x")}@{nan and " || (x != x && b.x == b.x)" or ""};
    return before ? best{x, index} : b;
}
//@ else
//@     include "lib/take.cu"
__device__ __forceinline__ @{given.part} take_element(@{given.part} a, value x@{two and ", value y" or ""}@{given.parameter})
{
//@     if op.part then
    return @{op.part.take("a", "x", "y")};
//@     else
    return combine(a, map(x@{two and ", y" or ""}@{given.argument})@{given.argument});
//@     end
}
//@ end

//@ local made, none = given.part, op.part and op.part.zero or op.identity
//@ if indexed then made, none = "best", ("best{%s, ~0ull}"):format(op.last) end
//@ local value, other_value -- the results
//@ if indexed then
//@     value, other_value = op.found("a.x", "a.index")
//@ else
//@     value, other_value = op.finalize("whole", "e.count")
//@ end
// Results that are written together.
struct alignas(@{store * result.bytes}) stored {
    @{result.c} value[@{store}];
};
//@ if second then

struct alignas(@{store * second.bytes}) other_stored {
    @{second.c} value[@{store}];
};
//@ end

// Makes the results of the rows of a load.
__device__ __forceinline__ void reduce_vector(const vector &v, const extents &e,
                                              @{result.c} *output@{given.parameter})
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
                                               @{result.c} *output@{given.parameter})
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
                                           @{result.c} *output@{given.parameter})
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

extern "C" __global__ void __launch_bounds__(@{block})
redtune_reduce(const element *input, extents e, @{result.c} *output, void *scratch, u32 overlaps@{given.kernel})
{
//@ local prefetch = false
//@ include "lib/begin_overlap.cu"
//@ for _, line in ipairs(given.begin("input", "e.count", "output")) do
    @{line}
//@ end
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
