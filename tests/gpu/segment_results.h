/* Segment results: what is right of segments that segment_draws.h drew: exact where the op's
 * results are, else within the bound that docs/ops.md gives with the depth of docs/lists.md. */
#pragma once

#include "reference.h"
#include "results.h"
#include "segment_draws.h"

/* How much larger a variance's error is than its squares', at most: sqrt(1 + mean^2 / var), from
 * any mean and the greatest distance of two neighbours (docs/ops.md). */
static double spread_of(const redtune_problem *problem, const results_input *in) {
    double greatest = 0, apart = 0;
    for (uint64_t i = 0; i < in->count; i++) {
        const double x = rdt_scalar_real(problem->dtype, in->x, i);
        const double next = rdt_scalar_real(problem->dtype, in->x, (i + 1) % in->count);
        greatest = fmax(greatest, fabs(x));
        apart = fmax(apart, fabs(next - x));
    }
    return apart > 0 ? 1 + greatest / apart * sqrt(4 * (double)in->count) : 1;
}

/* The square of how far elements lie apart at most, by their variance. */
static double range_of(const redtune_problem *problem, const results_input *in) {
    const double first = in->count ? rdt_scalar_real(problem->dtype, in->x, 0) : 0;
    double least = 0, greatest = 0, sum = 0, squares = 0;
    for (uint64_t i = 0; i < in->count; i++) {
        const double x = rdt_scalar_real(problem->dtype, in->x, i) - first;
        least = fmin(least, x);
        greatest = fmax(greatest, x);
        sum += x;
        squares += x * x;
    }
    const double all = (double)in->count, range = greatest - least;
    const double variance = (squares - sum * sum / all) / all;
    return variance > 0 ? range * range / variance : (double)INFINITY;
}

/* How many additions an element of a segment passes through at most: docs/lists.md. */
static double depth_of(const redtune_problem *problem, const results_input *in) {
    const bool is_short = in->count * redtune_dtype_bytes(problem->dtype) <= 4096;
    const double all = (double)in->count, depth = (is_short ? all : all / 32 + 64) + 1;
    const redtune_op op = problem->op;
    if (op == REDTUNE_NORMP) return depth + 300; /* docs/ops.md: |log |x|| is below 45 */
    if (op == REDTUNE_VAR || op == REDTUNE_STD || op == REDTUNE_MEAN_VAR)
        return (depth + 2) * fmin(depth + 2, 3 * range_of(problem, in)) +
               spread_of(problem, in) * (8 + log2(all + 1));
    return depth;
}

/* Whether the op's results are exact of small whole numbers. */
static bool is_exact(const redtune_problem *problem) {
    const redtune_op op = problem->op;
    return drawn.style == DRAWS_WHOLE &&
           (op == REDTUNE_SUM || op == REDTUNE_SUMSQ || op == REDTUNE_SUMABS ||
            op == REDTUNE_SUM_SUMSQ || op == REDTUNE_SUM_NONFINITE);
}

static redtune_dtype result_of(const redtune_problem *problem, int which) {
    return which ? rdt_problem_second(problem) : problem->result;
}

static void describe_value(redtune_dtype dtype, const redtune_value *value, char out[64]) {
    rdt_text text = {0};
    rdt_scalar_print(dtype, value, &text);
    snprintf(out, 64, "%s", text.data ? text.data : "");
    rdt_text_free(&text);
}

/* How far a result may be off because the earlier one was rounded to its dtype: that lacks large
 * whole numbers, and sums of 8-bit floats exceed its range. */
static double rounded_before(const redtune_problem *problem, redtune_dtype dtype,
                             const rdt_reference *reference, double bound) {
    const rdt_dtype_traits *traits = rdt_dtype_find(dtype);
    const double all = reference->magnitude + fabs(reference->exact);
    const bool has_all = all <= ldexp(1, rdt_dtype_exact_bits(traits));
    if (is_exact(problem) ? has_all : !(bound > 0)) return 0;
    if (all > rdt_dtype_greatest(traits)) return all;
    return ldexp(all, traits->fraction_bits < 7 ? -traits->fraction_bits : -7);
}

/* Whether the result is right; goes_on: of elements to which an earlier one of its dtype went. */
static bool segment_agrees(const redtune_problem *problem, const results_input *in, int which,
                           bool goes_on, const redtune_value *got, redtune_value *wanted) {
    const redtune_dtype dtype = result_of(problem, which);
    const double depth = is_exact(problem) ? 0 : depth_of(problem, in);
    results right;
    results_reduce(problem, in, &right);
    *wanted = right.value[which];
    if (results_agree(problem, which, got, &right, in->count, depth)) return true;
    if (!rdt_scalar_is_float(dtype)) return false;
    const rdt_reference reference = {right.value[which], (double)right.exact[which],
                                     (double)right.magnitude[which]};
    double bound = (int)problem->op < RDT_REFERENCE_OPS
                       ? rdt_reference_bound(problem, &reference, in->count, depth)
                       : results_bound(problem, which, &right, in->count, depth);
    if (goes_on) bound += rounded_before(problem, dtype, &reference, bound);
    return fabs(rdt_scalar_real(dtype, got, 0) - reference.exact) <= bound;
}
