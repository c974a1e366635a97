/* Facts about how the evaluator verifies and times kernels of two inputs, of two results, with
 * parameters and with a tolerance: right ones are good, and each planted fault is found. */
#define _POSIX_C_SOURCE 200809L
#include "op_folder.h"
#include "shapes.h"

/* The parts of a kernel in which faults are planted: the element of the second input, how x and y
 * are taken up, what is done at the end. */
typedef struct kernel {
    const char *op, *y, *take, *finish;
} kernel;

/* A kernel of any layout, one thread per result. */
static const char frame[] =
    "typedef unsigned long long u64;\n"
    "struct extents { u64 count, outer, inner, outer_step, step; };\n"
    "struct arguments { u64 input, output; double scalar[2]; u64 scalars, count, resumes; };\n"
    "extern \"C\" __global__ void redtune_reduce(const float *input, extents e, float *output,\n"
    "                        u64 *scratch, unsigned overlaps, arguments given) {\n"
    "    const float *second = given.input ? (const float *)given.input : input;\n"
    "    float *output2 = (float *)given.output;\n"
    "    const u64 all = e.outer * e.inner, begin = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "    const float inf = __int_as_float(0x7f800000);\n"
    "    for (u64 r = begin; r < all; r += gridDim.x * blockDim.x) {\n"
    "        const u64 first = r / e.inner * e.outer_step + r %% e.inner;\n"
    "        float a = 0, b = 0, least = inf, greatest = -inf;\n"
    "        for (u64 k = 0; k < e.count; k++) {\n"
    "            const u64 at = first + k * e.step;\n"
    "            const float x = input[at], y = %s;\n"
    "            %s\n"
    "        }\n"
    "        %s\n"
    "    }\n"
    "}\n";

static redtune_problem problem_of(const char *op, redtune_dtype dtype, rdt_extents extents) {
    return shape(op_folder_find(op), dtype, extents);
}

/* The verdict on a kernel in the default's place. Whole arrays have its boundaries close together.
 */
static rdt_verdict verify_kernel(const kernel *each, rdt_extents extents) {
    static char source[4096];
    bench self = {.source = source, .verdict = {.outcome = RDT_OUTCOME_COUNT}};
    const redtune_problem problem = problem_of(each->op, REDTUNE_F32, extents);
    snprintf(source, sizeof source, frame, each->y, each->take, each->finish);
    redtune_status status = bench_open(&self, &problem, 1);
    self.candidate.launch.tile = 64;
    self.candidate.launch.threads = 32;
    if (status || bench_verify(&self))
        rdt_text_copy(self.verdict.cause, sizeof self.verdict.cause, err.message);
    bench_close(&self);
    return self.verdict;
}

static void check_kernel(const kernel *each, rdt_extents extents, rdt_outcome outcome,
                         const char *what) {
    const rdt_verdict verdict = verify_kernel(each, extents);
    check_that(verdict.outcome == outcome, __FILE__, __LINE__, "%s of %llu x %llu x %llu: %s, %s",
               each->op, (unsigned long long)extents.outer, (unsigned long long)extents.count,
               (unsigned long long)extents.inner, what, verdict.cause);
}

/* An array, rows and columns. */
static const rdt_extents layouts[] = {{700, 0, 0, 0, 0}, {100, 64, 0, 103, 0}, {100, 2, 33, 0, 0}};
enum { LAYOUTS = sizeof layouts / sizeof *layouts };

#define Y     "second[at]"
#define ADD   "a += x * y;"
#define PUT   "output[r] = a;"
#define APART "const float d = fabsf(x - y); if (!(a >= d) && a == a) a = d;"
#define EXTREMES                                                                                   \
    "if (!(least <= x) && least == least) least = x;"                                              \
    "if (!(greatest >= x) && greatest == greatest) greatest = x;"
