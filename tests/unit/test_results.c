/* Facts about tests/results.h: values worked out by hand from docs/ops.md. */
#include <math.h>
#include "check.h"
#include "model/scalar.h"
#include "results.h"

static results reduce(redtune_op op, redtune_dtype dtype, const void *x, const void *y,
                      uint64_t count) {
    redtune_problem problem = {.op = op, .dtype = dtype};
    results out = {0};
    redtune_error err;
    const redtune_status status = rdt_problem_resolve(&problem, &problem, &err);
    check_that(!status, __FILE__, __LINE__, "%s", status ? err.message : "");
    if (!status) results_reduce(&problem, &(results_input){x, y, count, NULL}, &out);
    return out;
}

#define LIST(type, ...)                                                                            \
    (const type[]){__VA_ARGS__}, sizeof((const type[]){__VA_ARGS__}) / sizeof(type)

static results of_doubles(redtune_op op, const double *x, uint64_t count) {
    return reduce(op, REDTUNE_F64, x, NULL, count);
}

FACT(of_nothing) {
    CHECK_INT(reduce(REDTUNE_PTP, REDTUNE_I8, NULL, NULL, 0).value[0].u8, 0);
    CHECK(isnan(of_doubles(REDTUNE_VAR, NULL, 0).value[0].f64));
    CHECK(isnan(of_doubles(REDTUNE_MEAN_VAR, NULL, 0).value[0].f64));
    CHECK(of_doubles(REDTUNE_LOGSUMEXP, NULL, 0).value[0].f64 == (double)-INFINITY);
    CHECK(of_doubles(REDTUNE_SLOGPROD, NULL, 0).value[0].f64 == 1);
    CHECK(of_doubles(REDTUNE_SLOGPROD, NULL, 0).value[1].f64 == 0);
    CHECK(of_doubles(REDTUNE_MIN_AT, NULL, 0).value[0].f64 == (double)INFINITY);
    CHECK_INT(of_doubles(REDTUNE_MIN_AT, NULL, 0).value[1].i64, -1);
    CHECK_INT(reduce(REDTUNE_MINMAX, REDTUNE_I8, NULL, NULL, 0).value[0].i8, 127);
    CHECK_INT(reduce(REDTUNE_MINMAX, REDTUNE_U16, NULL, NULL, 0).value[1].u16, 0);
    CHECK(isnan(of_doubles(REDTUNE_COSINE, NULL, 0).value[0].f64));
    CHECK(isnan(of_doubles(REDTUNE_MSE, NULL, 0).value[0].f64));
}

FACT(variances) {
    CHECK(of_doubles(REDTUNE_VAR, LIST(double, 1e6, 1e6 + 2)).value[0].f64 == 1);
    CHECK(of_doubles(REDTUNE_STD, LIST(double, 1, 5)).value[0].f64 == 2);
    CHECK(of_doubles(REDTUNE_MEAN_VAR, LIST(double, 1, 5)).value[0].f64 == 3);
    CHECK(of_doubles(REDTUNE_MEAN_VAR, LIST(double, 1, 5)).value[1].f64 == 4);
    CHECK(isnan(of_doubles(REDTUNE_VAR, LIST(double, 1, INFINITY)).value[0].f64));
    CHECK(isinf(of_doubles(REDTUNE_MEAN_VAR, LIST(double, 1, INFINITY)).value[0].f64));
    const redtune_problem problem = {
        .op = REDTUNE_VAR, .dtype = REDTUNE_F64, .result = REDTUNE_F64};
    const double x[] = {1, 5}, ddof = 1;
    results out;
    results_reduce(&problem, &(results_input){x, NULL, 2, &ddof}, &out);
    CHECK(out.value[0].f64 == 8);
}

FACT(logarithms) {
    CHECK(fabs(of_doubles(REDTUNE_LOGSUMEXP, LIST(double, 1000, 1000)).value[0].f64 - 1000 -
               log(2)) < 1e-12);
    CHECK(isinf(of_doubles(REDTUNE_LOGSUMEXP, LIST(double, INFINITY, -INFINITY)).value[0].f64));
    const results eight = of_doubles(REDTUNE_SLOGPROD, LIST(double, -2, 4));
    CHECK(eight.value[0].f64 == -1 && fabs(eight.value[1].f64 - 3 * log(2)) < 1e-15);
    const results zero = of_doubles(REDTUNE_SLOGPROD, LIST(double, -2, 0));
    CHECK(zero.value[0].f64 == 0 && zero.value[1].f64 == (double)-INFINITY);
    CHECK(isnan(of_doubles(REDTUNE_SLOGPROD, LIST(double, 0, INFINITY)).value[0].f64));
}

