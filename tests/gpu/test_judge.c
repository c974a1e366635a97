/* Facts about the judge on a GPU: for every op, dtype and result that there are, the naive kernel
 * gives what the host's reference gives. Candidates are held against the one, and the one against
 * the other. In fixed order its bits are those of that order's reference. */
#include <math.h>
#include "base/random.h"
#include "check.h"
#include "exact.h"
#include "model/scalar.h"
#include "order_reference.h"
#include "subject.h"
#include "tuner/measure/judge.h"

enum { PERIOD = 4801, LONG = 20011, QUESTIONS = 64 };

static redtune_error err;
static device gpu;
static workshop shop;

static redtune_status make(void *user, const redtune_problem *problem, const rdt_point *point,
                           const rdt_launch *launch, rdt_kernel **out, redtune_error *failure) {
    (void)user;
    return rdt_builder_make(shop.builder, gpu.context, problem, point, launch, out, failure);
}

/* A judge with a period of elements, here and on the GPU. */
typedef struct bench {
    redtune_problem problem;
    rdt_judge *judge;
    rdt_judged judged;
    rdt_buffer buffer;
    char *elements; /* repeated over LONG elements and one period */
    size_t bytes;   /* of an element */
} bench;

static redtune_status put(bench *self, const void *period) {
    for (size_t i = 0; i < LONG + PERIOD; i++)
        memcpy(self->elements + i * self->bytes, (const char *)period + i % PERIOD * self->bytes,
               self->bytes);
    rdt_judge_forget(&self->judged);
    redtune_status status = rdt_buffer_write(gpu.driver, self->buffer.address, period,
                                             PERIOD * self->bytes, gpu.stream, &err);
    return status ? status
                  : rdt_judge_prepare(self->judge, self->buffer.address, 0, PERIOD, &self->judged,
                                      &err);
}

static const uint64_t windows[][2] = {
    {0, 0},     {7, 0},        {0, 1},     {4800, 1},       {3, 63},     {0, 64},
    {64, 64},   {1, 130},      {60, 4096}, {0, PERIOD - 1}, {0, PERIOD}, {1, PERIOD},
    {4800, 70}, {4736, 10000}, {17, LONG}, {0, 2 * PERIOD}, {0, LONG},   {4096, 705},
};
enum { WINDOWS = sizeof windows / sizeof *windows };

/* Each window as it is, and with an element planted here and there. */
static void check_windows(bench *self, const redtune_value *planted) {
    rdt_question questions[QUESTIONS];
    rdt_answer answers[QUESTIONS];
    redtune_value saved;
    size_t count = 0;
    for (size_t i = 0; i < WINDOWS; i++)
        for (uint64_t k = 0; k < 3; k++) {
            const uint64_t at = k * (windows[i][1] - 1) / 2;
            questions[count] = rdt_judge_question(&self->judged, windows[i][0], windows[i][1]);
            if (k && windows[i][1]) rdt_judge_plant(&questions[count], 0, at, planted);
            count++;
        }
    CHECK_OK(rdt_judge_answer(self->judge, questions, count, answers, &err), err);
    for (size_t i = 0; i < count; i++) {
        rdt_reference wanted;
        const rdt_question *each = &questions[i];
        char *from = self->elements + each->first * self->bytes;
        const bool plants = each->planted_at[0] < each->count;
        char *place = plants ? from + each->planted_at[0] * self->bytes : NULL;
        if (plants) memcpy(&saved, place, self->bytes);
        if (plants) memcpy(place, planted, self->bytes);
        rdt_reference_reduce(&self->problem, from, each->count, &wanted);
        if (plants) memcpy(place, &saved, self->bytes);
        check_that(rdt_scalar_same(self->problem.result, &answers[i].value[0], &wanted.value),
                   __FILE__, __LINE__,
                   "%s of %s into %s: %llu from %llu, planted at %lld, is wrong",
                   redtune_op_name(self->problem.op), redtune_dtype_name(self->problem.dtype),
                   redtune_dtype_name(self->problem.result), (unsigned long long)each->count,
                   (unsigned long long)each->first, (long long)each->planted_at[0]);
    }
}

static void check_test_data(bench *self) {
    rdt_test_data *data = NULL;
    const redtune_value decider = rdt_test_data_decider(&self->problem);
    CHECK_OK(rdt_test_data_create(&self->problem, LONG + PERIOD, &data, &err), err);
    CHECK_OK(put(self, data->elements), err);
    check_windows(self, &decider);
    rdt_test_data_destroy(data);
}

/* Whether the result is the same to the bit whatever the elements and their order. */
static bool is_exact(const redtune_problem *problem) {
    rdt_combines combines = rdt_op_find(problem->op)->combines;
    return (combines != RDT_COMBINES_SUM && combines != RDT_COMBINES_PRODUCT) ||
           !(rdt_scalar_is_float(rdt_problem_accumulator(problem)) ||
             rdt_scalar_is_float(problem->result));
}

