//@ local name, formula = op.name, op.formula
//@ local op = op.make { dtype = dtype, result = result, arch = arch }
//@ local acc = op.acc
// redtune: the algebra of the @{name} of @{dtype.name} into @{result.name}
//
// Each question is about some elements, and has two answers that are the same if the op is what its
// entry says: two ways of combining these elements, each finished.

//@ include "lib/types.cu"
typedef @{dtype.c} element;  // in memory
typedef @{dtype.value} value;  // in registers
typedef @{acc.c} accumulator;

//@ include "lib/conversions.cu"
//@ if op.functions then
@{op.functions}
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

__device__ accumulator of_element(const question &q, u64 i)
{
    const value x = read(q.elements[0] + i);
    return @{op.map("x")};
}

__device__ accumulator combine(accumulator a, accumulator b)
{
    return @{op.combine("a", "b")};
}

// The elements from first on, before stop, without the identity; there is one at least.
__device__ accumulator fold(const question &q, u64 first, u64 stop)
{
    accumulator a = of_element(q, first);
    for (u64 i = first + 1; i < stop; i++) a = combine(a, of_element(q, i));
    return a;
}

__device__ void answer(const question &q, accumulator &left, accumulator &right)
{
    const accumulator identity = @{op.identity};
    const u64 half = q.count / 2, third = q.count / 3;
    if (q.law == 0) {  // the result
        left = identity;
        for (u64 i = 0; i < q.count; i++) left = combine(left, of_element(q, i));
        right = left;
    } else if (q.law == 1) {  // the identity before
        right = fold(q, 0, q.count);
        left = combine(identity, right);
    } else if (q.law == 2) {  // and behind
        right = fold(q, 0, q.count);
        left = combine(right, identity);
    } else if (q.law == 3) {  // associative
        const accumulator a = fold(q, 0, third), b = fold(q, third, 2 * third),
                          c = fold(q, 2 * third, q.count);
        left = combine(combine(a, b), c);
        right = combine(a, combine(b, c));
    } else {  // commutative
        const accumulator a = fold(q, 0, half), b = fold(q, half, q.count);
        left = combine(a, b);
        right = combine(b, a);
    }
}

struct alignas(16) result_slot {
    @{result.c} value;
};

extern "C" __global__ void redtune_reduce(const question *questions, u64 count, result_slot *output)
{
    for (u64 i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
        const question q = questions[i];
        accumulator left, right;
        answer(q, left, right);
        output[2 * i].value = @{op.finalize("left", "q.count")};
        output[2 * i + 1].value = @{op.finalize("right", "q.count")};
    }
}
