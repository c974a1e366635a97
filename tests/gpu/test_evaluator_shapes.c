/* Facts about the evaluator of rows and columns: right kernels are good at every shape, each
 * planted fault is found, and what is timed is checked. */
#include <stdlib.h>
#include "compiler/compiler.h"
#include "subject.h"
#include "tuner/measure/local.h"

static redtune_error err;
static device gpu;
static workshop shop;

#define NEED_GPU()                                                                                 \
    do {                                                                                           \
        if (!gpu.context) SKIP("no GPU: %s", err.message);                                         \
    } while (0)

/* A kernel of any layout, one thread per result, with places for faults: how many results, how many
 * elements, where element k of result (o, i) is, how sum and x combine, and what else is done. */
#define KERNEL(results, count, o, i, place, combined, more)                                        \
    "typedef unsigned long long u64;\n"                                                            \
    "struct extents { u64 count, outer, inner, outer_step, step; };\n"                             \
    "extern \"C\" __global__ void redtune_reduce(const ELEMENT *input, extents e,\n"               \
    "                              float *output, u64 *scratch, unsigned overlaps) {\n"            \
    "    const u64 all = e.outer * e.inner, first = blockIdx.x * blockDim.x + threadIdx.x;\n"      \
    "    for (u64 r = first; r < " results "; r += gridDim.x * blockDim.x) {\n"                    \
    "        const u64 o = " o ", i = " i ";\n"                                                    \
    "        float sum = START;\n"                                                                 \
    "        for (u64 k = 0; k < " count "; k++) {\n"                                              \
    "            const float x = VALUE(input[" place "]);\n"                                       \
    "            sum = " combined ";\n"                                                            \
    "        }\n"                                                                                  \
    "        output[r] = sum;\n"                                                                   \
    "        " more "\n"                                                                           \
    "    }\n"                                                                                      \
    "}\n"

#define OF_F32 "#define ELEMENT float\n#define VALUE(e) e\n"
#define OF_F16                                                                                     \
    "#define ELEMENT unsigned short\n"                                                             \
    "#define VALUE(e) value_of(e)\n"                                                               \
    "__device__ float value_of(unsigned short e) {\n"                                              \
    "    float x;\n"                                                                               \
    "    asm(\"cvt.f32.f16 %0, %1;\" : \"=f\"(x) : \"h\"(e));\n"                                   \
    "    return x;\n"                                                                              \
    "}\n"

#define ADDS       OF_F32 "#define START 0\n"
#define FINDS_MOST OF_F32 "#define START -__int_as_float(0x7f800000)\n"
#define ALL        "all"
#define COUNT      "e.count"
#define OUTER      "r / e.inner"
#define INNER      "r % e.inner"
#define PLACE      "o * e.outer_step + k * e.step + i"
#define PLUS       "sum + x"
#define MOST       "!(sum >= x) && sum == sum ? x : sum"

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

/* An evaluator with one candidate, the built-in default, in place of which a source may stand. */
typedef struct bench {
    redtune_problem problem;
    const char *source; /* NULL: the candidate's own */
    uint64_t memory_bytes;
    rdt_candidate candidate;
    rdt_batch batch;
    rdt_local *local;
    rdt_evaluator evaluator;
    rdt_verdict verdict;
    rdt_conditions conditions;
} bench;

static redtune_status make_from(const char *source, rdt_kernel **out, redtune_error *failure) {
    const rdt_facts *facts = &gpu.context->facts;
    rdt_compiler *compiler = NULL;
    rdt_image image = {.data = NULL};
    const rdt_launch launch = {.threads = 1};
    redtune_status status = rdt_compiler_open(&compiler, failure);
    if (!status)
        status = rdt_compiler_compile(compiler, source, "source.cu", facts->major, facts->minor,
                                      device_is_simulated(&gpu), &image, failure);
    if (!status) status = rdt_kernel_load(gpu.driver, image.data, &launch, out, failure);
    free(image.data);
    rdt_compiler_close(compiler);
    return status;
}

static redtune_status make(void *user, const redtune_problem *problem, const rdt_point *point,
                           const rdt_launch *launch, rdt_kernel **out, redtune_error *failure) {
    const bench *self = user;
    if (self->source && point->family == self->candidate.point.family)
        return make_from(self->source, out, failure);
    return rdt_builder_make(shop.builder, gpu.context, problem, point, launch, out, failure);
}

