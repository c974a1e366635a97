/* Facts about how the evaluator verifies rows and columns: right kernels are good at every shape,
 * and each planted fault is found. */
#include "redtune/keys.h"
#include "shapes.h"
#include "tuner/measure/verify_shapes.h"

static const char right_sum[] = ADDS KERNEL(ALL, COUNT, OUTER, INNER, PLACE, PLUS, "");
static const char right_max[] = FINDS_MOST KERNEL(ALL, COUNT, OUTER, INNER, PLACE, MOST, "");

/* What is wrong, in a sum, and where the largest is looked for. */
typedef struct fault {
    const char *what, *sum, *max;
} fault;

#define FAULT(what, results, count, o, i, place, more)                                             \
    {                                                                                              \
        what, ADDS KERNEL(results, count, o, i, place, PLUS, more),                                \
            FINDS_MOST KERNEL(results, count, o, i, place, MOST, more)                             \
    }

static const fault faults[] = {
    FAULT("drops the last result", "all - 1", COUNT, OUTER, INNER, PLACE, ""),
    FAULT("drops the last of many results", "all - (all > 4)", COUNT, OUTER, INNER, PLACE, ""),
    FAULT("takes an element of the gap", ALL, COUNT " + (e.outer_step > e.count * e.step)", OUTER,
          INNER, PLACE, ""),
    FAULT("takes the element before", ALL, COUNT, OUTER, INNER,
          "k == 0 && e.count > 9 && i == 0 ? -1 : " PLACE, ""),
    FAULT("writes one result too many", ALL, COUNT, OUTER, INNER, PLACE,
          "if (!r) output[all] = 0;"),
    FAULT("writes before the first result", ALL, COUNT, OUTER, INNER, PLACE,
          "if (!r) output[-1] = 0;"),
    FAULT("takes its neighbour's", ALL, COUNT, OUTER, INNER, PLACE " + (all > 20 && r % 32 == 7)",
          ""),
    FAULT("leaves out the last of odd counts", ALL, COUNT " - (e.count > 2 && e.count % 2)", OUTER,
          INNER, PLACE, ""),
    FAULT("leaves out the last of long ones", ALL, COUNT " - (e.count > 30)", OUTER, INNER, PLACE,
          ""),
    FAULT("takes the usual steps", ALL, COUNT, OUTER, INNER,
          "o * e.count * e.inner + k * e.inner + i", ""),
    FAULT("swaps outer and inner", ALL, COUNT, "r % e.outer", "r / e.outer",
          "o * e.outer_step + k * e.step + i", ""),
    FAULT("leaves a word of scratch", ALL, COUNT, OUTER, INNER, PLACE, "if (!r) scratch[40] = 1;"),
};
enum { FAULTS = sizeof faults / sizeof *faults };

static void check_good(bench *self, const redtune_problem *problem) {
    char text[RDT_PROBLEM_TEXT_BYTES];
    CHECK_OK(bench_set(self, problem), err);
    CHECK_OK(bench_verify(self), err);
    rdt_problem_describe(&self->problem, text);
    check_that(self->verdict.outcome == RDT_OUTCOME_GOOD, __FILE__, __LINE__, "%s: %s", text,
               self->verdict.cause);
}

static void check_shapes(redtune_op op, redtune_dtype dtype, const rdt_extents *extents,
                         size_t count) {
    redtune_problem problems[COLUMNS] = {{.op = op}};
    bench self = {.source = NULL};
    for (size_t i = 0; i < count; i++) problems[i] = shape(op, dtype, extents[i]);
    CHECK_OK(bench_open(&self, problems, count), err);
    for (size_t i = 0; i < count && !check_state.failed; i++) check_good(&self, &problems[i]);
    /* And once more, after others. */
    if (!check_state.failed) check_good(&self, &problems[0]);
    bench_close(&self);
}

static const struct {
    redtune_op op;
    redtune_dtype dtype;
} classes[] = {
    {REDTUNE_SUM, REDTUNE_F32},    {REDTUNE_MAX, REDTUNE_F16},  {REDTUNE_ARGMIN, REDTUNE_F32},
    {REDTUNE_ARGMAX, REDTUNE_I8},  {REDTUNE_MEAN, REDTUNE_F64}, {REDTUNE_PROD, REDTUNE_F32},
    {REDTUNE_NORM2, REDTUNE_BF16}, {REDTUNE_XOR, REDTUNE_U16},  {REDTUNE_ANY, REDTUNE_U8},
};
enum { CLASSES = sizeof classes / sizeof *classes };

