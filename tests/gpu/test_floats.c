/* Facts about floats in every kernel of the covering set on a GPU: errors within the bound that
 * docs/ops.md gives, and NaN, infinity, signed zero and subnormal numbers wherever they stand. */
#include <math.h>
#include "base/random.h"
#include "check.h"
#include "fold.h"
#include "model/scalar.h"
#include "subject.h"
#include "tuner/measure/test_data.h"

static redtune_error err;
static device gpu;

/* ---- the bound ----------------------------------------------------------------------------- */

enum { COUNT_MAX = 1 << 20 };
static uint64_t elements[COUNT_MAX];

/* From -1 to 1. */
static double next_real(rdt_random *random) {
    return ldexp((double)(int64_t)rdt_random_next(random), -63);
}

/* Sums get numbers of several magnitudes. Products get factors near 1 or -1, so that no order takes
 * them out of range. */
static redtune_value draw(const redtune_problem *problem, rdt_random *random) {
    double real = next_real(random);
    if (!rdt_scalar_is_float(problem->dtype))
        return rdt_scalar_from_bits(problem->dtype, rdt_random_next(random));
    if (problem->op == REDTUNE_PROD)
        real = copysign(1 + real / 128, next_real(random));
    else
        real =
            ldexp(real, (int)(rdt_random_next(random) % (problem->dtype == REDTUNE_E4M3 ? 8 : 12)));
    return rdt_scalar_from_real(problem->dtype, real);
}

/* Integer factors would leave every range within a few. */
static bool rounds(const redtune_problem *problem) {
    rdt_result_class class = rdt_op_find(problem->op)->result;
    if (class != RDT_RESULT_SUM && class != RDT_RESULT_MEAN) return false;
    return rdt_scalar_is_float(problem->result) &&
           (problem->op != REDTUNE_PROD || rdt_scalar_is_float(problem->dtype));
}

static void check_bound(subject *self) {
    const uint64_t counts[] = {5, 1000, 70001, COUNT_MAX - 1};
    const size_t tried = device_is_simulated(&gpu) ? 3 : 4;
    rdt_random random = {20261120};
    rdt_buffer input = {0};
    size_t element = self->element_bytes;
    if (!rounds(&self->problem)) return;
    CHECK_OK(rdt_buffer_create(gpu.driver, COUNT_MAX * element, &input, &err), err);
    for (uint64_t i = 0; i < COUNT_MAX; i++) {
        redtune_value each = draw(&self->problem, &random);
        memcpy((char *)elements + i * element, &each, element);
    }
    CHECK_OK(rdt_buffer_write(gpu.driver, input.address, elements, COUNT_MAX * element, gpu.stream,
                              &err),
             err);
    for (size_t i = 0; i < tried; i++)
        for (uint64_t offset = 0; offset < 2; offset++) {
            rdt_reference wanted;
            redtune_value got;
            uint64_t count = counts[i] - offset;
            const char *first = (char *)elements + offset * element;
            CHECK_OK(subject_reduce(self, input.address + offset * element, count, &got, &err),
                     err);
            rdt_reference_reduce(&self->problem, first, count, &wanted);
            double bound =
                rdt_reference_bound(&self->problem, &wanted, count, subject_depth(self, count));
            double value = rdt_scalar_real(self->problem.result, &got, 0);
            check_that(
                fabs(value - wanted.exact) <= bound, __FILE__, __LINE__,
                "%s: of %llu elements it is %.17g, off by %.3g from %.17g; the bound is %.3g",
                self->name, (unsigned long long)count, value, fabs(value - wanted.exact),
                wanted.exact, bound);
        }
    rdt_buffer_destroy(&input);
}

FACT(errors_stay_within_the_bound) { subject_for_each(&gpu, RDT_REFERENCE_OPS, check_bound); }

/* ---- special values ------------------------------------------------------------------------ */

enum { POSITIONS = 256 };

