/* Reference: the value of a reduction over host memory, as docs/ops.md defines it. */
#include "reference.h"

#include <float.h>
#include <math.h>
#include <string.h>
#include "model/scalar.h"

static bool is_product(const redtune_problem *problem) { return problem->op == REDTUNE_PROD; }

static bool squares(const redtune_problem *problem) {
    return problem->op == REDTUNE_SUMSQ || problem->op == REDTUNE_NORM2;
}

redtune_value rdt_reference_finish(const redtune_problem *problem, const redtune_value *total,
                                   uint64_t count) {
    redtune_dtype accumulator = rdt_problem_accumulator(problem);
    if (rdt_op_find(problem->op)->result == RDT_RESULT_SUM)
        return rdt_scalar_is_float(accumulator)
                   ? rdt_scalar_from_real(problem->result, rdt_scalar_real(accumulator, total, 0))
                   : rdt_scalar_from_bits(problem->result, total->u64);
    /* Squares have no sign: their sum fills all 64 bits. */
    double real = problem->op == REDTUNE_NORM2 && accumulator == REDTUNE_I64
                      ? (double)total->u64
                      : rdt_scalar_real(accumulator, total, 0);
    return rdt_scalar_from_real(problem->result,
                                problem->op == REDTUNE_NORM2 ? sqrt(real) : real / (double)count);
}

/* ---- sums ---------------------------------------------------------------------------------- */

/* The summand of an element. */
static long double term(const redtune_problem *problem, const void *elements, uint64_t index) {
    redtune_dtype dtype = problem->dtype;
    uint64_t bits = rdt_scalar_bits(dtype, elements, index);
    long double x = rdt_scalar_is_float(dtype)    ? rdt_scalar_real(dtype, elements, index)
                    : rdt_scalar_is_signed(dtype) ? (long double)(int64_t)bits
                                                  : (long double)bits;
    if (squares(problem)) return x * x;
    return problem->op == REDTUNE_SUMABS ? fabsl(x) : x;
}

/* Neumaier's sum. Infinities are kept apart: they and their compensation would make NaN. */
static long double sum_reals(const redtune_problem *problem, const void *elements, uint64_t count,
                             double *magnitude) {
    long double sum = 0, lost = 0, infinite = 0, size = 0;
    for (uint64_t i = 0; i < count; i++) {
        long double x = term(problem, elements, i);
        size += fabsl(x);
        if (!isfinite(x)) {
            infinite += x;
            continue;
        }
        long double next = sum + x;
        lost += fabsl(sum) >= fabsl(x) ? (sum - next) + x : (x - next) + sum;
        sum = next;
    }
    *magnitude = (double)size;
    return infinite == 0 ? sum + lost : infinite;
}

static uint64_t sum_bits(const redtune_problem *problem, const void *elements, uint64_t count,
                         double *magnitude) {
    bool is_signed = rdt_scalar_is_signed(problem->dtype);
    uint64_t sum = 0;
    *magnitude = 0;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t x = rdt_scalar_bits(problem->dtype, elements, i);
        *magnitude += (double)fabsl(term(problem, elements, i));
        if (problem->op == REDTUNE_SUMABS && is_signed && x >> 63) x = 0 - x;
        sum += squares(problem) ? x * x : x;
    }
    return sum;
}

/* ---- products ------------------------------------------------------------------------------ */

/* (high + low) · 2^exponent: some 104 bits, and no overflow. */
typedef struct product {
    double high, low;
    long exponent;
} product;

static void multiply(product *self, double x) {
    int shift = 0;
    double factor = frexp(x, &shift);
    if (!isfinite(x) || !isfinite(self->high) || self->high == 0 || x == 0) {
        self->high *= x; /* zeros, infinities and NaN make their own rules */
        self->low = 0;
        return;
    }
    self->exponent += shift;
    double high = self->high * factor;
    double low = fma(self->high, factor, -high) + self->low * factor;
    self->high = high + low;
    self->low = low - (self->high - high);
    self->high = frexp(self->high, &shift);
    self->low = ldexp(self->low, -shift);
    self->exponent += shift;
}

static double multiply_reals(const redtune_problem *problem, const void *elements, uint64_t count) {
    product total = {.high = 1};
    for (uint64_t i = 0; i < count; i++)
        multiply(&total, rdt_scalar_real(problem->dtype, elements, i));
    long shift = total.exponent > 9999 ? 9999 : total.exponent < -9999 ? -9999 : total.exponent;
    /* -0 and 0 would add up to 0. */
    return ldexp(total.low != 0 ? total.high + total.low : total.high, (int)shift);
}

static uint64_t multiply_bits(const redtune_problem *problem, const void *elements,
                              uint64_t count) {
    uint64_t total = 1;
    for (uint64_t i = 0; i < count; i++) total *= rdt_scalar_bits(problem->dtype, elements, i);
    return total;
}