/* ---- verifying ------------------------------------------------------------------------------- */

FACT(right_kernels_of_rows_are_good) {
    for (size_t i = 0; i < CLASSES && !check_state.failed; i++)
        check_shapes(classes[i].op, classes[i].dtype, rows, ROWS);
}

FACT(right_kernels_of_columns_are_good) {
    for (size_t i = 0; i < CLASSES && !check_state.failed; i++)
        check_shapes(classes[i].op, classes[i].dtype, columns, COLUMNS);
}

static rdt_verdict verify_source(const char *source, redtune_op op, rdt_extents extents) {
    bench self = {.source = source, .verdict = {.outcome = RDT_OUTCOME_COUNT}};
    const redtune_problem problem = shape(op, REDTUNE_F32, extents);
    if (bench_open(&self, &problem, 1) || bench_verify(&self))
        rdt_text_copy(self.verdict.cause, sizeof self.verdict.cause, err.message);
    bench_close(&self);
    return self.verdict;
}

static void check_source(const char *source, redtune_op op, rdt_extents extents,
                         rdt_outcome outcome, const char *what) {
    const rdt_verdict verdict = verify_source(source, op, extents);
    check_that(verdict.outcome == outcome, __FILE__, __LINE__, "%s of %llu x %llu x %llu: %s, %s",
               redtune_op_name(op), (unsigned long long)extents.outer,
               (unsigned long long)extents.count, (unsigned long long)extents.inner, what,
               verdict.cause);
}

/* The kernels in which the faults are planted. */
FACT(kernels_without_a_fault_are_good) {
    check_source(right_sum, REDTUNE_SUM, rows[0], RDT_OUTCOME_GOOD, "right");
    check_source(right_sum, REDTUNE_SUM, columns[1], RDT_OUTCOME_GOOD, "right");
    check_source(right_max, REDTUNE_MAX, rows[1], RDT_OUTCOME_GOOD, "right");
    check_source(right_max, REDTUNE_MAX, columns[2], RDT_OUTCOME_GOOD, "right");
}

FACT(every_fault_of_rows_is_found) {
    for (size_t i = 0; i < FAULTS; i++) {
        if (strstr(faults[i].what, "swaps")) continue; /* there is no inner */
        check_source(faults[i].sum, REDTUNE_SUM, rows[0], RDT_OUTCOME_WRONG, faults[i].what);
        check_source(faults[i].max, REDTUNE_MAX, rows[0], RDT_OUTCOME_WRONG, faults[i].what);
    }
}

FACT(every_fault_of_columns_is_found) {
    for (size_t i = 0; i < FAULTS; i++) {
        check_source(faults[i].sum, REDTUNE_SUM, columns[0], RDT_OUTCOME_WRONG, faults[i].what);
        check_source(faults[i].max, REDTUNE_MAX, columns[0], RDT_OUTCOME_WRONG, faults[i].what);
    }
}

/* Numbers alone do not show it. */
FACT(a_kernel_that_loses_a_nan_is_wrong) {
    static const char forgetful[] =
        FINDS_MOST KERNEL(ALL, COUNT, OUTER, INNER, PLACE, "fmaxf(sum, x)", "");
    const rdt_verdict verdict = verify_source(forgetful, REDTUNE_MAX, rows[0]);
    CHECK_INT(verdict.outcome, RDT_OUTCOME_WRONG);
    CHECK_CONTAINS(verdict.cause, "should be nan");
}

