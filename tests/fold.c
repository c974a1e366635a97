/* Fold: combining the results of the pieces of an input on the host. */
#include "fold.h"

#include <math.h>
#include "reference.h"
#include "model/scalar.h"

redtune_problem rdt_fold_piece(const redtune_problem *problem) {
    redtune_problem piece = *problem;
    rdt_result_class class = rdt_op_find(problem->op)->result;
    if (problem->op == REDTUNE_MEAN) piece.op = REDTUNE_SUM;
    if (problem->op == REDTUNE_NORM2) piece.op = REDTUNE_SUMSQ;
    if (class == RDT_RESULT_SUM || class == RDT_RESULT_MEAN)
        piece.result = rdt_problem_accumulator(problem);
    return piece;
}

rdt_fold rdt_fold_begin(const redtune_problem *problem) {
    const rdt_combines combines = rdt_op_find(problem->op)->combines;
    return (rdt_fold){
        .problem = *problem,
        .piece = rdt_fold_piece(problem),
        .integer = combines == RDT_COMBINES_PRODUCT || combines == RDT_COMBINES_ALL ? 1
                   : combines == RDT_COMBINES_AND                                   ? UINT64_MAX
                                                                                    : 0,
        .product = 1,
    };
}

static void add_real(rdt_fold *fold, double x) {
    double sum = fold->sum + x;
    /* An infinity would turn the compensation into NaN. */
    if (isfinite(sum))
        fold->compensation +=
            fabs(fold->sum) >= fabs(x) ? (fold->sum - sum) + x : (x - sum) + fold->sum;
    fold->sum = sum;
}

static void add_sum(rdt_fold *fold, const redtune_value *result) {
    redtune_dtype dtype = fold->piece.result;
    if (!rdt_scalar_is_float(dtype))
        fold->integer += rdt_scalar_bits(dtype, result, 0);
    else
        add_real(fold, rdt_scalar_real(dtype, result, 0));
}

static void add_product(rdt_fold *fold, const redtune_value *result) {
    redtune_dtype dtype = fold->piece.result;
    if (!rdt_scalar_is_float(dtype))
        fold->integer *= rdt_scalar_bits(dtype, result, 0);
    else
        fold->product *= (long double)rdt_scalar_real(dtype, result, 0);
}

/* Whether the first goes before the second; neither is NaN. */
static bool goes_before(const rdt_op_traits *op, redtune_dtype dtype, const redtune_value *a,
                        const redtune_value *b) {
    /* argmin and argmax take zeros as equal. */
    if (op->indexed && rdt_scalar_is_float(dtype) &&
        rdt_scalar_real(dtype, a, 0) == rdt_scalar_real(dtype, b, 0))
        return false;
    uint64_t x = rdt_scalar_key(dtype, a, 0), y = rdt_scalar_key(dtype, b, 0);
    const bool least =
        op->combines == RDT_COMBINES_LEAST || op->combines == RDT_COMBINES_LEAST_MAGNITUDE;
    return least ? x < y : x > y;
}

/* Whether a takes the place of the best so far, which stands before it. */
static bool takes_over(const rdt_fold *fold, redtune_dtype dtype, const redtune_value *a) {
    if (!fold->found) return true;
    const rdt_op_traits *op = rdt_op_find(fold->problem.op);
    if (rdt_scalar_is_nan(dtype, &fold->best, 0)) return op->ignores_nan;
    if (rdt_scalar_is_nan(dtype, a, 0)) return !op->ignores_nan;
    return goes_before(op, dtype, a, &fold->best);
}

static void add_extreme(rdt_fold *fold, const redtune_value *result) {
    if (takes_over(fold, fold->piece.result, result)) fold->best = *result;
    fold->found = true;
}

static void add_index(rdt_fold *fold, int64_t index, const void *elements) {
    redtune_dtype dtype = fold->problem.dtype;
    redtune_value element =
        rdt_scalar_from_bits(dtype, rdt_scalar_bits(dtype, elements, (uint64_t)index));
    if (takes_over(fold, dtype, &element)) {
        fold->best = element;
        fold->best_index = (int64_t)fold->count + index;
    }
    fold->found = true;
}

void rdt_fold_add(rdt_fold *fold, const redtune_value *result, const void *elements,
                  uint64_t count) {
    uint64_t bits = rdt_scalar_bits(fold->piece.result, result, 0);
    if (!count) return;
    const rdt_op_traits *op = rdt_op_find(fold->problem.op);
    switch (op->combines) {
    case RDT_COMBINES_SUM: add_sum(fold, result); break;
    case RDT_COMBINES_PRODUCT: add_product(fold, result); break;
    case RDT_COMBINES_LEAST:
    case RDT_COMBINES_GREATEST:
    case RDT_COMBINES_MAGNITUDE:
    case RDT_COMBINES_LEAST_MAGNITUDE:
        if (op->indexed)
            add_index(fold, result->i64, elements);
        else
            add_extreme(fold, result);
        break;
    case RDT_COMBINES_COUNT:
    case RDT_COMBINES_NONFINITE: fold->integer += bits; break;
    case RDT_COMBINES_ANY:
    case RDT_COMBINES_ANY_NONFINITE:
    case RDT_COMBINES_OR: fold->integer |= bits; break;
    case RDT_COMBINES_ALL:
    case RDT_COMBINES_AND: fold->integer &= bits; break;
    case RDT_COMBINES_XOR: fold->integer ^= bits; break;
    case RDT_COMBINES_OWN: break; /* no op that is compiled in */
    case RDT_COMBINES_EXTREMES:   /* one result does not say what they were */
    case RDT_COMBINES_EXPONENTIALS: break;
    }
    fold->count += count;
}

/* Of sums and products, in the accumulator. */
static redtune_value total(const rdt_fold *fold) {
    redtune_dtype dtype = fold->piece.result;
    if (!rdt_scalar_is_float(dtype)) return rdt_scalar_from_bits(dtype, fold->integer);
    if (rdt_op_find(fold->problem.op)->combines == RDT_COMBINES_PRODUCT)
        return rdt_scalar_from_real(dtype, (double)fold->product);
    bool finite = isfinite(fold->sum);
    return rdt_scalar_from_real(dtype, finite ? fold->sum + fold->compensation : fold->sum);
}

redtune_value rdt_fold_value(const rdt_fold *fold) {
    if (!fold->count) {
        rdt_reference nothing;
        rdt_reference_reduce(&fold->problem, NULL, 0, &nothing);
        return nothing.value;
    }
    switch (rdt_op_find(fold->problem.op)->result) {
    case RDT_RESULT_SUM:
    case RDT_RESULT_MEAN: {
        redtune_value sum = total(fold);
        return rdt_reference_finish(&fold->problem, &sum, fold->count);
    }
    case RDT_RESULT_SAME:
    case RDT_RESULT_ABS: return fold->best;
    case RDT_RESULT_INDEX: return (redtune_value){.i64 = fold->best_index};
    case RDT_RESULT_TRUTH:
    case RDT_RESULT_COUNT:
    case RDT_RESULT_DTYPE:
    case RDT_RESULT_BITS: break;
    }
    return rdt_scalar_from_bits(fold->problem.result, fold->integer);
}