#define PUT_BOTH "output[r] = least; output2[r] = greatest;"
#define MOMENTS  "a += x; b += x * x;"
#define PUT_MOMENTS                                                                                \
    "const float n = e.count, mean = n ? a / n : 0;"                                               \
    "output[r] = mean; output2[r] = n ? (b - a * mean) / n : 0;"

static const kernel right[] = {
    {"test_dot", Y, ADD, PUT},
    {"test_distance", Y, APART, PUT},
    {"test_minmax", "x", EXTREMES, PUT_BOTH},
    {"test_spread", "x", MOMENTS, PUT_MOMENTS},
    {"test_scaled", "x", "a += x * (float)given.scalar[0];", PUT},
};
enum { RIGHT = sizeof right / sizeof *right };

/* ---- verifying ------------------------------------------------------------------------------- */

FACT(kernels_without_a_fault_are_good) {
    for (size_t i = 0; i < RIGHT; i++)
        for (size_t k = 0; k < LAYOUTS; k++)
            check_kernel(&right[i], layouts[k], RDT_OUTCOME_GOOD, "right");
}

typedef struct fault {
    const char *what;
    kernel kernel;
} fault;

static void check_faults(const fault *faults, size_t count) {
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < LAYOUTS; k++)
            check_kernel(&faults[i].kernel, layouts[k], RDT_OUTCOME_WRONG, faults[i].what);
}

/* Distances show an element only where it decides. */
FACT(faults_of_the_second_input_are_found) {
    static const char moved[] = "((const float *)((u64)&second[at] & ~15ull))[0]";
    static const char dropped[] = "(k == 64 ? 0 : second[at])";
    static const char last[] = "(k > 2 && k + 1 == e.count ? second[at - e.step] : second[at])";
    static const char apart[] = "second[at - ((u64)(second - input) % 4 == 2 && k == 3)]";
    static const char aligned[] = "((u64)input % 16 == 0 && (u64)second % 16 && k < 4 ? "
                                  "((const float *)((u64)second & ~15ull))[at] : second[at])";
    const fault faults[] = {
        {"takes the first as the second", {"test_dot", "x", ADD, PUT}},
        {"rounds addresses down", {"test_dot", moved, ADD, PUT}},
        {"drops one at a tile's end", {"test_dot", dropped, ADD, PUT}},
        {"takes the last but one twice", {"test_dot", last, ADD, PUT}},
        {"errs at one distance", {"test_dot", apart, ADD, PUT}},
        {"reads what is not aligned as if it were", {"test_dot", aligned, ADD, PUT}},
        {"passes over the last", {"test_distance", last, APART, PUT}},
        {"passes over one at a tile's end", {"test_distance", dropped, APART, PUT}},
        {"loses a NaN", {"test_distance", Y, "a = fmaxf(a, fabsf(x - y));", PUT}},
        {"loses a NaN of the second",
         {"test_distance", "(second[at] == second[at] ? second[at] : x)", APART, PUT}},
        {"takes the element behind",
         {"test_distance", Y, APART,
          "const float d = fabsf(input[first] - second[first + e.count * e.step]);"
          "if (e.count > 30 && !(a >= d)) a = d; output[r] = a;"}},
    };
    check_faults(faults, sizeof faults / sizeof *faults);
}

FACT(faults_of_the_second_result_are_found) {
    const fault faults[] = {
        {"lacks the last element in the second",
         {"test_minmax", "x",
          "if (!(least <= x) && least == least) least = x;"
          "if ((k < 30 || k + 1 < e.count) && !(greatest >= x) && greatest == greatest) "
          "greatest = x;",
          PUT_BOTH}},
        {"leaves the second where it was", {"test_minmax", "x", EXTREMES, "output[r] = least;"}},
        {"swaps them", {"test_minmax", "x", EXTREMES, "output[r] = greatest; output2[r] = least;"}},
        {"writes behind the second",
         {"test_minmax", "x", EXTREMES, PUT_BOTH "if (r + 1 == all) output2[all] = 0;"}},
        {"writes before the second",
         {"test_minmax", "x", EXTREMES, PUT_BOTH "if (!r) output2[-1] = 0;"}},
        {"errs in the second of one result",
         {"test_minmax", "x", EXTREMES, PUT_BOTH "if (r + 1 == all) output2[r] += 1;"}},
        {"loses a NaN in the second",
         {"test_minmax", "x",
          "if (!(least <= x) && least == least) least = x; greatest = fmaxf(greatest, x);",
          PUT_BOTH}},
    };
    check_faults(faults, sizeof faults / sizeof *faults);
}

