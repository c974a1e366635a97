/* Compare: whether the results that a kernel gave are right. */
#include "tuner/measure/compare.h"

#include <math.h>
#include "model/scalar.h"

redtune_dtype rdt_compare_dtype(const redtune_problem *problem, int output) {
    return output ? rdt_problem_second(problem) : problem->result;
}

/* The distance of a float from the next one of its dtype, which has so many bits. */
static double last_place(int bits, double magnitude) {
    int exponent = 0;
    frexp(magnitude, &exponent);
    return ldexp(1, exponent - bits);
}

/* In fixed order every op is right to the bit. */
static int units_of(const redtune_problem *problem) {
    return problem->order == REDTUNE_ORDER_FIXED ? 0 : rdt_op_find(problem->op)->tolerance;
}

/* How far a float result may be from this one. */
static double tolerance_of(const redtune_problem *problem, redtune_dtype dtype, double right) {
    const redtune_dtype accumulator = rdt_problem_accumulator(problem);
    const int own = rdt_dtype_exact_bits(rdt_dtype_find(dtype));
    const int bits =
        rdt_scalar_is_float(accumulator) ? rdt_dtype_exact_bits(rdt_dtype_find(accumulator)) : own;
    const int units = units_of(problem);
    const double magnitude = fabs(right);
    if (!units) return 0;
    return units * last_place(bits, fmax(magnitude, 1)) +
           (own < bits && magnitude > 0 ? last_place(own, magnitude) : 0);
}

bool rdt_compare_is_right(const redtune_problem *problem, int output, const redtune_value *got,
                          const redtune_value *right) {
    const redtune_dtype dtype = rdt_compare_dtype(problem, output);
    if (rdt_scalar_same(dtype, got, right)) return true;
    if (!units_of(problem) || !rdt_scalar_is_float(dtype)) return false;
    const double x = rdt_scalar_real(dtype, got, 0), y = rdt_scalar_real(dtype, right, 0);
    if (!isfinite(x) || !isfinite(y)) return false;
    return fabs(x - y) <= tolerance_of(problem, dtype, y);
}

void rdt_compare_print(const redtune_problem *problem, int output, const redtune_value *got,
                       const redtune_value *right, rdt_text *out) {
    const rdt_op_traits *op = rdt_op_find(problem->op);
    const redtune_dtype dtype = rdt_compare_dtype(problem, output);
    if (op->outputs > 1) rdt_text_addf(out, "(%s) ", op->output[output].name);
    rdt_text_add(out, "is ");
    rdt_scalar_print(dtype, got, out);
    rdt_text_add(out, " and should be ");
    rdt_scalar_print(dtype, right, out);
    if (!units_of(problem) || !rdt_scalar_is_float(dtype)) return;
    const double real = rdt_scalar_real(dtype, right, 0);
    if (isfinite(real))
        rdt_text_addf(out, ", give or take %.2g", tolerance_of(problem, dtype, real));
}
