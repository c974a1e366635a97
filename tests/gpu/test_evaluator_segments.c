/* Facts about how the evaluator verifies and times segments and lists: right kernels are good for
 * lengths of all kinds, and each planted fault is found. */
#include "shapes.h"

#include <math.h>

/* A thread for each segment, with places for faults: how many results, where a segment begins and
 * ends, how sum and x combine, and what else is done. */
#define SEGMENT_KERNEL(name, results, begin, end, combined, more)                                  \
    "extern \"C\" __global__ void " name "(const ELEMENT *input, segments s, float *output,\n"     \
    "                                      u64 *scratch, unsigned overlaps) {\n"                   \
    "    const u64 first = blockIdx.x * blockDim.x + threadIdx.x;\n"                               \
    "    for (u64 r = first; r < " results "; r += gridDim.x * blockDim.x) {\n"                    \
    "        const u64 low = s.begin ? at(s.begin, r) : 0;\n"                                      \
    "        const u64 high = s.end ? at(s.end, r) : at(s.begin, r + 1);\n"                        \
    "        const ELEMENT *from = s.arrays ? (const ELEMENT *)at(s.arrays, r) - (s.end ? 0 : "    \
    "low)\n"                                                                                       \
    "                                       : input;\n"                                            \
    "        float sum = START;\n"                                                                 \
    "        for (u64 k = " begin "; (long long)k < (long long)(" end "); k++) {\n"                \
    "            const float x = VALUE(from[k]);\n"                                                \
    "            sum = " combined ";\n"                                                            \
    "        }\n"                                                                                  \
    "        output[r] = sum;\n"                                                                   \
    "        " more "\n"                                                                           \
    "    }\n"                                                                                      \
    "}\n"
#define HEAD                                                                                       \
    "typedef unsigned long long u64;\n"                                                            \
    "struct segments { u64 begin, end, count, wide, arrays; };\n"                                  \
    "__device__ u64 at(u64 table, u64 i) { return ((const u64 *)table)[i]; }\n"                    \
    "extern \"C\" __global__ void redtune_prefix(segments s, void *scratch) {}\n"
#define SOURCE(start, results, begin, end, combined, more)                                         \
    start HEAD SEGMENT_KERNEL("redtune_reduce", results, begin, end, combined, more)
#define EVERY "s.count"
#define LOW   "low"
#define HIGH  "high"

static const char right_sum[] = SOURCE(ADDS, EVERY, LOW, HIGH, PLUS, "");
static const char right_max[] = SOURCE(FINDS_MOST, EVERY, LOW, HIGH, MOST, "");

static const struct {
    const char *what, *sum, *max;
} faults[] = {
#define FAULT(what, results, begin, end, more)                                                     \
    {                                                                                              \
        what, SOURCE(ADDS, results, begin, end, PLUS, more),                                       \
            SOURCE(FINDS_MOST, results, begin, end, MOST, more)                                    \
    }
    FAULT("drops the last result", "s.count - 1", LOW, HIGH, ""),
    FAULT("takes the element behind", EVERY, LOW, "high + (r % 7 == 3)", ""),
    FAULT("takes the element before", EVERY, "low - (low > 0 && r % 7 == 3)", HIGH, ""),
    FAULT("leaves out the first of long ones", EVERY, "low + (high - low > 1000)", HIGH, ""),
    FAULT("leaves out the last of two", EVERY, LOW, "high - (high - low == 2)", ""),
    FAULT("writes one result too many", EVERY, LOW, HIGH, "if (!r) output[s.count] = 0;"),
    FAULT("writes before the first result", EVERY, LOW, HIGH, "if (!r) output[-1] = 0;"),
    FAULT("gives empty ones the result before", EVERY, LOW, HIGH,
          "if (r && low == high) output[r] = 1;"),
    FAULT("leaves a word of scratch", EVERY, LOW, HIGH, "if (!r) scratch[40] = 1;"),
    FAULT("goes wrong where segments have ends", EVERY, LOW, "high - (s.end && high - low > 40)",
          ""),
};
enum { FAULTS = sizeof faults / sizeof *faults };

static redtune_problem segments_of(redtune_op op, redtune_dtype dtype, redtune_segmented segmented,
                                   uint64_t outer, uint64_t count, uint64_t median,
                                   uint64_t greatest) {
    redtune_problem problem = shape(op, dtype, (rdt_extents){.count = count, .outer = outer});
    problem.segmented = segmented;
    problem.median = median;
    problem.greatest = greatest;
    return problem;
}

static void check_verdict(const char *source, const redtune_problem *problem, rdt_outcome outcome,
                          const char *what) {
    bench self = {.source = source, .verdict = {.outcome = RDT_OUTCOME_COUNT}};
    char text[RDT_PROBLEM_TEXT_BYTES];
    if (bench_open(&self, problem, 1) || bench_verify(&self))
        rdt_text_copy(self.verdict.cause, sizeof self.verdict.cause, err.message);
    rdt_problem_describe(&self.problem, text);
    check_that(self.verdict.outcome == outcome, __FILE__, __LINE__, "%s: %s, %s", text, what,
               self.verdict.cause);
    bench_close(&self);
}

