//@ local name, formula, indexed = op.name, op.formula, op.indexed
//@ local given = require("lib/operands").of({
//@     op = op, dtype = dtype, result = result, second = second, resumes = false, counts = false,
//@     arch = arch, accuracy = accuracy, mask = mask,
//@ }, true)
//@ local op = given.made
//@ local acc = op.acc
//@ local two, slot_bytes = given.inputs > 1, require("lib/operands").slot_bytes(op)
//@ local bytes_at = "(const element *)((const unsigned char *)q.elements[1] + at)"
//@ local second_at = given.masked and bytes_at or "q.elements[1] + at"
// redtune: the @{name} of @{dtype.name} into @{result.name}, by the template "naive"
//@ if order == "fixed" then
// compile with --fmad=false
//@ end
//
// output[i] = @{formula}
// for the elements x that question i is about, taken one after the other by one thread. Nothing of
// an op is used here that only makes kernels fast: neither whole words nor, for a place, keys.
//
//@ if order == "fixed" then
// in the order of docs/order.md, step by step. Elements repeat with a period. A node is the value of
// a chunk, which another question has left; `levels` is how many nodes there are, from the question's
// first chunk on. An answer takes them in place of whole chunks.
//@ else
// Elements repeat with a period. Partial results of a period are kept in nodes: those of 64
// elements each, behind them those of 64 of these, and so on up to the one of all. An answer takes
// the largest node that it may in place of that node's elements; a node is an answer itself.
//@ end

//@ include "lib/types.cu"
typedef @{dtype.c} element;  // in memory
typedef @{dtype.value} value;  // in registers

//@ include "lib/given.cu"
constexpr u32 INPUTS = @{given.inputs};
//@ if order == "fixed" then
constexpr u32 VECTORS = 256, VEC = 16 / sizeof(element);
constexpr u64 CHUNK = VECTORS * VEC;  // elements
//@ else
constexpr u64 FAN = 64;  // children of a node
//@ end

//@ include "lib/conversions.cu"
//@ if op.functions then
@{op.functions}
//@ end
//@ if indexed then
constexpr u64 NOWHERE = ~0ull;

// The value that goes before all others, and where it is.
struct alignas(@{slot_bytes}) partial {
    value x;
    u64 index;  // counted from the first element
};
//@ else
struct alignas(@{slot_bytes}) partial {
    @{acc.c} sum;
};
//@ end

// One to a thread, as tuner/measure/judge.h has it.
struct question {
    const element *elements[2];  // one period of them, of each input
    const partial *nodes;
    u64 period, levels;  // of nodes@{order == "fixed" and ": how many" or ""}
    u64 first, count;  // the elements that it is about
    u64 planted_at[2];  // in place of this one of them, of each input, stands another
    u64 planted[2];  // the bits of that one
    partial *node;  // not NULL: the answer is left there, and not finished
};

static_assert(sizeof(question) == 96 && sizeof(partial) == @{slot_bytes}, "");

__device__ partial nothing()
{
//@ if indexed then
    return partial{@{op.last}, NOWHERE};
//@ else
    partial none;
    none.sum = @{op.identity};
    return none;
//@ end
}

__device__ value read(const element *from)
{
    const @{dtype.word.c} word = (@{dtype.word.c})*from;
    return @{dtype.unpack("word", 0)};
}

// from: the element of each input.
__device__ partial of_element(const element *const (&from)[INPUTS], u64 index@{given.parameter})
{
//@ if given.masked then
    const value x = read(from[0]);
    const u32 y = *(const unsigned char *)from[1];
//@ else
    const value x = read(from[0])@{two and ", y = read(from[1])" or ""};
//@ end
//@ if indexed and given.masked then
    if (y == 0) return partial{@{op.last}, ~0ull};
//@ end
//@ if indexed then
    return partial{x, index};
//@ else
    partial one;
    one.sum = @{op.map("x", two and "y" or nil)};
    return one;
//@ end
}