/* Sets the problem that is asked about, of the evaluator's domain, with its default. */
static redtune_status bench_set(bench *self, const redtune_problem *problem) {
    redtune_status status = rdt_problem_resolve(problem, &self->problem, &err);
    const rdt_case at = {&self->problem, &gpu.context->facts};
    if (!status) status = rdt_codegen_default(shop.codegen, at, &self->candidate.point, &err);
    if (!status)
        status = rdt_codegen_launch(shop.codegen, at, &self->candidate.point,
                                    &self->candidate.launch, &err);
    self->batch = (rdt_batch){&self->problem, &self->candidate, 1};
    return status;
}

/* For these problems, of one class; the first is set. */
static redtune_status bench_open(bench *self, const redtune_problem *problems, size_t count) {
    rdt_domain domain = {.count = 0};
    redtune_status status = REDTUNE_OK;
    for (size_t i = count; !status && i-- > 0;) {
        status = bench_set(self, &problems[i]);
        domain.problem = self->problem;
        rdt_problem_widen(&domain, &self->problem);
    }
    const rdt_local_parts parts = {.context = gpu.context,
                                   .maker = {shop.codegen, make, self},
                                   .memory_bytes = self->memory_bytes};
    return status ? status
                  : rdt_local_replace(&self->local, &parts, &domain, &self->evaluator, &err);
}

static void bench_close(bench *self) { rdt_local_destroy(self->local); }

static redtune_status bench_verify(bench *self) {
    return self->evaluator.verify(self->evaluator.self, &self->batch, &self->verdict, &err);
}

static redtune_status bench_time(bench *self, rdt_cache_state cache, int count, double *out) {
    return self->evaluator.time(self->evaluator.self, &self->batch, cache, count, out,
                                &self->verdict, &self->conditions, &err);
}

/* ---- what is tried --------------------------------------------------------------------------- */

static redtune_problem shape(redtune_op op, redtune_dtype dtype, rdt_extents extents) {
    return (redtune_problem){.op = op,
                             .dtype = dtype,
                             .count = extents.count,
                             .outer = extents.outer,
                             .inner = extents.inner,
                             .outer_step = extents.outer_step,
                             .step = extents.step};
}

/* Packed, pitched, with short and long results, many and few; a middle axis, and every third. */
static const rdt_extents rows[] = {
    {100, 64, 0, 0, 0}, {1000, 3, 0, 1003, 0}, {3, 5000, 0, 0, 0},
    {5003, 2, 0, 0, 0}, {1, 300, 0, 0, 0},     {0, 5, 0, 7, 0},
};
static const rdt_extents columns[] = {
    {100, 0, 64, 0, 0}, {33, 0, 513, 0, 515}, {7, 5, 1001, 7100, 1003},
    {3001, 2, 3, 0, 0}, {500, 1, 1, 0, 3},    {2, 3000, 2, 0, 0},
    {1, 2, 5, 0, 0},    {0, 2, 5, 0, 0},      {64, 0, 70, 0, 131071},
};
enum { ROWS = sizeof rows / sizeof *rows, COLUMNS = sizeof columns / sizeof *columns };

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
    redtune_problem problems[COLUMNS];
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

static void right_kernels_of_rows_are_good(void) {
    NEED_GPU();
    for (size_t i = 0; i < CLASSES && !check_state.failed; i++)
        check_shapes(classes[i].op, classes[i].dtype, rows, ROWS);
}

