//@ local name = op.name
//@ local given = require("lib/operands").of {
//@     op = op, dtype = dtype, result = result, second = second, resumes = false, counts = false,
//@     arch = arch,
//@ }
//@ local op = given.made
//@ local acc, two = op.acc, given.inputs > 1
// redtune: the algebra of the @{name} of @{dtype.name} into @{result.name}
//
// Each question is about some elements, and has two answers that are the same if the op is what its
// entry says: two ways of combining these elements, each finished.

//@ include "lib/types.cu"
typedef @{dtype.c} element;  // in memory
typedef @{dtype.value} value;  // in registers
typedef @{acc.c} accumulator;

//@ include "lib/given.cu"
//@ include "lib/conversions.cu"
// A loop without an end would keep the GPU for ever. So a thread counts the turns of the op's loops,
// and ends them all once they are more than TURNS for one element, or for two that are combined.
constexpr u32 TURNS = 1 << 14;
__shared__ u32 turns[@{block}];

__device__ void begin_turns()
{
    if (turns[threadIdx.x] <= TURNS) turns[threadIdx.x] = 0;
}

__device__ bool goes_on()
{
    if (turns[threadIdx.x] <= TURNS) turns[threadIdx.x]++;
    return turns[threadIdx.x] <= TURNS;
}

//@ if op.functions then
#define while(...) while ((__VA_ARGS__) && goes_on())
#define for(...) for (__VA_ARGS__) if (!goes_on()) break; else
@{op.functions}
#undef while
#undef for
//@ end
// One to a thread, as tuner/measure/own_check.c has it.
struct question {
    const element *elements[2];  // of each input
    u64 count;
    u64 law;  // which two ways
};

static_assert(sizeof(question) == 32 && sizeof(accumulator) <= 32, "");

__device__ value read(const element *from)
{
    const @{dtype.word.c} word = (@{dtype.word.c})*from;
    return @{dtype.unpack("word", 0)};
}

__device__ accumulator of_element(const question &q, u64 i@{given.parameter})
{
    begin_turns();
    const value x = read(q.elements[0] + i)@{two and ", y = read(q.elements[1] + i)" or ""};
    return @{op.map("x", two and "y" or nil)};
}

__device__ accumulator combine(accumulator a, accumulator b@{given.parameter})
{
    begin_turns();
    return @{op.combine("a", "b")};
}

// The elements from first on, before stop, without the identity; there is one at least.
__device__ accumulator fold(const question &q, u64 first, u64 stop@{given.parameter})
{
    accumulator a = of_element(q, first@{given.argument});
    for (u64 i = first + 1; i < stop; i++) a = combine(a, of_element(q, i@{given.argument})@{given.argument});
    return a;
}

__device__ void answer(const question &q, accumulator &left, accumulator &right@{given.parameter})
{
    const accumulator identity = @{op.identity};
    const u64 half = q.count / 2, third = q.count / 3;
    if (q.law == 0) {  // the result
        left = identity;
        for (u64 i = 0; i < q.count; i++) left = combine(left, of_element(q, i@{given.argument})@{given.argument});
        right = left;
    } else if (q.law == 1) {  // the identity before
        right = fold(q, 0, q.count@{given.argument});
        left = combine(identity, right@{given.argument});
    } else if (q.law == 2) {  // and behind
        right = fold(q, 0, q.count@{given.argument});
        left = combine(right, identity@{given.argument});
    } else if (q.law == 3) {  // associative
        const accumulator a = fold(q, 0, third@{given.argument}), b = fold(q, third, 2 * third@{given.argument}),
                          c = fold(q, 2 * third, q.count@{given.argument});
        left = combine(combine(a, b@{given.argument}), c@{given.argument});
        right = combine(a, combine(b, c@{given.argument})@{given.argument});
    } else {  // commutative
        const accumulator a = fold(q, 0, half@{given.argument}), b = fold(q, half, q.count@{given.argument});
        left = combine(a, b@{given.argument});
        right = combine(b, a@{given.argument});
    }
}

struct alignas(16) result_slot {
    @{result.c} value;
    alignas(8) u32 endless;  // behind 8 bytes of the first: a loop took too many turns
//@ if second then
    alignas(16) @{second.c} second;
//@ end
};

//@ local rest = given.kernel == "" and "" or ", void *scratch, u32 overlaps" .. given.kernel
extern "C" __global__ void
redtune_reduce(const question *questions, u64 count, result_slot *output@{rest})
{
//@ for _, line in ipairs(given.begin("nullptr", "count", "&output->value")) do
    @{line}
//@ end
    for (u64 i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
        const question q = questions[i];
        accumulator left, right;
        turns[threadIdx.x] = 0;
        answer(q, left, right@{given.argument});
//@ for way, side in ipairs { "left", "right" } do
//@     local first, other = op.finalize(side, "q.count")
        output[2 * i + @{way - 1}].value = @{first};
//@     if second then
        output[2 * i + @{way - 1}].second = @{other};
//@     end
        output[2 * i + @{way - 1}].endless = turns[threadIdx.x] > TURNS;
//@ end
    }
}