/* 16 units in the last place of 1 to 2 are 1.9e-6: of a mean around 1.5, and of less than 1, as the
 * variance is, which is 0.25. */
FACT(what_is_off_by_more_than_the_tolerance_is_found) {
    const fault faults[] = {
        {"off in the mean", {"test_spread", "x", MOMENTS, PUT_MOMENTS "output[r] *= 1 + 6e-6f;"}},
        {"off in the variance",
         {"test_spread", "x", MOMENTS, PUT_MOMENTS "output2[r] *= 1 + 1e-5f;"}},
        {"lacks an element", {"test_spread", "x", "if (k == 64) continue; " MOMENTS, PUT_MOMENTS}},
    };
    const kernel close = {"test_spread", "x", MOMENTS,
                          PUT_MOMENTS "output[r] *= 1 + 5e-7f; output2[r] *= 1 + 5e-6f;"};
    check_faults(faults, sizeof faults / sizeof *faults);
    for (size_t k = 0; k < LAYOUTS; k++)
        check_kernel(&close, layouts[k], RDT_OUTCOME_GOOD, "off by less");
}

FACT(a_parameter_has_its_usual_value) {
    const kernel deaf = {"test_scaled", "x", "a += x;", PUT};
    for (size_t k = 0; k < LAYOUTS; k++)
        check_kernel(&deaf, layouts[k], RDT_OUTCOME_WRONG, "without its parameter");
}

/* ---- redtune's own --------------------------------------------------------------------------- */

/* With its default, not cut. */
static void check_default(const char *op, redtune_dtype dtype, rdt_extents extents) {
    bench self = {.source = NULL, .verdict = {.outcome = RDT_OUTCOME_COUNT}};
    const redtune_problem problem = problem_of(op, dtype, extents);
    CHECK_OK(bench_open(&self, &problem, 1), err);
    CHECK_OK(bench_verify(&self), err);
    check_that(self.verdict.outcome == RDT_OUTCOME_GOOD, __FILE__, __LINE__, "%s of %s: %s", op,
               redtune_dtype_name(dtype), self.verdict.cause);
    bench_close(&self);
}

FACT(the_templates_kernels_are_good) {
    const struct {
        const char *op;
        redtune_dtype dtype;
    } classes[] = {{"test_dot", REDTUNE_F32},    {"test_dot", REDTUNE_I8},
                   {"test_unlike", REDTUNE_F64}, {"test_distance", REDTUNE_F16},
                   {"test_minmax", REDTUNE_U8},  {"test_spread", REDTUNE_F32},
                   {"test_scaled", REDTUNE_F64}, {"test_strange", REDTUNE_BF16}};
    for (size_t i = 0; i < sizeof classes / sizeof *classes && !check_state.failed; i++)
        for (size_t k = 0; k < LAYOUTS && !check_state.failed; k++)
            check_default(classes[i].op, classes[i].dtype, layouts[k]);
}

/* Above this count half of the elements are zero in both inputs. */
FACT(sums_of_many_products_are_exact) {
    const rdt_extents many = {(1 << 20) + 70000, 0, 0, 0, 0};
    const redtune_problem problem = problem_of("test_dot", REDTUNE_F32, many);
    CHECK(rdt_test_data_dense_max(&problem) < many.count);
    check_default("test_dot", REDTUNE_F32, many);
}

/* ---- memory ---------------------------------------------------------------------------------- */