// a stands before b.
__device__ partial combine(partial a, partial b@{given.parameter})
{
//@ if indexed then
    if (a.index == NOWHERE || b.index == NOWHERE) return a.index == NOWHERE ? b : a;
//@     if dtype.kind == "float" and not op.skips_nan then
    if (a.x != a.x || b.x != b.x) return a.x != a.x ? a : b;
//@     end
    return @{op.before("b.x", "a.x")} ? b : a;
//@ else
    partial both;
    both.sum = @{op.combine("a.sum", "b.sum")};
    return both;
//@ end
}

//@ if order == "fixed" then
//@     include("naive/fixed.cu", { second_at = second_at })
//@ else
// A node whose first element is number `index` of the question's.
__device__ partial moved(partial a, u64 index)
{
//@ if indexed then
    if (a.index != NOWHERE) a.index += index;
//@ end
    return a;
}

// The largest node that begins at `at` with at most `most` elements; NULL: there is none.
__device__ const partial *node_at(const question &q, u64 at, u64 most, u64 &taken)
{
    const partial *level = q.nodes, *node = nullptr;
    u64 size = FAN;
    taken = 1;
    for (u64 i = 0; i < q.levels && at % size == 0; i++) {
        const u64 length = size < q.period - at ? size : q.period - at;
        if (length > most) break;
        node = level + at / size;
        taken = length;
        level += (q.period + size - 1) / size;
        size *= FAN;
    }
    return node;
}

//@ if not op.append then
// That node, or that one element.
__device__ partial take(const question &q, u64 at, u64 most, u64 index, u64 &taken@{given.parameter})
{
    const partial *const node = node_at(q, at, most, taken);
    if (node) return moved(*node, index);
    const element *const from[INPUTS] = {q.elements[0] + at@{two and ", " .. second_at or ""}};
    return of_element(from, index@{given.argument});
}

//@ end
__device__ partial reduce(const question &q@{given.parameter})
{
    partial sum = nothing();
    u64 at = q.count ? q.first % q.period : 0;
    for (u64 index = 0, taken; index < q.count; index += taken) {
        u64 stop = q.count;
        bool here = false;
        const element *from[INPUTS];
        for (u32 k = 0; k < INPUTS; k++) {
            const bool plants = index == q.planted_at[k];
            here |= plants;
            if (index < q.planted_at[k] && q.planted_at[k] < stop) stop = q.planted_at[k];
//@ if given.masked then
            from[k] = plants ? (const element *)&q.planted[k] : k == 0 ? q.elements[0] + at : @{second_at};
//@ else
            from[k] = plants ? (const element *)&q.planted[k] : q.elements[k] + at;
//@ end
        }
        taken = 1;
//@ if op.append then
        const partial *const node = here ? nullptr : node_at(q, at, stop - index, taken);
        if (node)
            sum = combine(sum, *node@{given.argument});
        else
            @{given.masked and "if (*(const unsigned char *)from[1]) " or ""}@{op.append("sum.sum", "read(from[0])")};
//@ else
        sum = combine(sum, here ? of_element(from, index@{given.argument})
                                : take(q, at, stop - index, index, taken@{given.argument})@{given.argument});
//@ end
        at += taken;
        if (at == q.period) at = 0;
    }
    return sum;
}

//@ end
struct alignas(16) answer {
    @{result.c} value;
//@ if second then
    alignas(16) @{second.c} second;
//@ end
};

//@ local rest = given.kernel == "" and "" or ", void *scratch, u32 overlaps" .. given.kernel
extern "C" __global__ void
redtune_reduce(const question *questions, u64 count, answer *output@{rest})
{
//@ for _, line in ipairs(given.begin("nullptr", "count", "&output->value")) do
    @{line}
//@ end
    for (u64 i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
        const question q = questions[i];
        const partial sum = reduce(q@{given.argument});
//@ local results = indexed and { op.found("sum.x", "sum.index", "q.count") }
//@     or { op.finalize("sum.sum", "q.count") }
        if (q.node) {
            *q.node = sum;
        } else {
            output[i].value = @{results[1]};
//@ if second then
            output[i].second = @{results[2]};
//@ end
        }
    }
}
