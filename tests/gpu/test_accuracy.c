/* Facts about accurate sums on a GPU: on elements whose sum is tiny beside them, as Kahan,
 * Anderson, and Ogita, Rump and Oishi made them, compensated results are as near to the exact ones
 * as docs/accuracy.md says, and exact ones are the nearest there are, in every layout. */
#include <math.h>
#include "check.h"
#include "ill_conditioned.h"
#include "shaped.h"
#include "subject.h"

enum { ELEMENTS_MAX = 4800, OFFSET_MAX = 3, RESULTS_MAX = 96 };

static redtune_error err;
static device gpu;
static workshop shop;
static rdt_buffer inputs[2], output;
static double elements[2][ELEMENTS_MAX + OFFSET_MAX]; /* as they are in the dtype */

static void write_inputs(const subject *self, uint64_t count) {
    static char raw[(ELEMENTS_MAX + OFFSET_MAX) * sizeof(double)];
    for (int k = 0; k < 2 && !check_state.failed; k++) {
        for (uint64_t i = 0; i < count; i++) {
            const redtune_value each = rdt_scalar_from_real(self->problem.dtype, elements[k][i]);
            memcpy(raw + i * self->element_bytes, each.bytes, self->element_bytes);
        }
        CHECK_OK(rdt_buffer_write(gpu.driver, inputs[k].address, raw, count * self->element_bytes,
                                  gpu.stream, &err),
                 err);
    }
}

/* ---- results --------------------------------------------------------------------------------- */

typedef struct wanted {
    rational sum;
    long double magnitude; /* the sum of the magnitudes of what is added */
    uint64_t count;
} wanted;

static void add_to(wanted *self, redtune_op op, double x, double y) {
    const bool square = op == REDTUNE_SUMSQ || op == REDTUNE_NORM2;
    if (op == REDTUNE_SUMABS) x = fabs(x);
    rational_add(&self->sum, x, square ? x : op == REDTUNE_DOT ? y : 1);
    self->magnitude += fabsl((long double)x * (square ? x : op == REDTUNE_DOT ? y : 1));
    self->count++;
}

/* The exact result, and how far docs/accuracy.md lets the result be from it where no element passes
 * through more than depth additions. */
static long double exact_of(const redtune_problem *problem, const wanted *self, double depth,
                            long double *bound) {
    const bool wide = rdt_problem_accumulator(problem) == REDTUNE_F64;
    const long double u = wide ? 0x1p-53L : 0x1p-24L, n = (long double)self->count;
    const long double least = wide ? 0x1p-1074L : 0x1p-149L, d = depth + 1;
    const long double lost = 3 * d * d * u * u * self->magnitude + n * least;
    long double exact = rational_real(&self->sum);
    *bound = 2 * u * fabsl(exact) + lost;
    if (problem->op == REDTUNE_MEAN) {
        exact /= n;
        *bound /= n;
    } else if (problem->op == REDTUNE_NORM2) {
        exact = sqrtl(exact);
        *bound = exact > 0 ? 2 * u * exact + lost / exact : sqrtl(lost);
    }
    const int narrow = problem->result == REDTUNE_F16    ? 11
                       : problem->result == REDTUNE_BF16 ? 8
                                                         : 0;
    if (narrow) *bound += ldexpl(fabsl(exact) + *bound, -narrow);
    return exact;
}

/* Draws the set for each result of the extents. */
static void draw_results(const redtune_problem *problem, set kind, const rdt_extents *extents,
                         uint64_t offset, wanted *right, rdt_random *random) {
    static double column[2][ELEMENTS_MAX];
    memset(elements, 0, sizeof elements);
    for (uint64_t r = 0; r < extents->outer * extents->inner; r++) {
        const uint64_t first =
            offset + r / extents->inner * extents->outer_step + r % extents->inner;
        right[r] = (wanted){.count = 0};
        draw_set(problem->dtype, kind, problem->op == REDTUNE_DOT, extents->count, column[0],
                 column[1], random);
        for (uint64_t e = 0; e < extents->count; e++) {
            for (int k = 0; k < 2; k++) elements[k][first + e * extents->step] = column[k][e];
            add_to(&right[r], problem->op, column[0][e], column[1][e]);
        }
    }
}