/* Small shapes do not show what only many results or long ones bring about. */
FACT(faults_of_large_shapes_are_found) {
    static const char late[] =
        ADDS KERNEL("all - (all == 5000 ? 1 : 0)", COUNT, OUTER, INNER, PLACE, PLUS, "");
    static const char middle[] = ADDS KERNEL(ALL, COUNT, OUTER, INNER, PLACE, PLUS,
                                             "if (all == 5000 && r == 4096) output[r] += 1;");
    static const char deep[] =
        FINDS_MOST KERNEL(ALL, "(e.count == 5003 ? 5002 : e.count)", OUTER, INNER, PLACE, MOST, "");
    const rdt_verdict verdict = verify_source(late, REDTUNE_SUM, rows[2]);
    CHECK_INT(verdict.outcome, RDT_OUTCOME_WRONG);
    CHECK_CONTAINS(verdict.cause, "wrong result: sum of 5000 rows of 3 f32: result 4999 is ");
    check_source(middle, REDTUNE_SUM, rows[2], RDT_OUTCOME_WRONG, "wrong at 4096");
    check_source(deep, REDTUNE_MAX, rows[3], RDT_OUTCOME_WRONG, "short");
}

/* Among hundreds of numbers one more or less hardly ever shows: it has to decide. */
FACT(faults_that_the_pattern_hides_are_found) {
    static const char passing[] =
        FINDS_MOST KERNEL(ALL, COUNT, OUTER, INNER,
                          "o * e.outer_step + (k - (k == e.count / 2 - 3 && e.count > 150 && "
                          "e.count % 8 == 3)) * e.step + i",
                          MOST, "");
    static const char greedy[] =
        FINDS_MOST KERNEL(ALL, "e.count + (e.outer_step > e.count * e.step && e.count > 200)",
                          OUTER, INNER, PLACE, MOST, "");
    check_source(passing, REDTUNE_MAX, rows[0], RDT_OUTCOME_WRONG, "passes over the middle");
    check_source(passing, REDTUNE_MAX, columns[0], RDT_OUTCOME_WRONG, "passes over the middle");
    check_source(greedy, REDTUNE_MAX, rows[0], RDT_OUTCOME_WRONG, "takes one of the gap");
    check_source(greedy, REDTUNE_MAX, columns[0], RDT_OUTCOME_WRONG, "takes one of the gap");
}

/* The pattern has ties: of equal elements the first counts. */
FACT(the_last_of_equal_elements_is_wrong) {
    static const char last[] =
        "typedef unsigned long long u64;\n"
        "struct extents { u64 count, outer, inner, outer_step, step; };\n"
        "extern \"C\" __global__ void redtune_reduce(const float *input, extents e,\n"
        "                                            long long *output) {\n"
        "    for (u64 r = threadIdx.x + blockIdx.x * blockDim.x; r < e.outer * e.inner;\n"
        "         r += gridDim.x * blockDim.x) {\n"
        "        const float *x = input + r / e.inner * e.outer_step + r % e.inner;\n"
        "        u64 best = 0;\n"
        "        for (u64 k = 0; k < e.count; k++)\n"
        "            if (x[best * e.step] == x[best * e.step] &&\n"
        "                !(x[k * e.step] COMPARES x[best * e.step])) best = k;\n"
        "        output[r] = e.count ? (long long)best : -1;\n"
        "    }\n"
        "}\n";
    char first_wins[1200] = "#define COMPARES <=\n", last_wins[1200] = "#define COMPARES <\n";
    strcat(first_wins, last);
    strcat(last_wins, last);
    check_source(first_wins, REDTUNE_ARGMAX, rows[1], RDT_OUTCOME_GOOD, "right");
    check_source(first_wins, REDTUNE_ARGMAX, columns[0], RDT_OUTCOME_GOOD, "right");
    check_source(last_wins, REDTUNE_ARGMAX, rows[1], RDT_OUTCOME_WRONG, "the last");
    check_source(last_wins, REDTUNE_ARGMAX, columns[0], RDT_OUTCOME_WRONG, "the last");
}

/* A size between two shapes may reach a little further than both. */
FACT(a_problem_beyond_the_domain_widens_it) {
    const redtune_problem few = shape(REDTUNE_SUM, REDTUNE_F32, rows[0]);
    const redtune_problem many =
        shape(REDTUNE_SUM, REDTUNE_F32, (rdt_extents){1, 300000, 0, 0, 0}); /* over 1 MiB */
    bench self = {.source = NULL};
    CHECK_OK(bench_open(&self, &few, 1), err);
    check_good(&self, &few);
    check_good(&self, &many);
    check_good(&self, &few);
    bench_close(&self);
}