/* Zeros of both signs, infinities, ties and, where nan is, a few NaN; the ends of integers. */
static void check_special(bench *self, bool nan) {
    static char period[PERIOD * 8];
    const double reals[] = {INFINITY, -INFINITY, 0.0, -0.0, 1.0, -1.0, 2.5, -4096.0};
    const redtune_dtype dtype = self->problem.dtype;
    redtune_value planted;
    uint64_t state = 88172645463325252u;
    if (!is_exact(&self->problem)) return;
    for (size_t i = 0; i < PERIOD; i++) {
        state ^= state << 13, state ^= state >> 7, state ^= state << 17;
        const uint64_t edges[] = {UINT64_MAX, 0, 1, UINT64_MAX / 2, UINT64_MAX / 2 + 1, state};
        double real = nan && i % 1201 == 1200 ? (double)NAN : reals[state >> 20 & 7];
        redtune_value each = rdt_scalar_is_float(dtype)
                                 ? rdt_scalar_from_real(dtype, real)
                                 : rdt_scalar_from_bits(dtype, edges[(state >> 20) % 6]);
        memcpy(period + i * self->bytes, &each, self->bytes);
    }
    planted = rdt_scalar_is_float(dtype) ? rdt_scalar_from_real(dtype, (double)NAN)
                                         : rdt_scalar_from_bits(dtype, 1);
    CHECK_OK(put(self, period), err);
    check_windows(self, &planted);
}

static redtune_status bench_open(const redtune_problem *problem, bench *out) {
    const rdt_maker maker = {shop.codegen, make, NULL};
    *out = (bench){.problem = *problem, .bytes = redtune_dtype_bytes(problem->dtype)};
    out->elements = malloc((LONG + PERIOD) * out->bytes);
    if (!out->elements) return rdt_fail_memory(&err, (LONG + PERIOD) * out->bytes);
    redtune_status status =
        rdt_judge_open(gpu.context, problem, &maker, gpu.stream, &out->judge, &err);
    return status ? status : rdt_buffer_create(gpu.driver, PERIOD * out->bytes, &out->buffer, &err);
}

static void bench_close(bench *self) {
    rdt_judge_forget(&self->judged);
    rdt_judge_close(self->judge);
    rdt_buffer_destroy(&self->buffer);
    free(self->elements);
}

static void check_problem(const redtune_problem *problem) {
    bench self;
    CHECK_OK(bench_open(problem, &self), err);
    check_test_data(&self);
    check_special(&self, false);
    if (rdt_scalar_is_float(problem->dtype)) check_special(&self, true);
    bench_close(&self);
}

FACT(answers_are_those_of_the_reference) {
    size_t tried = 0;
    CHECK_OK(workshop_open(&gpu, &shop, &err), err);
    for (int op = REDTUNE_SUM; op < RDT_REFERENCE_OPS; op++)
        for (int dtype = REDTUNE_I8; dtype < REDTUNE_DTYPE_END; dtype++)
            for (int result = REDTUNE_I8; result < REDTUNE_DTYPE_END && !check_state.failed;
                 result++) {
                redtune_problem problem = {(redtune_op)op, (redtune_dtype)dtype,
                                           (redtune_dtype)result};
                if (rdt_problem_resolve(&problem, &problem, NULL)) continue;
                check_problem(&problem);
                tried++;
            }
    printf("%s: %zu kernels\n", check_state.fact, tried);
    workshop_close(&shop);
}

/* ---- the fixed order ------------------------------------------------------------------------- */

enum { SHORT = 32 };

/* After the windows above short ones of odd counts. There a fused operation in place of a product
 * and a sum shows in some variance of f64: of counts that are powers of two no product is rounded,
 * and in a long window what one loses is lost again. */
static rdt_question ordered_window(const bench *self, size_t i) {
    const uint64_t number = i - (i < WINDOWS ? 0 : WINDOWS);
    return i < WINDOWS ? rdt_judge_question(&self->judged, windows[i][0], windows[i][1])
                       : rdt_judge_question(&self->judged, 151 * number, 2 * number + 3);
}