/* Positions around every boundary of a small grid, and others evenly between. */
static uint64_t position(const subject *self, uint64_t i, uint64_t count) {
    const uint64_t vec = (uint64_t)self->vec, tile = self->launch.tile;
    const uint64_t boundaries[] = {0,        vec,         32,        32 * vec,
                                   tile,     2 * tile,    3 * tile,  self->launch.threads,
                                   4 * tile, count - vec, count - 1, tile / 2};
    enum { BOUNDARIES = sizeof boundaries / sizeof *boundaries };
    uint64_t at = i < 3 * BOUNDARIES ? boundaries[i / 3] + i % 3 - 1 : i * count / POSITIONS;
    return at < count ? at : i;
}

/* What the op gives of count elements that are `base` but for the one at index `at`. Any number of
 * bases give what one gives. */
static redtune_value wanted_of(const redtune_problem *problem, const redtune_value *base,
                               const redtune_value *special, uint64_t count, uint64_t at) {
    /* Beside zeros. A fold adds squares, which may be out of range. */
    if (problem->op == REDTUNE_NORM2)
        return rdt_scalar_from_real(problem->result,
                                    fabs(rdt_scalar_real(problem->dtype, special, 0)));
    rdt_fold fold = rdt_fold_begin(problem);
    rdt_reference of_base, of_special;
    rdt_reference_reduce(&fold.piece, base, 1, &of_base);
    rdt_reference_reduce(&fold.piece, special, 1, &of_special);
    rdt_fold_add(&fold, &of_base.value, base, at);
    rdt_fold_add(&fold, &of_special.value, special, 1);
    rdt_fold_add(&fold, &of_base.value, base, count - at - 1);
    return rdt_fold_value(&fold);
}

static void check_special(subject *self, const redtune_value *base, const redtune_value *special,
                          const rdt_one_hot *hot) {
    static redtune_value results[POSITIONS];
    static uint64_t at[POSITIONS];
    const uint64_t count = hot->window;
    const uint64_t positions = device_is_simulated(&gpu) ? 40 : POSITIONS;
    CHECK_OK(rdt_one_hot_fill(hot, base, special, gpu.stream, &err), err);
    for (uint64_t i = 0; i < positions; i++) {
        at[i] = position(self, i, count);
        CHECK_OK(subject_queue(self, rdt_one_hot_window(hot, (int64_t)at[i], i % 3), count, &err),
                 err);
    }
    CHECK_OK(subject_read(self, results, &err), err);
    for (uint64_t i = 0; i < positions; i++) {
        redtune_value wanted = wanted_of(&self->problem, base, special, count, at[i]);
        if (!subject_same(self, count, &results[i], &wanted, "that are %g, but %g at %llu",
                          rdt_scalar_real(self->problem.dtype, base, 0),
                          rdt_scalar_real(self->problem.dtype, special, 0),
                          (unsigned long long)at[i]))
            return;
    }
}

/* Elements of which many give what one gives: the op's neutral one, and where the op is about
 * order, any. */
static size_t list_bases(const redtune_problem *problem, redtune_value out[4]) {
    rdt_result_class class = rdt_op_find(problem->op)->result;
    size_t count = 0;
    out[count++] = rdt_test_data_neutral(problem);
    if (class != RDT_RESULT_SAME && class != RDT_RESULT_ABS && class != RDT_RESULT_INDEX)
        return count;
    out[count++] = rdt_scalar_from_real(problem->dtype, -0.0);
    out[count++] = rdt_scalar_from_real(problem->dtype, (double)NAN);
    out[count++] = rdt_scalar_from_real(problem->dtype, 1);
    return count;
}