static void reduce_total(const redtune_problem *problem, const void *elements, uint64_t count,
                         rdt_reference *out) {
    redtune_dtype accumulator = rdt_problem_accumulator(problem);
    redtune_value total;
    if (rdt_scalar_is_float(accumulator)) {
        out->exact = is_product(problem)
                         ? multiply_reals(problem, elements, count)
                         : (double)sum_reals(problem, elements, count, &out->magnitude);
        total = rdt_scalar_from_real(accumulator, out->exact);
    } else {
        total.u64 = is_product(problem) ? multiply_bits(problem, elements, count)
                                        : sum_bits(problem, elements, count, &out->magnitude);
        out->exact = problem->op == REDTUNE_NORM2 ? (double)total.u64
                                                  : rdt_scalar_real(accumulator, &total, 0);
    }
    out->value = rdt_reference_finish(problem, &total, count);
    if (problem->op == REDTUNE_MEAN) out->exact /= (double)count;
    if (problem->op == REDTUNE_NORM2) out->exact = sqrt(out->exact);
}

/* ---- the extreme element ------------------------------------------------------------------- */

static bool ignores_nan(redtune_op op) { return op == REDTUNE_FMIN || op == REDTUNE_FMAX; }

/* A number that is larger for what the op prefers. */
static uint64_t rank(const redtune_problem *problem, const void *elements, uint64_t index) {
    redtune_dtype dtype = problem->dtype;
    redtune_value zero = {.u64 = 0};
    bool finds_index = problem->op == REDTUNE_ARGMIN || problem->op == REDTUNE_ARGMAX;
    if (problem->op == REDTUNE_MAXABS) {
        uint64_t bits = rdt_scalar_bits(dtype, elements, index);
        if (rdt_scalar_is_signed(dtype)) return bits >> 63 ? 0 - bits : bits;
        double real = fabs(rdt_scalar_real(dtype, elements, index));
        return rdt_scalar_is_float(dtype) ? rdt_scalar_key(REDTUNE_F64, &real, 0) : bits;
    }
    bool is_zero = finds_index && rdt_scalar_real(dtype, elements, index) == 0;
    uint64_t key =
        is_zero ? rdt_scalar_key(dtype, &zero, 0) : rdt_scalar_key(dtype, elements, index);
    bool least =
        problem->op == REDTUNE_MIN || problem->op == REDTUNE_FMIN || problem->op == REDTUNE_ARGMIN;
    return least ? ~key : key;
}

/* The first of the elements that decide; -1 if none does. */
static int64_t find_extreme(const redtune_problem *problem, const void *elements, uint64_t count) {
    int64_t best = -1;
    uint64_t best_rank = 0;
    for (uint64_t i = 0; i < count; i++) {
        if (rdt_scalar_is_nan(problem->dtype, elements, i)) {
            if (!ignores_nan(problem->op)) return (int64_t)i;
            continue;
        }
        uint64_t each = rank(problem, elements, i);
        if (best >= 0 && each <= best_rank) continue;
        best = (int64_t)i;
        best_rank = each;
    }
    return best;
}

/* The result where no element decides. */
static redtune_value extreme_of_nothing(const redtune_problem *problem, bool empty) {
    const rdt_dtype_traits *input = rdt_dtype_find(problem->dtype);
    bool least = problem->op == REDTUNE_MIN || problem->op == REDTUNE_FMIN;
    unsigned bits = 8 * (unsigned)input->bytes;
    uint64_t all = UINT64_MAX >> (64 - bits), top = UINT64_C(1) << (bits - 1);
    if (problem->op == REDTUNE_MAXABS) return rdt_scalar_from_bits(problem->result, 0);
    if (input->kind == RDT_KIND_FLOAT) {
        bool nan = ignores_nan(problem->op) || !empty;
        double most = problem->dtype == REDTUNE_E4M3 ? 448 : (double)INFINITY;
        return rdt_scalar_from_real(problem->result, nan ? (double)NAN : least ? most : -most);
    }
    if (input->kind == RDT_KIND_SIGNED)
        return rdt_scalar_from_bits(problem->result, least ? top - 1 : top);
    return rdt_scalar_from_bits(problem->result, least ? all : 0);
}

static void reduce_extreme(const redtune_problem *problem, const void *elements, uint64_t count,
                           rdt_reference *out) {
    int64_t best = find_extreme(problem, elements, count);
    redtune_dtype dtype = problem->dtype;
    if (rdt_op_find(problem->op)->result == RDT_RESULT_INDEX)
        out->value.i64 = best;
    else if (best < 0)
        out->value = extreme_of_nothing(problem, !count);
    else if (rdt_scalar_is_nan(dtype, elements, (uint64_t)best))
        out->value = rdt_scalar_from_real(problem->result, (double)NAN);
    else if (problem->op == REDTUNE_MAXABS && rdt_scalar_is_float(dtype))
        out->value = rdt_scalar_from_real(problem->result,
                                          fabs(rdt_scalar_real(dtype, elements, (uint64_t)best)));
    else if (problem->op == REDTUNE_MAXABS)
        out->value = rdt_scalar_from_bits(problem->result, rank(problem, elements, (uint64_t)best));
    else
        out->value = rdt_scalar_from_bits(dtype, rdt_scalar_bits(dtype, elements, (uint64_t)best));
    out->exact = rdt_scalar_real(problem->result, &out->value, 0);
}