/* Each window, with an element planted in the middle of every other one. */
static void check_ordered_windows(bench *self) {
    enum { ASKED = WINDOWS + SHORT };
    const redtune_value planted = rdt_scalar_from_real(self->problem.dtype, 3.25);
    rdt_question questions[ASKED];
    rdt_answer answers[ASKED];
    for (size_t i = 0; i < ASKED; i++) {
        questions[i] = ordered_window(self, i);
        if (i % 2) rdt_judge_plant(&questions[i], 0, questions[i].count / 2, &planted);
    }
    CHECK_OK(rdt_judge_answer(self->judge, questions, ASKED, answers, &err), err);
    for (size_t i = 0; i < ASKED; i++) {
        redtune_value wanted[2], saved;
        const uint64_t first = questions[i].first, count = questions[i].count;
        char *place = self->elements + (first + count / 2) * self->bytes;
        memcpy(&saved, place, self->bytes);
        if (i % 2) memcpy(place, &planted, self->bytes);
        rdt_order_reference_reduce(&self->problem, self->elements + first * self->bytes, NULL,
                                   count, wanted);
        memcpy(place, &saved, self->bytes);
        check_that(rdt_scalar_same(self->problem.result, &answers[i].value[0], &wanted[0]),
                   __FILE__, __LINE__, "%s of %s: %llu from %llu in fixed order is wrong",
                   redtune_op_name(self->problem.op), redtune_dtype_name(self->problem.dtype),
                   (unsigned long long)count, (unsigned long long)first);
    }
}

/* Elements of several magnitudes and both signs; factors near 1 or -1, whose product stays in
 * range. */
static void draw_period(const redtune_problem *problem, uint64_t period[PERIOD]) {
    const size_t bytes = redtune_dtype_bytes(problem->dtype);
    const uint64_t powers = problem->dtype == REDTUNE_E4M3 ? 8 : 12; /* of two, below its largest */
    rdt_random random = {20261123 + (uint64_t)problem->op * 100 + (uint64_t)problem->dtype};
    for (size_t i = 0; i < PERIOD; i++) {
        const double real = ldexp((double)(int64_t)rdt_random_next(&random), -63);
        const redtune_value each = rdt_scalar_from_real(
            problem->dtype, problem->op == REDTUNE_PROD
                                ? copysign(1 + real / 256, real)
                                : ldexp(real, (int)(rdt_random_next(&random) % powers)));
        memcpy((char *)period + i * bytes, &each, bytes);
    }
}

FACT(answers_have_the_fixed_order) {
    static uint64_t period[PERIOD];
    static const redtune_accuracy accuracies[] = {REDTUNE_ACCURACY_PLAIN,
                                                  REDTUNE_ACCURACY_COMPENSATED};
    CHECK_OK(workshop_open(&gpu, &shop, &err), err);
    for (int op = REDTUNE_SUM; op < REDTUNE_DOT /* one input */; op++)
        for (int dtype = REDTUNE_F16; dtype < REDTUNE_DTYPE_END; dtype++)
            for (int k = 0; k < 2 && !check_state.failed; k++) {
                redtune_problem problem = {.op = (redtune_op)op,
                                           .dtype = (redtune_dtype)dtype,
                                           .order = REDTUNE_ORDER_FIXED,
                                           .accuracy = accuracies[k]};
                bench self;
                if (!rdt_order_reference_has(problem.op) ||
                    rdt_problem_resolve(&problem, &problem, NULL))
                    continue;
                draw_period(&problem, period);
                CHECK_OK(bench_open(&problem, &self), err);
                CHECK_OK(put(&self, period), err);
                check_ordered_windows(&self);
                bench_close(&self);
            }
    workshop_close(&shop);
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* The nodes of the longest period that is asked for, and what they take of the GPU. */
FACT(the_judge_stays_within_its_bytes) {
    redtune_problem problem = {REDTUNE_SUM, REDTUNE_U8};
    rdt_judge *judge = NULL;
    rdt_judged judged = {0};
    rdt_buffer buffer = {0};
    CHECK_OK(workshop_open(&gpu, &shop, &err), err);
    const rdt_maker maker = {shop.codegen, make, NULL};
    CHECK_OK(rdt_problem_resolve(&problem, &problem, &err), err);
    CHECK_OK(rdt_buffer_create(gpu.driver, RDT_JUDGE_PERIOD_MAX, &buffer, &err), err);
    CHECK(!gpu.driver->memset_d8_async(buffer.address, 1, buffer.bytes, gpu.stream));
    CHECK_OK(rdt_judge_open(gpu.context, &problem, &maker, gpu.stream, &judge, &err), err);
    CHECK_OK(rdt_judge_prepare(judge, buffer.address, 0, RDT_JUDGE_PERIOD_MAX, &judged, &err), err);
    CHECK(3 * judged.nodes.bytes + judge->questions.bytes + judge->answers.bytes <=
          rdt_judge_bytes(&problem));
    rdt_judge_forget(&judged);
    rdt_judge_close(judge);
    rdt_buffer_destroy(&buffer);
    workshop_close(&shop);
}

int main(int argc, char **argv) { return subject_run(&gpu, NULL, argc, argv); }