static void right_kernels_of_columns_are_good(void) {
    NEED_GPU();
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
static void kernels_without_a_fault_are_good(void) {
    NEED_GPU();
    check_source(right_sum, REDTUNE_SUM, rows[0], RDT_OUTCOME_GOOD, "right");
    check_source(right_sum, REDTUNE_SUM, columns[1], RDT_OUTCOME_GOOD, "right");
    check_source(right_max, REDTUNE_MAX, rows[1], RDT_OUTCOME_GOOD, "right");
    check_source(right_max, REDTUNE_MAX, columns[2], RDT_OUTCOME_GOOD, "right");
}

static void every_fault_of_rows_is_found(void) {
    NEED_GPU();
    for (size_t i = 0; i < FAULTS; i++) {
        if (strstr(faults[i].what, "swaps")) continue; /* there is no inner */
        check_source(faults[i].sum, REDTUNE_SUM, rows[0], RDT_OUTCOME_WRONG, faults[i].what);
        check_source(faults[i].max, REDTUNE_MAX, rows[0], RDT_OUTCOME_WRONG, faults[i].what);
    }
}

static void every_fault_of_columns_is_found(void) {
    NEED_GPU();
    for (size_t i = 0; i < FAULTS; i++) {
        check_source(faults[i].sum, REDTUNE_SUM, columns[0], RDT_OUTCOME_WRONG, faults[i].what);
        check_source(faults[i].max, REDTUNE_MAX, columns[0], RDT_OUTCOME_WRONG, faults[i].what);
    }
}

/* Numbers alone do not show it. */
static void a_kernel_that_loses_a_nan_is_wrong(void) {
    NEED_GPU();
    static const char forgetful[] =
        FINDS_MOST KERNEL(ALL, COUNT, OUTER, INNER, PLACE, "fmaxf(sum, x)", "");
    const rdt_verdict verdict = verify_source(forgetful, REDTUNE_MAX, rows[0]);
    CHECK_INT(verdict.outcome, RDT_OUTCOME_WRONG);
    CHECK_CONTAINS(verdict.cause, "should be nan");
}

/* Small shapes do not show what only many results or long ones bring about. */
static void faults_of_large_shapes_are_found(void) {
    NEED_GPU();
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

/* The pattern has ties: of equal elements the first counts. */
static void the_last_of_equal_elements_is_wrong(void) {
    NEED_GPU();
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

static void a_problem_beyond_the_domain_is_refused(void) {
    NEED_GPU();
    const redtune_problem few = shape(REDTUNE_SUM, REDTUNE_F32, rows[0]);
    const redtune_problem many = shape(REDTUNE_SUM, REDTUNE_F32, rows[2]);
    bench self = {.source = NULL};
    CHECK_OK(bench_open(&self, &few, 1), err);
    CHECK_OK(bench_set(&self, &many), err);
    CHECK_INT(bench_verify(&self), REDTUNE_INVALID);
    CHECK_CONTAINS(err.message, "larger than the evaluator was made for");
    bench_close(&self);
}

/* ---- timing ---------------------------------------------------------------------------------- */

enum { LAST_ROUND = 31 };

static void check_timed(bench *self, rdt_cache_state cache, int count, double *ns) {
    double samples[LAST_ROUND];
    CHECK_OK(bench_time(self, cache, count, samples), err);
    CHECK_TEXT(self->verdict.cause, "");
    CHECK_INT(self->verdict.outcome, RDT_OUTCOME_GOOD);
    for (int i = 0; i < count; i++) CHECK(samples[i] > 0);
    *ns = samples[count - 1];
}

/* Shapes of one class in turns, by one evaluator. */
static void shapes_are_timed_cold_and_warm(void) {
    NEED_GPU();
    const redtune_problem problems[] = {
        shape(REDTUNE_SUM, REDTUNE_F32, (rdt_extents){7, 5, 1001, 7100, 1003}),
        shape(REDTUNE_SUM, REDTUNE_F32, (rdt_extents){3000, 1, 12, 0, 0})};
    bench self = {.source = NULL};
    double cold_ns = 0, warm_ns = 0;
    CHECK_OK(bench_open(&self, problems, 2), err);
    for (int i = 0; i < 4 && !check_state.failed; i++) {
        CHECK_OK(bench_set(&self, &problems[i % 2]), err);
        check_timed(&self, RDT_CACHE_COLD, i ? 3 : LAST_ROUND, &cold_ns);
        check_timed(&self, RDT_CACHE_WARM, 3, &warm_ns);
        CHECK(warm_ns < cold_ns);
    }
    bench_close(&self);
}

static void check_hasty(const char *source, redtune_op op, redtune_dtype dtype, rdt_extents extents,
                        int samples) {
    double sample_ns[LAST_ROUND];
    bench self = {.source = source};
    const redtune_problem problem = shape(op, dtype, extents);
    CHECK_OK(bench_open(&self, &problem, 1), err);
    CHECK(self.candidate.launch.overlap);
    CHECK_OK(bench_time(&self, RDT_CACHE_COLD, samples, sample_ns), err);
    CHECK_INT(self.verdict.outcome, RDT_OUTCOME_WRONG);
    CHECK_CONTAINS(self.verdict.cause, "one after the other: result ");
    CHECK(sample_ns[0] == 0 && sample_ns[samples - 1] == 0);
    bench_close(&self);
}

/* Only the last result, and only in calls that overlap the one before. */
static void a_kernel_that_goes_wrong_while_it_overlaps_is_wrong(void) {
    NEED_GPU();
    static const char hasty[] = ADDS KERNEL(ALL, COUNT, OUTER, INNER, PLACE, PLUS,
                                            "if (overlaps && r + 1 == all) output[r] += 1;");
    if (gpu.context->facts.major < 9) SKIP("no launch overlaps on this GPU");
    check_hasty(hasty, REDTUNE_SUM, REDTUNE_F32, rows[2], 3);
    check_hasty(hasty, REDTUNE_SUM, REDTUNE_F32, columns[1], LAST_ROUND);
}

/* Of 2^20 squares the root is not exact in f32: what overlaps is compared with what does not. The
 * rows share most of their elements, so that there is room for several calls' inputs. */
static void so_it_is_where_no_exact_result_is_known(void) {
    NEED_GPU();
    static const char hasty[] = OF_F16
        "#define START 0\n" KERNEL(ALL, "(e.count < 1000000 ? e.count : 0)", OUTER, INNER, PLACE,
                                   "sum + x * x", "output[r] = sqrtf(sum) + overlaps;");
    if (gpu.context->facts.major < 9) SKIP("no launch overlaps on this GPU");
    check_hasty(hasty, REDTUNE_NORM2, REDTUNE_F16, (rdt_extents){(1 << 20) + 5000, 2, 0, 64, 0}, 3);
}

/* ---- memory ---------------------------------------------------------------------------------- */

static void memory_stays_within_its_limit(void) {
    NEED_GPU();
    enum { BUDGET = 16 << 20 /* of what is no test data: what allocations round up to */ };
    redtune_problem problem = shape(REDTUNE_SUM, REDTUNE_F16, (rdt_extents){2, 1 << 20, 0, 0, 0});
    uint64_t before = 0, after = 0, least;
    CHECK_OK(rdt_problem_resolve(&problem, &problem, &err), err);
    least = rdt_test_buffers_bytes(&gpu.context->facts, &problem);
    CHECK(least > (UINT64_C(1) << 20) * (2 * 2 + 4));                   /* input and output */
    CHECK(!rdt_test_buffers_fit(&gpu.context->facts, least, &problem)); /* others need some */
    bench self = {.memory_bytes = least};
    CHECK_OK(bench_open(&self, &problem, 1), err);
    CHECK_OK(rdt_test_buffers_free_bytes(gpu.context, &before, &err), err);
    if (device_is_simulated(&gpu)) {
        self.batch.count = 0; /* opens the buffers */
        CHECK_OK(bench_verify(&self), err);
    } else {
        double ns = 0;
        CHECK_OK(bench_verify(&self), err);
        check_timed(&self, RDT_CACHE_COLD, 3, &ns);
    }
    CHECK_OK(rdt_test_buffers_free_bytes(gpu.context, &after, &err), err);
    CHECK(before - after <= least + BUDGET);
    bench_close(&self);
}

int main(int argc, char **argv) {
    static const check_fact facts[] = {
        FACT(right_kernels_of_rows_are_good),
        FACT(right_kernels_of_columns_are_good),
        FACT(kernels_without_a_fault_are_good),
        FACT(every_fault_of_rows_is_found),
        FACT(every_fault_of_columns_is_found),
        FACT(a_kernel_that_loses_a_nan_is_wrong),
        FACT(faults_of_large_shapes_are_found),
        FACT(the_last_of_equal_elements_is_wrong),
        FACT(a_problem_beyond_the_domain_is_refused),
        FACT(shapes_are_timed_cold_and_warm),
        FACT(a_kernel_that_goes_wrong_while_it_overlaps_is_wrong),
        FACT(so_it_is_where_no_exact_result_is_known),
        FACT(memory_stays_within_its_limit),
    };
    if (device_open(&gpu, &err)) {
        gpu.context = NULL;
    } else if (workshop_open(&gpu, &shop, &err)) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    int rc = check_run(facts, sizeof facts / sizeof *facts, argc, argv);
    workshop_close(&shop);
    device_close(&gpu);
    return rc;
}