static void check_memory(rdt_extents extents) {
    enum { BUDGET = 16 << 20 /* what allocations round up to */ };
    redtune_problem problem = problem_of("test_dot", REDTUNE_F16, extents);
    uint64_t before = 0, after = 0;
    CHECK_OK(rdt_problem_resolve(&problem, &problem, &err), err);
    const uint64_t least = rdt_test_buffers_bytes(&gpu.context->facts, &problem);
    CHECK((double)least > rdt_problem_bytes(&problem));
    CHECK(!rdt_test_buffers_fit(&gpu.context->facts, least, &problem)); /* others need some */
    bench self = {.memory_bytes = least};
    CHECK_OK(bench_open(&self, &problem, 1), err);
    CHECK_OK(rdt_context_free_bytes(gpu.context, &before, &err), err);
    self.batch.count = 0; /* opens the buffers */
    CHECK_OK(bench_verify(&self), err);
    CHECK_OK(rdt_context_free_bytes(gpu.context, &after, &err), err);
    check_that(before - after <= least + BUDGET, __FILE__, __LINE__, "%llu bytes in place of %llu",
               (unsigned long long)(before - after), (unsigned long long)least);
    bench_close(&self);
}

FACT(memory_of_both_inputs_stays_within_its_limit) {
    check_memory((rdt_extents){1 << 22, 0, 0, 0, 0});
    check_memory((rdt_extents){2, 1 << 20, 0, 0, 0});
}

/* ---- timing ---------------------------------------------------------------------------------- */

/* Times a kernel in the default's place. */
static rdt_verdict time_kernel(const kernel *each, rdt_extents extents, double *sample_ns) {
    static char source[4096];
    bench self = {.source = source, .verdict = {.outcome = RDT_OUTCOME_GOOD}};
    const redtune_problem problem = problem_of(each->op, REDTUNE_F32, extents);
    snprintf(source, sizeof source, frame, each->y, each->take, each->finish);
    redtune_status status = bench_open(&self, &problem, 1);
    if (!status)
        status = self.evaluator.time(self.evaluator.self, &self.batch, RDT_CACHE_COLD, 1, sample_ns,
                                     &self.verdict, &self.conditions, &err);
    if (status) rdt_text_copy(self.verdict.cause, sizeof self.verdict.cause, err.message);
    bench_close(&self);
    return self.verdict;
}

/* What a candidate is verified by alone does not show that. */
FACT(timed_calls_are_compared_in_both_results) {
    const kernel late = {"test_minmax", "x", EXTREMES,
                         "output[r] = least; output2[r] = greatest + (overlaps != 0);"};
    for (size_t k = 0; k < LAYOUTS; k++) {
        double sample_ns = 0;
        const rdt_verdict good = time_kernel(&right[2], layouts[k], &sample_ns);
        check_that(good.outcome == RDT_OUTCOME_GOOD && sample_ns > 0, __FILE__, __LINE__,
                   "layout %d: %s", (int)k, good.cause);
        if (gpu.context->facts.major < 9) continue;
        const rdt_verdict verdict = time_kernel(&late, layouts[k], &sample_ns);
        CHECK_INT(verdict.outcome, RDT_OUTCOME_WRONG);
        CHECK_CONTAINS(verdict.cause, "(greatest) is ");
    }
}

/* A timed call of a dot reads two arrays that are its own: the answers to each differ. */
FACT(timed_calls_take_turns_through_both_inputs) {
    for (size_t k = 0; k < LAYOUTS; k++) {
        double sample_ns = 0;
        const rdt_verdict good = time_kernel(&right[0], layouts[k], &sample_ns);
        check_that(good.outcome == RDT_OUTCOME_GOOD && sample_ns > 0, __FILE__, __LINE__,
                   "layout %d: %s", (int)k, good.cause);
    }
}

int main(int argc, char **argv) {
    if (!op_folder_make()) return 1;
    const int rc = run_shape_test(argc, argv);
    op_folder_remove();
    return rc;
}