static unsigned char raw_results[RESULTS_MAX * sizeof(double)];
static wanted right[RESULTS_MAX];
/* Draws the set, reduces it and reads the results. */
static void run_set(subject *self, set kind, const rdt_extents *extents, uint64_t offset,
                    rdt_random *random) {
    const uint64_t results = extents->outer * extents->inner;
    const rdt_operands operands = {
        .input = inputs[0].address + offset * self->element_bytes,
        .extents = *extents,
        .output = output.address,
        .scratch = self->scratch.address,
        .given.input = inputs[1].address + offset * self->element_bytes,
    };
    draw_results(&self->problem, kind, extents, offset, right, random);
    write_inputs(self, ELEMENTS_MAX + OFFSET_MAX);
    CHECK_OK(rdt_kernel_start(self->kernel, &self->launch, &operands, gpu.stream, &err), err);
    CHECK_OK(rdt_buffer_read(gpu.driver, raw_results, output.address,
                             results * redtune_dtype_bytes(self->problem.result), gpu.stream, &err),
             err);
    CHECK_OK(subject_check_scratch(self, &err), err);
}

/* The error of the result that is furthest off, as a multiple of the bound. */
static long double measure(subject *self, set kind, const rdt_extents *extents, uint64_t offset,
                           rdt_random *random) {
    const redtune_problem *problem = &self->problem;
    const uint64_t results = extents->outer * extents->inner;
    const double depth =
        results == 1 ? subject_depth(self, extents->count) : (double)extents->count;
    long double worst = 0;
    run_set(self, kind, extents, offset, random);
    for (uint64_t r = 0; r < results; r++) {
        long double bound;
        const long double exact = exact_of(problem, &right[r], depth, &bound);
        const double got = rdt_scalar_real(problem->result, raw_results, r);
        const long double apart = fabsl((long double)got - exact) / bound;
        if (!(apart <= worst)) worst = apart;
    }
    return worst;
}

static void check_rounded(subject *self, set kind, const rdt_extents *extents, uint64_t offset,
                          rdt_random *random) {
    const redtune_dtype dtype = self->problem.result;
    const size_t bytes = redtune_dtype_bytes(dtype);
    run_set(self, kind, extents, offset, random);
    for (uint64_t r = 0; r < extents->outer * extents->inner; r++) {
        const redtune_value nearest = rational_round(&right[r].sum, dtype);
        redtune_value got = {.u64 = 0};
        memcpy(got.bytes, raw_results + r * bytes, bytes);
        check_that(rdt_scalar_same(dtype, &got, &nearest), __FILE__, __LINE__,
                   "%s: of %s's set, result %llu is %.17g and should be %.17g", self->name,
                   set_names[kind], (unsigned long long)r, rdt_scalar_real(dtype, &got, 0),
                   rdt_scalar_real(dtype, &nearest, 0));
    }
}

/* ---- problems and points --------------------------------------------------------------------- */

static const redtune_problem problems[] = {
    {.op = REDTUNE_SUM, .dtype = REDTUNE_F32},
    {.op = REDTUNE_SUM, .dtype = REDTUNE_F16},
    {.op = REDTUNE_SUM, .dtype = REDTUNE_BF16},
    {.op = REDTUNE_SUM, .dtype = REDTUNE_F64},
    {.op = REDTUNE_SUM, .dtype = REDTUNE_F32, .result = REDTUNE_F64},
    {.op = REDTUNE_SUM, .dtype = REDTUNE_F16, .result = REDTUNE_F16},
    {.op = REDTUNE_SUM, .dtype = REDTUNE_BF16, .result = REDTUNE_BF16},
    {.op = REDTUNE_SUMABS, .dtype = REDTUNE_F32},
    {.op = REDTUNE_SUMSQ, .dtype = REDTUNE_F32},
    {.op = REDTUNE_SUMSQ, .dtype = REDTUNE_BF16},
    {.op = REDTUNE_MEAN, .dtype = REDTUNE_F32},
    {.op = REDTUNE_MEAN, .dtype = REDTUNE_F64},
    {.op = REDTUNE_NORM2, .dtype = REDTUNE_F32},
    {.op = REDTUNE_NORM2, .dtype = REDTUNE_F64},
    {.op = REDTUNE_DOT, .dtype = REDTUNE_F32},
    {.op = REDTUNE_DOT, .dtype = REDTUNE_F64},
    {.op = REDTUNE_DOT, .dtype = REDTUNE_F16},
    {.op = REDTUNE_DOT, .dtype = REDTUNE_F32, .result = REDTUNE_F64},
};
enum { PROBLEMS = sizeof problems / sizeof *problems };