FACT(a_problem_of_another_class_is_refused) {
    const redtune_problem row = shape(REDTUNE_SUM, REDTUNE_F32, rows[0]);
    const redtune_problem column = shape(REDTUNE_SUM, REDTUNE_F32, columns[0]);
    bench self = {.source = NULL};
    CHECK_OK(bench_open(&self, &row, 1), err);
    CHECK_OK(bench_set(&self, &column), err);
    CHECK_INT(bench_verify(&self), REDTUNE_INVALID);
    CHECK_CONTAINS(err.message, "of another class than the evaluator was made for");
    bench_close(&self);
}

/* ---- test data and answers ------------------------------------------------------------------- */

/* Test buffers and answers of one problem, and its default kernel. */
typedef struct inner_bench {
    bench bench;
    rdt_test_buffers *buffers;
    rdt_answers answers;
    rdt_kernel *kernel;
} inner_bench;

static redtune_status inner_open(inner_bench *self, const redtune_problem *problem) {
    const rdt_maker maker = {shop.codegen, make, &self->bench};
    redtune_status status = bench_set(&self->bench, problem);
    if (status) return status;
    const rdt_domain domain = rdt_problem_domain(&self->bench.problem, 1);
    const rdt_candidate *candidate = &self->bench.candidate;
    status = rdt_test_buffers_open(gpu.context, &domain, 0, &maker, &self->buffers, &err);
    if (!status)
        status = rdt_answers_need(&self->answers, self->buffers, &self->bench.problem, &err);
    if (!status)
        status = make(&self->bench, &self->bench.problem, &candidate->point, &candidate->launch,
                      &self->kernel, &err);
    return status;
}

static void inner_close(inner_bench *self) {
    rdt_kernel_unload(self->kernel);
    rdt_answers_forget(&self->answers);
    rdt_test_buffers_close(self->buffers);
}

/* A driver that clears once and then fails. */
static int clears;
static CUresult clear_once(CUdeviceptr to, unsigned char value, size_t bytes, CUstream stream) {
    return clears++ ? CUDA_ERROR_UNKNOWN : gpu.driver->memset_d8_async(to, value, bytes, stream);
}

FACT(elements_that_are_planted_go_when_a_run_fails) {
    const redtune_problem row = shape(REDTUNE_MAX, REDTUNE_F32, rows[0]);
    inner_bench self = {.bench = {.source = NULL}};
    CHECK_OK(inner_open(&self, &row), err);
    const rdt_pool *pool = self.answers.pool;
    const size_t bytes = 100 * 64 * sizeof(float);
    char *before = malloc(bytes), *after = malloc(bytes);
    rdt_driver failing = *gpu.driver;
    failing.memset_d8_async = clear_once;
    clears = 0;
    CHECK_OK(rdt_buffer_read(gpu.driver, before, pool->buffer.address, bytes, gpu.stream, &err),
             err);
    self.buffers->driver = &failing;
    CHECK_INT(
        rdt_verify_shapes_extents(&self.answers, self.kernel, &self.bench.candidate.launch, &err),
        REDTUNE_DEVICE);
    CHECK_INT(clears, 2);
    self.buffers->driver = gpu.driver;
    CHECK(!gpu.driver->stream_synchronize(gpu.stream));
    CHECK_OK(rdt_buffer_read(gpu.driver, after, pool->buffer.address, bytes, gpu.stream, &err),
             err);
    CHECK(!memcmp(before, after, bytes));
    CHECK_OK(
        rdt_verify_shapes_extents(&self.answers, self.kernel, &self.bench.candidate.launch, &err),
        err);
    free(before);
    free(after);
    inner_close(&self);
}