FACT(places_and_extremes) {
    const results first = of_doubles(REDTUNE_MAX_AT, LIST(double, 1, 7, 3, 7));
    CHECK(first.value[0].f64 == 7 && first.value[1].i64 == 1);
    const results zero = of_doubles(REDTUNE_MIN_AT, LIST(double, -0.0, 0, 1));
    CHECK(!signbit(zero.value[0].f64) && zero.value[1].i64 == 0);
    const results nan = of_doubles(REDTUNE_MIN_AT, LIST(double, 1, NAN, NAN));
    CHECK(isnan(nan.value[0].f64) && nan.value[1].i64 == 1);
    CHECK_INT(of_doubles(REDTUNE_ARGMAXABS, LIST(double, 1, -7, 7)).value[0].i64, 1);
    CHECK_INT(of_doubles(REDTUNE_ARGMAXABS, LIST(double, 1, NAN, INFINITY)).value[0].i64, 1);
    CHECK(signbit(of_doubles(REDTUNE_MINMAX, LIST(double, 0, -0.0)).value[0].f64));
    const int8_t ends[] = {-128, 127};
    CHECK_INT(reduce(REDTUNE_ARGMAXABS, REDTUNE_I8, ends + 1, NULL, 1).value[0].i64, 0);
    CHECK_INT(reduce(REDTUNE_ARGMAXABS, REDTUNE_I8, ends, NULL, 2).value[0].i64, 0);
    CHECK_INT(reduce(REDTUNE_PTP, REDTUNE_I8, ends, NULL, 2).value[0].u8, 255);
    CHECK(isnan(of_doubles(REDTUNE_PTP, LIST(double, INFINITY, INFINITY)).value[0].f64));
}

FACT(counts_and_sums) {
    CHECK_INT(of_doubles(REDTUNE_NANS, LIST(double, NAN, INFINITY, NAN)).value[0].u64, 2);
    CHECK_INT(of_doubles(REDTUNE_NONFINITE, LIST(double, 1, -INFINITY)).value[0].u8, 1);
    CHECK_INT(of_doubles(REDTUNE_NONFINITE, LIST(double, 1, 2)).value[0].u8, 0);
    const results both = of_doubles(REDTUNE_SUM_NONFINITE, LIST(double, 1, INFINITY));
    CHECK(isinf(both.value[0].f64) && both.value[1].u64 == 1);
    const int8_t x[] = {-3, 4};
    CHECK_INT(reduce(REDTUNE_SUM_SUMSQ, REDTUNE_I8, x, NULL, 2).value[0].i64, 1);
    CHECK_INT(reduce(REDTUNE_SUM_SUMSQ, REDTUNE_I8, x, NULL, 2).value[1].i64, 25);
    CHECK(reduce(REDTUNE_NORMP, REDTUNE_I8, x, NULL, 2).value[0].f64 == 5);
}

FACT(of_two_inputs) {
    static const uint8_t x[] = {3, 255, 7}, y[] = {5, 0, 7};
    static const double u[] = {1, INFINITY, NAN, 2}, v[] = {1, INFINITY, NAN, 3};
#define U8(op) reduce(op, REDTUNE_U8, x, y, 3).value[0]
    CHECK_INT(U8(REDTUNE_DOT).u64, 64);
    CHECK_INT(U8(REDTUNE_SQEUCLIDEAN).u64, 65029);
    CHECK_INT(U8(REDTUNE_CITYBLOCK).u64, 257);
    CHECK_INT(U8(REDTUNE_CHEBYSHEV).u8, 255);
    CHECK_INT(U8(REDTUNE_MISMATCHES).u64, 2);
    CHECK(U8(REDTUNE_EUCLIDEAN).f64 == sqrt(65029));
    CHECK(U8(REDTUNE_MSE).f64 == 65029.0 / 3);
    CHECK(U8(REDTUNE_WMEAN).f64 == 64.0 / 12);
    CHECK(U8(REDTUNE_COSINE).f64 == 64 / (sqrt(9 + 255 * 255 + 49) * sqrt(25 + 49)));
    CHECK_INT(reduce(REDTUNE_MISMATCHES, REDTUNE_F64, u, v, 4).value[0].u64, 2);
    CHECK(isnan(reduce(REDTUNE_CHEBYSHEV, REDTUNE_F64, u, v, 2).value[0].f64));
    CHECK(reduce(REDTUNE_CITYBLOCK, REDTUNE_F64, u + 3, v + 3, 1).value[0].f64 == 1);
}

int main(int argc, char **argv) { return check_run(argc, argv); }