/* A point of any family that the problem may have. */
static rdt_point draw_point(rdt_case at, rdt_random *random) {
    const rdt_spaces *spaces = rdt_codegen_spaces(shop.codegen);
    rdt_point point;
    do {
        const int family = (int)(rdt_random_next(random) % (uint64_t)spaces->count);
        const rdt_space *space = &spaces->space[family];
        point = (rdt_point){.family = family};
        for (int i = 0; i < space->param_count; i++)
            point.value[i] =
                space->param[i]
                    .value[rdt_random_next(random) % (uint64_t)space->param[i].value_count];
    } while (rdt_rules_check(shop.codegen, at, &point, NULL));
    return point;
}

/* A kernel on the sets of those extents. */
static void check_sets(subject *self, const rdt_extents *extents, rdt_random *random) {
    const bool exact = self->problem.accuracy == REDTUNE_ACCURACY_EXACT;
    const rdt_extents complete = rdt_launch_complete(*extents);
    for (int kind = 0; kind < SETS + exact && !check_state.failed; kind++) {
        const uint64_t offset = rdt_random_next(random) % (OFFSET_MAX + 1);
        if (exact) {
            check_rounded(self, (set)kind, &complete, offset, random);
            continue;
        }
        const long double worst = measure(self, (set)kind, &complete, offset, random);
        check_that(worst <= 1, __FILE__, __LINE__, "%s: %s's set is off by %.3Lg times the bound",
                   self->name, set_names[kind], worst);
    }
}

/* Extents of one layout, up to the first without a count, whose kernels are right for all of them,
 * and how many kernels are drawn for each problem. */
enum { EXTENTS_MAX = 4 };
typedef struct layout {
    rdt_extents extents[EXTENTS_MAX];
    int drawn, drawn_simulated;
} layout;

/* How many kernels of the fact there were: parts share them out by their number in all of it. */
static size_t numbered;

/* The kernel of that point on all extents, or the default of the first ones on these. */
static int check_kernel(const redtune_problem *problem, const rdt_point *point,
                        const rdt_extents *extents, rdt_random *random) {
    rdt_random own = {rdt_random_next(random)};
    subject self;
    if (!subject_is_of_part(numbered++) || subject_is_late()) return 0;
    const redtune_status status = subject_open(&shop, problem, point, &self, &err);
    check_that(!status, __FILE__, __LINE__, "%s", err.message);
    if (status) return 0;
    const bool wanted = subject_is_wanted(&shop, &self.point);
    for (size_t k = 0; wanted && k < EXTENTS_MAX && extents[k].count; k++) {
        check_sets(&self, &extents[k], &own);
        if (!point) break;
    }
    subject_close(&self);
    return wanted;
}

static redtune_status problem_of(redtune_problem problem, redtune_accuracy accuracy,
                                 const rdt_extents *extents, redtune_problem *out) {
    problem.accuracy = accuracy;
    RESHAPE(&problem, count, extents->count);
    RESHAPE(&problem, outer, extents->outer);
    RESHAPE(&problem, inner, extents->inner);
    RESHAPE(&problem, outer_step, extents->outer_step);
    return rdt_problem_resolve(&problem, out, &err);
}

/* Of every problem or, simulated, of one of so many. */
static void check_layout(redtune_accuracy accuracy, const layout *at, size_t one_of) {
    const bool simulated = device_is_simulated(&gpu);
    rdt_random random = {at->extents[0].count};
    int done = 0;
    size_t count = 0;
    while (count < EXTENTS_MAX && at->extents[count].count) count++;
    numbered = 0;
    for (size_t i = 0; i < PROBLEMS && !check_state.failed; i++) {
        if (simulated && i % one_of) continue;
        if (accuracy == REDTUNE_ACCURACY_EXACT && problems[i].op != REDTUNE_SUM) continue;
        for (size_t k = 0; k < count; k++) {
            redtune_problem problem;
            CHECK_OK(problem_of(problems[i], accuracy, &at->extents[k], &problem), err);
            done += check_kernel(&problem, NULL, &at->extents[k], &random);
        }
        for (int n = 0; n < (simulated ? at->drawn_simulated : at->drawn); n++) {
            redtune_problem problem;
            CHECK_OK(problem_of(problems[i], accuracy, &at->extents[(size_t)n % count], &problem),
                     err);
            const rdt_case drawn = {&problem, &gpu.context->facts};
            const rdt_point point = draw_point(drawn, &random);
            done += check_kernel(&problem, &point, at->extents, &random);
        }
    }
    printf("%s: %d kernels\n", check_state.fact, done);
    fflush(stdout);
}