static void check_specials(subject *self) {
    redtune_dtype dtype = self->problem.dtype;
    redtune_value bases[4];
    rdt_one_hot hot = {{0}, 0, 0, 0};
    if (!rdt_scalar_is_float(dtype)) return;
    uint64_t subnormal = 1, sign = UINT64_C(1) << (8 * self->element_bytes - 1);
    const redtune_value specials[] = {
        rdt_scalar_from_real(dtype, (double)NAN),
        rdt_scalar_from_real(dtype, (double)INFINITY),
        rdt_scalar_from_real(dtype, (double)-INFINITY),
        rdt_scalar_from_real(dtype, 0),
        rdt_scalar_from_real(dtype, -0.0),
        rdt_scalar_from_bits(dtype, subnormal),
        rdt_scalar_from_bits(dtype, subnormal | sign),
    };
    if (self->launch.blocks_max > 3) self->launch.blocks_max = 3;
    uint64_t count = (device_is_simulated(&gpu) ? 2 : 4) * (uint64_t)self->launch.tile + 16;
    CHECK_OK(rdt_one_hot_create(gpu.driver, dtype, count * self->element_bytes, &hot, &err), err);
    for (size_t i = 0; i < list_bases(&self->problem, bases); i++)
        for (size_t j = 0; j < sizeof specials / sizeof *specials && !check_state.failed; j++)
            check_special(self, &bases[i], &specials[j], &hot);
    rdt_one_hot_destroy(&hot);
}

FACT(special_values_count_wherever_they_stand) {
    subject_for_each(&gpu, RDT_REFERENCE_OPS, check_specials);
}

/* ---- two of them --------------------------------------------------------------------------- */

/* What two special values far apart make of each other: infinities of both signs, NaN and NaN,
 * infinity and zero, zeros of both signs. */
static void check_pairs(subject *self) {
    enum { COUNT = 3001 };
    static const double pairs[][2] = {{(double)INFINITY, (double)-INFINITY},
                                      {(double)NAN, (double)NAN},
                                      {(double)INFINITY, 0},
                                      {(double)-INFINITY, (double)NAN},
                                      {-0.0, 0},
                                      {0, -0.0}};
    static const uint64_t places[][2] = {{0, 3000}, {1, 2}, {31, 32}, {700, 1999}, {2999, 3000}};
    enum { PAIRS = sizeof pairs / sizeof *pairs, PLACES = sizeof places / sizeof *places };
    redtune_dtype dtype = self->problem.dtype;
    redtune_value base = rdt_test_data_neutral(&self->problem);
    size_t element = self->element_bytes;
    rdt_buffer input = {0};
    if (!rdt_scalar_is_float(dtype)) return;
    CHECK_OK(rdt_buffer_create(gpu.driver, COUNT * element, &input, &err), err);
    for (size_t i = 0; i < PAIRS * PLACES; i++) {
        rdt_reference wanted;
        redtune_value got;
        for (uint64_t at = 0; at < COUNT; at++)
            memcpy((char *)elements + at * element, &base, element);
        for (int which = 0; which < 2; which++) {
            redtune_value one = rdt_scalar_from_real(dtype, pairs[i % PAIRS][which]);
            memcpy((char *)elements + places[i / PAIRS][which] * element, &one, element);
        }
        CHECK_OK(rdt_buffer_write(gpu.driver, input.address, elements, COUNT * element, gpu.stream,
                                  &err),
                 err);
        CHECK_OK(subject_reduce(self, input.address, COUNT, &got, &err), err);
        rdt_reference_reduce(&self->problem, elements, COUNT, &wanted);
        if (!subject_same(self, COUNT, &got, &wanted.value, "with %g at %llu and %g at %llu",
                          pairs[i % PAIRS][0], (unsigned long long)places[i / PAIRS][0],
                          pairs[i % PAIRS][1], (unsigned long long)places[i / PAIRS][1]))
            break;
    }
    rdt_buffer_destroy(&input);
}

FACT(special_values_meet_from_afar) { subject_for_each(&gpu, RDT_REFERENCE_OPS, check_pairs); }

int main(int argc, char **argv) { return subject_run(&gpu, NULL, argc, argv); }
