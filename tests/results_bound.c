/* How far the results of the ops behind REDTUNE_XOR may be off: docs/ops.md has the bounds. */
#include "results.h"

#include <math.h>
#include "model/scalar.h"

static redtune_dtype dtype_at(const redtune_problem *problem, int output) {
    return output ? rdt_problem_second(problem) : problem->result;
}

static double unit_of(redtune_dtype dtype) {
    return rdt_scalar_is_float(dtype) ? ldexp(0.5, -rdt_dtype_find(dtype)->fraction_bits) : 0;
}

/* How many roundings are behind an element's share of a result; 0: the result is exact. docs/ops.md
 * has the list. */
static double roundings(const redtune_problem *problem, int output, uint64_t count, double depth) {
    switch ((int)problem->op) {
    case REDTUNE_SUM_SUMSQ: return depth + output;
    case REDTUNE_SUM_NONFINITE: return output ? 0 : depth;
    case REDTUNE_DOT:
    case REDTUNE_COSINE:
    case REDTUNE_CITYBLOCK: return depth + 1;
    case REDTUNE_WMEAN: return depth + 2;
    case REDTUNE_SQEUCLIDEAN:
    case REDTUNE_EUCLIDEAN:
    case REDTUNE_MSE: return depth + 3;
    case REDTUNE_NORMP: return depth + 12;
    case REDTUNE_LOGSUMEXP: return 4 * depth + 4;
    case REDTUNE_SLOGPROD: return output ? 2 + (double)count : 0;
    case REDTUNE_VAR:
    case REDTUNE_STD:
    case REDTUNE_NANVAR:
    case REDTUNE_NANSTD:
    case REDTUNE_MEAN_VAR: return depth + 8;
    case REDTUNE_NANSUM: return depth;
    case REDTUNE_NANMEAN: return depth + 1;
    case REDTUNE_NANPROD: return (double)count;
    default: return 0;
    }
}

double results_bound(const redtune_problem *problem, int output, const results *right,
                     uint64_t count, double depth) {
    const redtune_dtype accumulator = rdt_problem_accumulator(problem),
                        dtype = dtype_at(problem, output);
    double n = roundings(problem, output, count, depth), u = unit_of(accumulator);
    if (n == 0 || !rdt_scalar_is_float(dtype)) return 0;
    if (!rdt_scalar_is_float(problem->dtype) && redtune_dtype_bytes(problem->dtype) == 8) n += 2;
    const double relative = n * u / (1 - n * u), exact = fabs((double)right->exact[output]);
    const double bound = relative * (double)right->magnitude[output];
    return bound + 2 * unit_of(dtype) * (exact + bound);
}

bool results_agree(const redtune_problem *problem, int output, const redtune_value *got,
                   const results *right, uint64_t count, double depth) {
    const redtune_dtype dtype = dtype_at(problem, output);
    const double bound = results_bound(problem, output, right, count, depth);
    if (rdt_scalar_same(dtype, got, &right->value[output])) return true;
    if (!(bound > 0) || !isfinite(bound)) return false;
    const long double apart = rdt_scalar_real(dtype, got, 0) - right->exact[output];
    return fabsl(apart) <= (long double)bound;
}

bool results_same(const redtune_problem *problem, int output, const redtune_value *got,
                  const results *right, uint64_t count) {
    const redtune_op op = problem->op;
    const redtune_dtype dtype = dtype_at(problem, output);
    const bool rounds = rdt_op_find(op)->tolerance > 0;
    if (rdt_scalar_same(dtype, got, &right->value[output])) return true;
    if (!rounds && op != REDTUNE_LOGSUMEXP && op != REDTUNE_SLOGPROD && op != REDTUNE_NORMP)
        return false;
    return results_agree(problem, output, got, right, count, rounds ? (double)count + 12 : 0);
}