/* ---- truth and bits ------------------------------------------------------------------------ */

static void reduce_zeros(const redtune_problem *problem, const void *elements, uint64_t count,
                         rdt_reference *out) {
    uint64_t nonzeros = 0;
    for (uint64_t i = 0; i < count; i++)
        nonzeros += rdt_scalar_real(problem->dtype, elements, i) != 0; /* true of NaN */
    uint64_t value = problem->op == REDTUNE_ANY   ? nonzeros > 0
                     : problem->op == REDTUNE_ALL ? nonzeros == count
                                                  : nonzeros;
    out->value = rdt_scalar_from_bits(problem->result, value);
    out->exact = (double)value;
}

static void reduce_bits(const redtune_problem *problem, const void *elements, uint64_t count,
                        rdt_reference *out) {
    uint64_t bits = problem->op == REDTUNE_AND ? UINT64_MAX : 0;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t each = rdt_scalar_bits(problem->dtype, elements, i);
        if (problem->op == REDTUNE_AND) bits &= each;
        if (problem->op == REDTUNE_OR) bits |= each;
        if (problem->op == REDTUNE_XOR) bits ^= each;
    }
    out->value = rdt_scalar_from_bits(problem->result, bits);
    out->exact = rdt_scalar_real(problem->result, &out->value, 0);
}

void rdt_reference_reduce(const redtune_problem *problem, const void *elements, uint64_t count,
                          rdt_reference *out) {
    *out = (rdt_reference){.exact = 0};
    switch (rdt_op_find(problem->op)->result) {
    case RDT_RESULT_SUM:
    case RDT_RESULT_MEAN: reduce_total(problem, elements, count, out); break;
    case RDT_RESULT_SAME:
    case RDT_RESULT_ABS:
    case RDT_RESULT_INDEX: reduce_extreme(problem, elements, count, out); break;
    case RDT_RESULT_TRUTH:
    case RDT_RESULT_COUNT: reduce_zeros(problem, elements, count, out); break;
    case RDT_RESULT_BITS: reduce_bits(problem, elements, count, out); break;
    case RDT_RESULT_DTYPE: break; /* no op that is compiled in */
    }
}

/* ---- comparing ----------------------------------------------------------------------------- */

/* What rounding to a dtype may cost: relative, half the distance between neighbours at 1; absolute,
 * half the distance between the least numbers. */
typedef struct rounding {
    double relative, absolute;
} rounding;

static rounding rounding_of(redtune_dtype dtype) {
    const rdt_dtype_traits *its = rdt_dtype_find(dtype);
    if (its->kind != RDT_KIND_FLOAT) return (rounding){0, 0};
    const int least = 2 - (1 << (its->exponent_bits - 1)) - its->fraction_bits;
    return (rounding){ldexp(0.5, -its->fraction_bits), fmax(ldexp(0.5, least), 0x1p-1074)};
}

double rdt_reference_bound(const redtune_problem *problem, const rdt_reference *reference,
                           uint64_t count, double depth) {
    rdt_result_class class = rdt_op_find(problem->op)->result;
    if (class != RDT_RESULT_SUM && class != RDT_RESULT_MEAN) return 0;
    redtune_dtype accumulator = rdt_problem_accumulator(problem);
    rounding result = rounding_of(problem->result);
    double u = rounding_of(accumulator).relative, exact = fabs(reference->exact);
    /* All roundings multiply a product, those on other elements' ways, too. */
    if (is_product(problem)) depth = (double)count;
    if (squares(problem)) depth++;
    /* A 64-bit integer is rounded when it becomes a float, and so twice in its square. */
    if (!rdt_scalar_is_float(problem->dtype) && redtune_dtype_bytes(problem->dtype) == 8)
        depth += squares(problem) ? 2 : is_product(problem) ? (double)count : 1;
    double relative = depth * u / (1 - depth * u);
    double bound = relative * (is_product(problem) ? exact : reference->magnitude);
    if (problem->op == REDTUNE_MEAN && count) bound /= (double)count;
    /* The square root halves a small relative error. */
    if (problem->op == REDTUNE_NORM2) bound = relative / (1 + sqrt(1 - relative)) * exact;
    /* The conversion to the result, the division and the root round once more. */
    if (class == RDT_RESULT_MEAN || problem->result != accumulator)
        bound += 2 * result.relative * (exact + bound) + result.absolute;
    return bound;
}
