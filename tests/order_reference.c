/* Order reference: the bits of a reduction in fixed order over host memory, as docs/order.md has
 * it: leaves, halving within vectors and chunks, neighbours above.
 *
 * An accumulator's fields are doubles that are rounded after each operation: that of two f32
 * rounded from f64 is the same as rounded at once. */
#include "order_reference.h"

#include <math.h>
#include "model/scalar.h"

typedef struct number {
    /* Of var: a number near their mean, what that is off, squares, how many. Of a compensated sum:
     * as it was rounded, and what was lost. Of a norm and a mean of f64: sums at several scales. */
    double v[4];
} number;

typedef struct reduction {
    redtune_op op;
    redtune_dtype dtype;
    bool narrow, compensated,
        scales; /* narrow: accumulates in f32. scales: sums of f64 at several */
    const void *x, *y;
    uint64_t count;
} reduction;

static double add(const reduction *of, double a, double b) {
    return of->narrow ? (float)a + (float)b : a + b;
}

static double multiply(const reduction *of, double a, double b) {
    return of->narrow ? (float)a * (float)b : a * b;
}

bool rdt_order_reference_has(redtune_op op) {
    return op == REDTUNE_SUMABS || op == REDTUNE_SUM || op == REDTUNE_PROD || op == REDTUNE_SUMSQ ||
           op == REDTUNE_MEAN || op == REDTUNE_NORM2 || op == REDTUNE_SUM_SUMSQ ||
           op == REDTUNE_DOT || op == REDTUNE_VAR;
}

static number identity_of(const reduction *of) {
    return (number){{of->op == REDTUNE_PROD ? 1 : 0}};
}

/* The sum of a and b and, beside it, what it loses: TwoSum, by the operations that docs/accuracy.md
 * names. */
static number add_exactly(const reduction *of, double a, double b) {
    const double sum = add(of, a, b), part = add(of, sum, -a);
    const double lost = add(of, add(of, a, -add(of, sum, -part)), add(of, b, -part));
    return (number){{sum, lost}};
}

/* The product of x and y and, beside it, what it loses, which is a number of the dtype. */
static number multiply_exactly(const reduction *of, double x, double y) {
    const double product = multiply(of, x, y);
    return (number){{product, of->narrow ? x * y - product : fma(x, y, -product)}};
}

static number map(const reduction *of, uint64_t i) {
    const double x = rdt_scalar_real(of->dtype, of->x, i);
    const double square = multiply(of, x, x);
    const bool multiplies =
        of->op == REDTUNE_SUMSQ || of->op == REDTUNE_NORM2 || of->op == REDTUNE_DOT;
    if (of->compensated && multiplies)
        return multiply_exactly(of, x,
                                of->op == REDTUNE_DOT ? rdt_scalar_real(of->dtype, of->y, i) : x);
    switch ((int)of->op) {
    case REDTUNE_SUMABS: return (number){{fabs(x)}};
    case REDTUNE_SUMSQ: return (number){{square}};
    case REDTUNE_NORM2:
        if (!of->scales) return (number){{square}};
        return (number){{(x * 0x1p538) * (x * 0x1p538), square, (x * 0x1p-512) * (x * 0x1p-512)}};
    case REDTUNE_MEAN: return (number){{x, of->scales ? x * 0x1p-64 : 0}};
    case REDTUNE_SUM_SUMSQ: return (number){{x, square}};
    case REDTUNE_DOT: return (number){{multiply(of, x, rdt_scalar_real(of->dtype, of->y, i))}};
    case REDTUNE_VAR: return (number){{x, 0, 0, 1}};
    default: return (number){{x}};
    }
}

static number join_moments(number a, number b) {
    if (a.v[3] == 0 || b.v[3] == 0) return a.v[3] == 0 ? b : a;
    const double n = a.v[3] + b.v[3], share = a.v[3] == b.v[3] ? 0.5 : b.v[3] / n;
    const double delta = b.v[0] - a.v[0] + (b.v[1] - a.v[1]);
    const double squares = delta * delta * (share * a.v[3]);
    return (number){{a.v[0], a.v[1] + delta * share, a.v[2] + b.v[2] + squares, n}};
}