static const layout whole = {{{.count = ELEMENTS_MAX}, {.count = 77}}, 12, 3};
static const layout rows = {
    {{.count = 97, .outer = 40}, {.count = 1500, .outer = 3, .outer_step = 1504}, {4, 90}}, 12, 2};
static const layout columns = {{{64, 1, 72}, {50, 3, 31}, {3, 1, 96}}, 12, 2};

/* Else these sets would show nothing. */
FACT(plain_sums_are_beyond_the_bound) {
    const redtune_problem plain = redtune_problem_whole(REDTUNE_SUM, REDTUNE_F32, 4096);
    const rdt_extents extents = rdt_launch_complete((rdt_extents){.count = 4096});
    redtune_problem problem;
    subject self;
    rdt_random random = {1};
    CHECK_OK(rdt_problem_resolve(&plain, &problem, &err), err);
    CHECK_OK(subject_open(&shop, &problem, NULL, &self, &err), err);
    for (int kind = 0; kind < PAIRS; kind++) {
        long double most = 0;
        for (int i = 0; i < 4; i++) {
            const long double worst = measure(&self, (set)kind, &extents, 0, &random);
            if (worst > most) most = worst;
        }
        check_that(most > 8, __FILE__, __LINE__, "%s's set: %.3Lg", set_names[kind], most);
    }
    subject_close(&self);
}

FACT(whole_arrays_are_within_the_bound) { check_layout(REDTUNE_ACCURACY_COMPENSATED, &whole, 1); }

FACT(rows_are_within_the_bound) { check_layout(REDTUNE_ACCURACY_COMPENSATED, &rows, 2); }

FACT(columns_are_within_the_bound) { check_layout(REDTUNE_ACCURACY_COMPENSATED, &columns, 2); }

FACT(exact_sums_of_whole_arrays_are_the_nearest) {
    check_layout(REDTUNE_ACCURACY_EXACT, &whole, 1);
}

FACT(exact_sums_of_rows_are_the_nearest) { check_layout(REDTUNE_ACCURACY_EXACT, &rows, 1); }

/* $RDT_TEST_SETS of f32 and of f64. */
FACT(exact_sums_of_many_sets_are_the_nearest) {
    const redtune_dtype dtypes[] = {REDTUNE_F32, REDTUNE_F64};
    const rdt_extents extents = rdt_launch_complete((rdt_extents){.count = 97, .outer = 40});
    const char *sets = getenv("RDT_TEST_SETS");
    const uint64_t most = sets ? strtoull(sets, NULL, 10) : 200;
    rdt_random random = {7};
    for (int i = 0; i < 2 && !check_state.failed; i++) {
        redtune_problem problem =
            PROBLEM(.op = REDTUNE_SUM, .dtype = dtypes[i], .count = extents.count,
                    .outer = extents.outer, .accuracy = REDTUNE_ACCURACY_EXACT);
        subject self;
        CHECK_OK(rdt_problem_resolve(&problem, &problem, &err), err);
        CHECK_OK(subject_open(&shop, &problem, NULL, &self, &err), err);
        for (uint64_t done = 0; done < most && !check_state.failed; done += extents.outer)
            check_rounded(&self, (set)(rdt_random_next(&random) % (SETS + 1)), &extents,
                          rdt_random_next(&random) % (OFFSET_MAX + 1), &random);
        subject_close(&self);
    }
}

int main(int argc, char **argv) {
    redtune_status status = device_open(&gpu, &err);
    if (status) fprintf(stderr, "no GPU: %s\n", err.message);
    for (int k = 0; !status && k < 2; k++)
        status = rdt_buffer_create(gpu.driver, sizeof elements[k], &inputs[k], &err);
    if (!status)
        status = rdt_buffer_create(gpu.driver, RESULTS_MAX * sizeof(double), &output, &err);
    if (!status) status = workshop_open(&gpu, &shop, &err);
    if (!gpu.context) check_missing = "there is no GPU";
    int rc = check_run(argc, argv);
    if (gpu.context) workshop_close(&shop);
    for (int k = 0; k < 2; k++) rdt_buffer_destroy(&inputs[k]);
    rdt_buffer_destroy(&output);
    device_close(&gpu);
    return rc;
}