FACT(answers_stay_while_others_are_asked_for) {
    enum { RESULTS = 100 * 64 };
    const redtune_problem row = shape(REDTUNE_SUM, REDTUNE_F32, rows[0]);
    inner_bench self = {.bench = {.source = NULL}};
    const rdt_answer *first, *again, *other;
    static rdt_answer values[RESULTS];
    CHECK_OK(inner_open(&self, &row), err);
    const size_t bytes = self.answers.sample[RDT_LOOK_VERIFIED].count * sizeof *values;
    CHECK(bytes <= sizeof values);
    for (uint64_t i = 0; i < RDT_ANSWERS_SETS_MAX; i++)
        CHECK_OK(rdt_answers_get(&self.answers, RDT_LOOK_TIMED, i, &other, &err), err);
    CHECK_OK(rdt_answers_get(&self.answers, RDT_LOOK_VERIFIED, 3, &first, &err), err);
    memcpy(values, first, bytes);
    for (uint64_t i = 1; i < RDT_ANSWERS_SETS_MAX; i++) {
        CHECK_OK(rdt_answers_get(&self.answers, RDT_LOOK_VERIFIED, 3 + i, &other, &err), err);
        CHECK(other != first);
    }
    CHECK(!memcmp(values, first, bytes));
    CHECK_OK(rdt_answers_get(&self.answers, RDT_LOOK_VERIFIED, 3, &again, &err), err);
    CHECK(again == first);
    inner_close(&self);
}

/* Long results along two axes: three of them are copied for the judge, in memory that rows of as
 * many elements do not take. */
FACT(gathered_elements_are_counted) {
    enum { PLANES = 600, PLACES = 1000 };
    const rdt_facts *facts = &gpu.context->facts;
    inner_bench self = {.bench = {.source = NULL}};
    const int64_t sizes[] = {PLANES, 3, PLACES};
    const int axes[] = {0, 2};
    const rdt_maker maker = {shop.codegen, make, &self.bench};
    redtune_problem rows_alike = shape(REDTUNE_SUM, REDTUNE_F32, (rdt_extents){600000, 3, 0, 0, 0});
    redtune_problem problem = {.op = REDTUNE_SUM, .dtype = REDTUNE_F32};
    problem.order = rows_alike.order = REDTUNE_ORDER_FIXED;
    CHECK_OK(redtune_problem_fold(&problem, sizes, NULL, 3, axes, 2, &err), err);
    CHECK_OK(rdt_problem_resolve(&problem, &problem, &err), err);
    CHECK_OK(rdt_problem_resolve(&rows_alike, &rows_alike, &err), err);
    const rdt_domain domain = rdt_problem_domain(&problem, 1);
    const uint64_t least = rdt_test_buffers_bytes(facts, &problem);
    CHECK_OK(rdt_test_buffers_open(gpu.context, &domain, least, &maker, &self.buffers, &err), err);
    CHECK_OK(rdt_answers_need(&self.answers, self.buffers, &problem, &err), err);
    CHECK_OK(rdt_answers_gather(&self.answers, RDT_LOOK_VERIFIED, 0, &err), err);
    const uint64_t bytes = self.answers.gathered.elements[0].bytes;
    CHECK(bytes >= UINT64_C(3) * PLANES * PLACES * sizeof(float));
    CHECK(least >= rdt_test_buffers_bytes(facts, &rows_alike) + bytes);
    inner_close(&self);
}

/* Where one key is that of nearly all elements, these are copied for the judge. */
FACT(gathered_elements_of_a_key_are_counted) {
    enum { MANY = 600000, FEW = 8 };
    inner_bench self = {.bench = {.source = NULL}};
    const rdt_maker maker = {shop.codegen, make, &self.bench};
    redtune_problem problem =
        redtune_problem_by_key(REDTUNE_SUM, REDTUNE_F32, REDTUNE_I64, FEW, MANY);
    problem.spread = REDTUNE_SPREAD_ONE;
    CHECK_OK(rdt_problem_resolve(&problem, &problem, &err), err);
    const rdt_domain domain = rdt_problem_domain(&problem, 1);
    const uint64_t least = rdt_test_buffers_bytes(&gpu.context->facts, &problem);
    CHECK_OK(rdt_test_buffers_open(gpu.context, &domain, least, &maker, &self.buffers, &err), err);
    CHECK_OK(rdt_answers_need(&self.answers, self.buffers, &problem, &err), err);
    CHECK_OK(rdt_answers_gather(&self.answers, RDT_LOOK_VERIFIED, 0, &err), err);
    const uint64_t bytes = self.answers.gathered.elements[0].bytes;
    CHECK(bytes >= UINT64_C(9) * MANY / 10 * sizeof(float));
    CHECK(rdt_gathered_bytes(&problem) >= bytes);
    inner_close(&self);
}

int main(int argc, char **argv) { return run_shape_test(argc, argv); }