static number combine(const reduction *of, number a, number b) {
    if (of->op == REDTUNE_VAR) return join_moments(a, b);
    if (of->op == REDTUNE_PROD) return (number){{multiply(of, a.v[0], b.v[0])}};
    if (of->compensated) {
        const number both = add_exactly(of, a.v[0], b.v[0]);
        return (number){{both.v[0], add(of, add(of, a.v[1], both.v[1]), b.v[1])}};
    }
    return (number){{add(of, a.v[0], b.v[0]), add(of, a.v[1], b.v[1]), add(of, a.v[2], b.v[2])}};
}

static number halve(const reduction *of, number *a, unsigned n) {
    for (unsigned m = n / 2; m; m /= 2)
        for (unsigned j = 0; j < m; j++) a[j] = combine(of, a[j], a[j + m]);
    return a[0];
}

static number chunk(const reduction *of, uint64_t first) {
    enum { VECTORS = 256, ELEMENTS_MAX = 16 };
    const unsigned elements = 16 / (unsigned)redtune_dtype_bytes(of->dtype);
    number vector[VECTORS], leaf[ELEMENTS_MAX];
    for (unsigned k = 0; k < VECTORS; k++) {
        for (unsigned j = 0; j < elements; j++) {
            const uint64_t i = first + k * elements + j;
            leaf[j] = i < of->count ? map(of, i) : identity_of(of);
        }
        vector[k] = halve(of, leaf, elements);
    }
    return halve(of, vector, VECTORS);
}

/* The node of a level: chunks are level 0. */
static number node(const reduction *of, int level, uint64_t index) {
    const uint64_t elements = 4096 / redtune_dtype_bytes(of->dtype);
    if (index << level >= (of->count + elements - 1) / elements) return identity_of(of);
    if (level == 0) return chunk(of, index * elements);
    return combine(of, node(of, level - 1, 2 * index), node(of, level - 1, 2 * index + 1));
}

/* The first sum that is finite, at its scale. */
static double finish(const reduction *of, const double v[3]) {
    const double n = (double)of->count;
    switch ((int)of->op) {
    case REDTUNE_VAR: return v[2] / n;
    case REDTUNE_MEAN: return of->scales && !isfinite(v[0]) ? v[1] / n * 0x1p64 : v[0] / n;
    case REDTUNE_NORM2:
        if (!of->scales) return of->narrow ? sqrtf((float)v[0]) : sqrt(v[0]);
        return v[0] < (double)INFINITY   ? sqrt(v[0]) * 0x1p-538
               : v[1] < (double)INFINITY ? sqrt(v[1])
                                         : sqrt(v[2]) * 0x1p512;
    default: return v[0];
    }
}

void rdt_order_reference_reduce(const redtune_problem *problem, const void *x, const void *y,
                                uint64_t count, redtune_value results[2]) {
    const bool narrow = rdt_problem_accumulator(problem) == REDTUNE_F32,
               compensated = problem->accuracy == REDTUNE_ACCURACY_COMPENSATED,
               ranges = (problem->op == REDTUNE_MEAN || problem->op == REDTUNE_NORM2) &&
                        rdt_dtype_find(problem->dtype)->exponent_bits >= 8;
    /* What would be added in f32 is in f64, which is accurate, too. */
    const bool widens = ranges && narrow;
    const reduction of = {.op = problem->op,
                          .dtype = problem->dtype,
                          .narrow = narrow && !widens,
                          .compensated = compensated && !widens,
                          .scales = ranges && problem->dtype == REDTUNE_F64 && !compensated,
                          .x = x,
                          .y = y,
                          .count = count};
    const redtune_dtype second = rdt_problem_second(problem);
    int top = 0;
    while (count >> top) top++;
    number all = combine(&of, identity_of(&of), node(&of, top, 0));
    if (of.compensated && !isnan(add(&of, all.v[0], all.v[1])))
        all.v[0] = add(&of, all.v[0], all.v[1]);
    results[0] = rdt_scalar_from_real(problem->result, finish(&of, all.v));
    if (second) results[1] = rdt_scalar_from_real(second, all.v[1]);
}
