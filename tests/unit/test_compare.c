/* Facts about tuner/measure/compare.h: which results are right, and what is said of those that are
 * not. */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include "check.h"
#include "op_folder.h"
#include "model/scalar.h"
#include "tuner/measure/compare.h"

static redtune_problem problem_of(const char *op, redtune_dtype dtype, redtune_dtype result) {
    redtune_error err;
    redtune_problem problem = {.op = op_folder_find(op), .dtype = dtype, .result = result};
    if (!rdt_problem_resolve(&problem, &problem, &err)) return problem;
    fprintf(stderr, "%s\n", err.message);
    abort();
}

static bool is_right(const redtune_problem *problem, int output, double got, double right) {
    const redtune_dtype dtype = rdt_compare_dtype(problem, output);
    const redtune_value x = rdt_scalar_from_real(dtype, got),
                        y = rdt_scalar_from_real(dtype, right);
    return rdt_compare_is_right(problem, output, &x, &y);
}

FACT(without_a_tolerance_the_next_value_is_wrong) {
    const redtune_problem sum = problem_of("sum", REDTUNE_F32, REDTUNE_DTYPE_NONE);
    CHECK(is_right(&sum, 0, 3, 3));
    CHECK(!is_right(&sum, 0, (double)nextafterf(3, 4), 3));
    CHECK(!is_right(&sum, 0, -0.0, 0.0));
    CHECK(is_right(&sum, 0, (double)NAN, -(double)NAN));
}

/* test_spread has a tolerance of 16. */
FACT(the_tolerance_is_in_units_in_the_last_place) {
    const redtune_problem f32 = problem_of("test_spread", REDTUNE_F32, REDTUNE_DTYPE_NONE);
    const redtune_problem f64 = problem_of("test_spread", REDTUNE_F64, REDTUNE_DTYPE_NONE);
    for (int output = 0; output < 2; output++) {
        CHECK(is_right(&f32, output, 4 + 16 * 0x1p-21, 4));
        CHECK(is_right(&f32, output, 4 - 16 * 0x1p-21, 4));
        CHECK(!is_right(&f32, output, 4 + 17 * 0x1p-21, 4));
        CHECK(!is_right(&f32, output, 4 - 17 * 0x1p-21, 4));
        CHECK(is_right(&f32, output, -7 - 16 * 0x1p-21, -7));
        CHECK(is_right(&f64, output, 4 + 16 * 0x1p-50, 4));
        CHECK(!is_right(&f64, output, 4 + 17 * 0x1p-50, 4));
    }
}

/* What cancels has the errors of the elements, which are from 1 on. */
FACT(below_1_the_tolerance_is_that_of_1) {
    const redtune_problem spread = problem_of("test_spread", REDTUNE_F32, REDTUNE_DTYPE_NONE);
    CHECK(is_right(&spread, 1, 16 * 0x1p-23, 0));
    CHECK(is_right(&spread, 1, -16 * 0x1p-23, 0));
    CHECK(is_right(&spread, 1, 0, 16 * 0x1p-23));
    CHECK(!is_right(&spread, 1, 17 * 0x1p-23, 0));
    CHECK(is_right(&spread, 1, 0.25 + 16 * 0x1p-23, 0.25));
    CHECK(!is_right(&spread, 1, 0.25 + 17 * 0x1p-23, 0.25));
}

/* f64 accumulators round to f32 results, as f32 ones do to those of 16 bits. */
FACT(a_shorter_result_may_be_its_neighbour) {
    const redtune_problem f16 = problem_of("test_spread", REDTUNE_F16, REDTUNE_F16);
    const redtune_problem bf16 = problem_of("test_spread", REDTUNE_BF16, REDTUNE_BF16);
    CHECK_INT(rdt_compare_dtype(&f16, 0), REDTUNE_F16);
    CHECK(is_right(&f16, 0, 3 + 0x1p-9, 3));
    CHECK(!is_right(&f16, 0, 3 + 0x1p-8, 3));
    CHECK(is_right(&f16, 0, 0.125 + 0x1p-13, 0.125));
    CHECK(!is_right(&f16, 0, 0.125 + 0x1p-12, 0.125));
    CHECK(is_right(&bf16, 0, 3 + 0x1p-6, 3));
    CHECK(!is_right(&bf16, 0, 3 + 0x1p-5, 3));
}

FACT(what_is_no_number_has_no_tolerance) {
    const redtune_problem spread = problem_of("test_spread", REDTUNE_F32, REDTUNE_DTYPE_NONE);
    const double inf = (double)INFINITY;
    CHECK(is_right(&spread, 0, (double)NAN, (double)NAN));
    CHECK(!is_right(&spread, 0, (double)NAN, 3));
    CHECK(!is_right(&spread, 0, 3, (double)NAN));
    CHECK(is_right(&spread, 0, inf, inf) && !is_right(&spread, 0, inf, -inf));
    CHECK(!is_right(&spread, 0, 3, inf) && !is_right(&spread, 0, inf, 0x1p127));
}

static const char *told(const redtune_problem *problem, int output, double got, double right) {
    static char line[256];
    const redtune_dtype dtype = rdt_compare_dtype(problem, output);
    const redtune_value x = rdt_scalar_from_real(dtype, got),
                        y = rdt_scalar_from_real(dtype, right);
    rdt_text text = {0};
    rdt_compare_print(problem, output, &x, &y, &text);
    rdt_text_copy(line, sizeof line, text.data);
    rdt_text_free(&text);
    return line;
}

FACT(a_message_names_the_result_of_two_and_the_tolerance) {
    const redtune_problem sum = problem_of("sum", REDTUNE_F32, REDTUNE_DTYPE_NONE);
    const redtune_problem minmax = problem_of("test_minmax", REDTUNE_I8, REDTUNE_DTYPE_NONE);
    const redtune_problem spread = problem_of("test_spread", REDTUNE_F32, REDTUNE_DTYPE_NONE);
    CHECK_TEXT(told(&sum, 0, 3, 4), "is 3 and should be 4");
    CHECK_TEXT(told(&minmax, 1, 3, 4), "(greatest) is 3 and should be 4");
    CHECK_TEXT(told(&spread, 0, 3, 4), "(mean) is 3 and should be 4, give or take 7.6e-06");
}

int main(int argc, char **argv) {
    if (!op_folder_make()) return 1;
    const int code = check_run(argc, argv);
    op_folder_remove();
    return code;
}