static const struct {
    redtune_op op;
    redtune_dtype dtype;
} classes[] = {
    {REDTUNE_SUM, REDTUNE_F32},  {REDTUNE_MAX, REDTUNE_F16},  {REDTUNE_ARGMIN, REDTUNE_F32},
    {REDTUNE_MEAN, REDTUNE_F64}, {REDTUNE_PROD, REDTUNE_F32}, {REDTUNE_NORM2, REDTUNE_BF16},
    {REDTUNE_ANY, REDTUNE_U8},   {REDTUNE_VAR, REDTUNE_F32},  {REDTUNE_MAX_AT, REDTUNE_I32},
};
enum { CLASSES = sizeof classes / sizeof *classes };

FACT(right_kernels_are_good) {
    for (size_t i = 0; i < CLASSES && !check_state.failed; i++)
        for (int segmented = REDTUNE_SEGMENTED_EACH; segmented <= REDTUNE_SEGMENTED_ALL;
             segmented++) {
            const redtune_problem problem = segments_of(
                classes[i].op, classes[i].dtype, (redtune_segmented)segmented, 300, 40, 3, 4000);
            check_verdict(NULL, &problem, RDT_OUTCOME_GOOD, "the default");
        }
}

FACT(segments_of_all_kinds_are_good) {
    const redtune_problem problems[] = {
        segments_of(REDTUNE_SUM, REDTUNE_F32, REDTUNE_SEGMENTED_EACH, 1, 3000, 0, 0),
        segments_of(REDTUNE_SUM, REDTUNE_F32, REDTUNE_SEGMENTED_EACH, 64, 100, 0, 0),
        segments_of(REDTUNE_SUM, REDTUNE_F32, REDTUNE_SEGMENTED_EACH, 5000, 2, 1, 900),
        segments_of(REDTUNE_SUM, REDTUNE_F32, REDTUNE_SEGMENTED_EACH, 2000, 0, 0, 0),
        segments_of(REDTUNE_SUM, REDTUNE_F32, REDTUNE_SEGMENTED_EACH, 3, 1000, 1, 2999),
    };
    bench self = {.source = NULL};
    enum { PROBLEMS = sizeof problems / sizeof *problems };
    CHECK_OK(bench_open(&self, problems, PROBLEMS), err);
    for (size_t i = 0; i < PROBLEMS && !check_state.failed; i++) {
        double samples_ns[2] = {0};
        CHECK_OK(bench_set(&self, &problems[i]), err);
        CHECK_OK(bench_verify(&self), err);
        CHECK_OK(self.evaluator.time(self.evaluator.self, &self.batch, RDT_CACHE_COLD, 2,
                                     samples_ns, &self.verdict, &self.conditions, &err),
                 err);
        check_that(self.verdict.outcome == RDT_OUTCOME_GOOD, __FILE__, __LINE__, "problem %zu: %s",
                   i, self.verdict.cause);
        CHECK(samples_ns[0] > 0 && samples_ns[1] > 0);
    }
    bench_close(&self);
}

FACT(kernels_without_a_fault_are_good) {
    const redtune_problem sum =
        segments_of(REDTUNE_SUM, REDTUNE_F32, REDTUNE_SEGMENTED_EACH, 100, 20, 3, 900);
    redtune_problem max = sum;
    max.op = REDTUNE_MAX;
    check_verdict(right_sum, &sum, RDT_OUTCOME_GOOD, "right");
    check_verdict(right_max, &max, RDT_OUTCOME_GOOD, "right");
}

FACT(every_fault_is_found) {
    redtune_problem problem =
        segments_of(REDTUNE_SUM, REDTUNE_F32, REDTUNE_SEGMENTED_EACH, 100, 20, 3, 900);
    for (size_t i = 0; i < FAULTS; i++) {
        problem.op = REDTUNE_SUM;
        check_verdict(faults[i].sum, &problem, RDT_OUTCOME_WRONG, faults[i].what);
        problem.op = REDTUNE_MAX;
        check_verdict(faults[i].max, &problem, RDT_OUTCOME_WRONG, faults[i].what);
    }
}

/* Numbers alone do not show it. */
FACT(a_kernel_that_loses_a_nan_is_wrong) {
    static const char forgetful[] = SOURCE(FINDS_MOST, EVERY, LOW, HIGH, "fmaxf(sum, x)", "");
    const redtune_problem problem =
        segments_of(REDTUNE_MAX, REDTUNE_F32, REDTUNE_SEGMENTED_EACH, 100, 20, 3, 900);
    check_verdict(forgetful, &problem, RDT_OUTCOME_WRONG, "loses a NaN");
}

int main(int argc, char **argv) { return run_shape_test(argc, argv); }
