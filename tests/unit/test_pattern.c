/* Facts about tuner/pattern.h and model/fold.h: test data, and the host's own sums. */
#include <math.h>
#include "check.h"
#include "faults.h"
#include "model/fold.h"
#include "tuner/pattern.h"

static redtune_error err;

/* The sum of elements[first..first + count) of a pattern laid out with its period, element by
 * element. */
static int64_t plain_sum(const rdt_pattern *pattern, uint64_t first, uint64_t count) {
    int64_t sum = 0;
    for (uint64_t i = first; i < first + count; i++)
        sum += (int64_t)((const float *)pattern->elements)[i % pattern->period];
    return sum;
}

static void sums_equal_those_of_the_elements(void) {
    rdt_pattern *pattern = NULL;
    CHECK_OK(rdt_pattern_create(REDTUNE_F32, 4000000, &pattern, &err), err);
    static const uint64_t ends[][2] = {
        {0, 0},       {0, 1},       {5, 1000},          {1, 4097},
        {0, 1048573}, {7, 1048573}, {1048570, 1048580}, {0, 3999999}};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        CHECK_INT(rdt_pattern_sum(pattern, ends[i][0], ends[i][1]),
                  plain_sum(pattern, ends[i][0], ends[i][1]));
    rdt_pattern_destroy(pattern);
}

static void dense_pattern_has_no_zero_element(void) {
    rdt_pattern *pattern = NULL;
    CHECK_OK(rdt_pattern_create(REDTUNE_F32, rdt_pattern_dense_max(REDTUNE_F32), &pattern, &err),
             err);
    for (uint64_t i = 0; i < pattern->period; i++) CHECK(((float *)pattern->elements)[i] != 0);
    rdt_pattern_destroy(pattern);
}

/* Every partial sum of every subset is below 2^24 where the sum of magnitudes is. */
static void every_partial_sum_is_exact(void) {
    for (uint64_t count = 1 << 20; count <= UINT64_C(1) << 32; count *= 4) {
        rdt_pattern *pattern = NULL;
        CHECK_OK(rdt_pattern_create(REDTUNE_F32, count, &pattern, &err), err);
        double magnitudes = 0;
        for (uint64_t i = 0; i < pattern->period; i++)
            magnitudes += fabs((double)((float *)pattern->elements)[i]);
        double periods = ceil((double)count / (double)pattern->period);
        CHECK(magnitudes * periods <= 16777216.0);
        CHECK(magnitudes > 0);
        rdt_pattern_destroy(pattern);
    }
}

static void period_is_no_multiple_of_a_tile(void) {
    rdt_pattern *pattern = NULL;
    CHECK_OK(rdt_pattern_create(REDTUNE_F64, UINT64_C(1) << 30, &pattern, &err), err);
    CHECK(pattern->period > 1000000 && pattern->period % 2 && pattern->period % 3);
    rdt_pattern_destroy(pattern);
}

static void create_survives_every_failed_allocation(void) {
    for (long n = 1; faults_begin(n); n++) {
        rdt_pattern *pattern = NULL;
        redtune_status status = rdt_pattern_create(REDTUNE_I32, 1000, &pattern, &err);
        if (faults_end()) CHECK_INT(status, REDTUNE_MEMORY);
        CHECK(status ? !pattern : pattern != NULL);
        rdt_pattern_destroy(pattern);
    }
}

/* ---- fold ---------------------------------------------------------------------------------- */

static redtune_value folded(redtune_dtype dtype, const double *values, size_t count) {
    redtune_problem problem = {REDTUNE_SUM, dtype, REDTUNE_DTYPE_NONE, 0};
    rdt_problem_resolve(&problem, &problem, NULL);
    rdt_fold fold = rdt_fold_begin(&problem);
    for (size_t i = 0; i < count; i++) {
        redtune_value value = {.i64 = 0};
        if (problem.result == REDTUNE_I64)
            value.i64 = (int64_t)values[i];
        else if (problem.result == REDTUNE_F32)
            value.f32 = (float)values[i];
        else
            value.f64 = values[i];
        rdt_fold_add(&fold, &value);
    }
    return rdt_fold_value(&fold);
}

static void fold_of_nothing_is_zero(void) {
    CHECK_INT(folded(REDTUNE_I32, NULL, 0).i64, 0);
    CHECK(folded(REDTUNE_F64, NULL, 0).f64 == 0);
}

static void fold_adds_integers_in_64_bits(void) {
    static const double values[] = {4e9, 4e9, -1};
    CHECK_INT(folded(REDTUNE_I32, values, 3).i64, 7999999999);
}

static void fold_compensates_floats(void) {
    static const double values[] = {1, 1e100, 1, -1e100};
    CHECK(folded(REDTUNE_F64, values, 4).f64 == 2);
    static const double tenths[] = {16777216, 1, 1, 1, 1};
    CHECK(folded(REDTUNE_F32, tenths, 5).f32 == 16777220);
}

static void fold_keeps_infinity_and_nan(void) {
    static const double values[] = {1, INFINITY, 2};
    static const double both[] = {INFINITY, -INFINITY};
    static const double nan[] = {1, NAN, 2};
    CHECK(isinf(folded(REDTUNE_F64, values, 3).f64));
    CHECK(isnan(folded(REDTUNE_F32, both, 2).f32));
    CHECK(isnan(folded(REDTUNE_F64, nan, 3).f64));
}

int main(int argc, char **argv) {
    static const check_fact facts[] = {
        FACT(sums_equal_those_of_the_elements),
        FACT(dense_pattern_has_no_zero_element),
        FACT(every_partial_sum_is_exact),
        FACT(period_is_no_multiple_of_a_tile),
        FACT(create_survives_every_failed_allocation),
        FACT(fold_of_nothing_is_zero),
        FACT(fold_adds_integers_in_64_bits),
        FACT(fold_compensates_floats),
        FACT(fold_keeps_infinity_and_nan),
    };
    return check_run(facts, sizeof facts / sizeof *facts, argc, argv);
}
