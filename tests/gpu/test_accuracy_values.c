/* Facts about accurate sums of numbers at the ends of their dtypes' ranges, of infinities, NaN and
 * zeros. */
#include <float.h>
#include <math.h>
#include "check.h"
#include "model/scalar.h"
#include "shaped.h"
#include "subject.h"

enum { ELEMENTS = 4, APART = 37, COUNT = ELEMENTS * APART };

static redtune_error err;
static device gpu;
static workshop shop;

/* The sum of x, with zeros between the elements, so that they are different threads'. */
static void check_rule(redtune_op op, redtune_dtype dtype, redtune_accuracy accuracy,
                       const double *x, uint64_t count, double wanted) {
    const redtune_problem asked =
        PROBLEM(.op = op, .dtype = dtype, .count = count * APART, .accuracy = accuracy);
    const size_t bytes = redtune_dtype_bytes(dtype);
    static char raw[COUNT * sizeof(double)];
    redtune_problem problem;
    subject self;
    rdt_buffer input = {0};
    redtune_value got = {.u64 = 0};
    memset(raw, 0, sizeof raw);
    for (uint64_t i = 0; i < count; i++) {
        const redtune_value each = rdt_scalar_from_real(dtype, x[i]);
        memcpy(raw + i * APART * bytes, each.bytes, bytes);
    }
    CHECK_OK(rdt_problem_resolve(&asked, &problem, &err), err);
    CHECK_OK(rdt_buffer_create(gpu.driver, sizeof raw, &input, &err), err);
    CHECK_OK(rdt_buffer_write(gpu.driver, input.address, raw, sizeof raw, gpu.stream, &err), err);
    CHECK_OK(subject_open(&shop, &problem, NULL, &self, &err), err);
    const redtune_value expected = rdt_scalar_from_real(problem.result, wanted);
    CHECK_OK(subject_reduce(&self, input.address, shaped_of(&problem).count, &got, &err), err);
    subject_same(&self, shaped_of(&problem).count, &got, &expected, "of which the first is %g", *x);
    subject_close(&self);
    rdt_buffer_destroy(&input);
}

FACT(infinities_and_zeros_follow_the_rules_of_plain_sums) {
    static const struct {
        double x[4], sum;
    } cases[] = {
        {{INFINITY, 1, 2, 3}, INFINITY},
        {{1, -INFINITY, 1, 1}, -INFINITY},
        {{INFINITY, 1, -INFINITY, 1}, NAN},
        {{1, NAN, INFINITY, 1}, NAN},
        {{FLT_MAX, FLT_MAX, 0, 0}, 2.0 * FLT_MAX}, /* as f32 it is infinite */
        {{-0.0, -0.0, -0.0, -0.0}, 0},
        {{0x1p-149, 0x1p-149, 0, 0}, 0x1p-148},
    };
    const redtune_accuracy compensated = REDTUNE_ACCURACY_COMPENSATED,
                           exact = REDTUNE_ACCURACY_EXACT;
    for (redtune_dtype dtype = REDTUNE_F32; dtype <= REDTUNE_F64; dtype++) {
        for (size_t i = 0; i < sizeof cases / sizeof *cases && !check_state.failed; i++) {
            check_rule(REDTUNE_SUM, dtype, compensated, cases[i].x, 4, cases[i].sum);
            check_rule(REDTUNE_SUM, dtype, exact, cases[i].x, 4, cases[i].sum);
        }
        check_rule(REDTUNE_SUM, dtype, compensated, cases[0].x, 0, 0);
        check_rule(REDTUNE_SUM, dtype, exact, cases[0].x, 0, 0);
        check_rule(REDTUNE_MEAN, dtype, compensated, cases[0].x, 0, NAN);
        check_rule(REDTUNE_NORM2, dtype, compensated, cases[1].x, 4, INFINITY);
    }
}

/* The least subnormal number and the largest one count for what they are, and infinities for all.
 */
FACT(sums_of_narrow_floats_have_their_whole_range) {
    static const struct {
        redtune_dtype dtype;
        double least, largest;
    } of[] = {{REDTUNE_F16, 0x1p-24, 65504}, {REDTUNE_BF16, 0x1p-133, 0x1.fep127}};
    for (size_t i = 0; i < sizeof of / sizeof *of && !check_state.failed; i++) {
        const double s = of[i].least, g = of[i].largest;
        const struct {
            double x[4], sum;
        } cases[] = {
            {{s, 0, 0, 0}, s},
            {{s, s, -s, s}, 2 * s},
            {{128 * s, s, -1, 1}, 129 * s},
            {{g, g, -g, -g}, 0},
            {{g, g, -g, s}, g},
            {{g, g, 0, 0}, 2 * g},
            {{-0.0, -0.0, -0.0, -0.0}, 0},
            {{INFINITY, 1, 2, 3}, INFINITY},
            {{g, g, -INFINITY, g}, -INFINITY},
            {{INFINITY, 1, -INFINITY, 1}, NAN},
            {{1, NAN, INFINITY, 1}, NAN},
        };
        for (size_t k = 0; k < sizeof cases / sizeof *cases && !check_state.failed; k++) {
            check_rule(REDTUNE_SUM, of[i].dtype, REDTUNE_ACCURACY_COMPENSATED, cases[k].x, 4,
                       cases[k].sum);
            check_rule(REDTUNE_SUM, of[i].dtype, REDTUNE_ACCURACY_EXACT, cases[k].x, 4,
                       cases[k].sum);
        }
    }
}

/* In a plain sum the first two are infinite; others are 2^-149 off half a unit. */
FACT(exact_sums_round_once) {
    static const struct {
        double x[4], sum;
    } cases[] = {
        {{FLT_MAX, FLT_MAX, -FLT_MAX, 1}, FLT_MAX},
        {{FLT_MAX, 0x1p102f, 0, 0}, FLT_MAX},
        {{FLT_MAX, 0x1p103f, 0, 0}, INFINITY},
        {{FLT_MAX, 0x1p103f, -0x1p-149f, 0}, FLT_MAX},
        {{0x1p-149f, -0x1p-149f, 0, 0}, 0},
        {{1, 0x1p-24f, 0, 0}, 1},
        {{1, 0x1p-24f, 0x1p-149f, 0}, 1 + 0x1p-23f},
        {{-1, -0x1p-24f, 0x1p-149f, 0}, -1},
        {{1 + 0x1p-23f, 0x1p-24f, -0x1p-149f, 0}, 1 + 0x1p-23f},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases && !check_state.failed; i++)
        check_rule(REDTUNE_SUM, REDTUNE_F32, REDTUNE_ACCURACY_EXACT, cases[i].x, 4, cases[i].sum);
}

int main(int argc, char **argv) { return subject_run(&gpu, &shop, argc, argv); }
