/* Facts about how the evaluator times rows and columns: what is timed is checked, too, and memory
 * stays within its limit. */
#include "shapes.h"

/* ---- timing ---------------------------------------------------------------------------------- */

static redtune_status bench_time(bench *self, rdt_cache_state cache, int count, double *out) {
    return self->evaluator.time(self->evaluator.self, &self->batch, cache, count, out,
                                &self->verdict, &self->conditions, &err);
}

enum { LAST_ROUND = 31 };

static void check_timed(bench *self, rdt_cache_state cache, int count, double *ns) {
    double samples[LAST_ROUND];
    CHECK_OK(bench_time(self, cache, count, samples), err);
    CHECK_TEXT(self->verdict.cause, "");
    CHECK_INT(self->verdict.outcome, RDT_OUTCOME_GOOD);
    for (int i = 0; i < count; i++) CHECK(samples[i] > 0);
    *ns = samples[count - 1];
}

/* Shapes of one class in turns, by one evaluator. All fit into the simulated GPU's cache. */
FACT(shapes_are_timed_cold_and_warm) {
    const redtune_problem problems[] = {
        shape(REDTUNE_SUM, REDTUNE_F32, (rdt_extents){7, 5, 801, 7100, 803}),
        shape(REDTUNE_SUM, REDTUNE_F32, (rdt_extents){2000, 1, 12, 0, 0})};
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
FACT(a_kernel_that_goes_wrong_while_it_overlaps_is_wrong) {
    static const char hasty[] = ADDS KERNEL(ALL, COUNT, OUTER, INNER, PLACE, PLUS,
                                            "if (overlaps && r + 1 == all) output[r] += 1;");
    if (gpu.context->facts.major < 9) SKIP("no launch overlaps on this GPU");
    check_hasty(hasty, REDTUNE_SUM, REDTUNE_F32, rows[2], 3);
    check_hasty(hasty, REDTUNE_SUM, REDTUNE_F32, columns[1], LAST_ROUND);
}

/* Of 2^20 squares the root is not exact in f32: what overlaps is compared with what does not. The
 * rows share most of their elements, so that there is room for several calls' inputs. */
FACT(so_it_is_where_no_exact_result_is_known) {
    static const char hasty[] = OF_F16
        "#define START 0\n" KERNEL(ALL, "(e.count < 1000000 ? e.count : 0)", OUTER, INNER, PLACE,
                                   "sum + x * x", "output[r] = sqrtf(sum) + overlaps;");
    if (gpu.context->facts.major < 9) SKIP("no launch overlaps on this GPU");
    check_hasty(hasty, REDTUNE_NORM2, REDTUNE_F16, (rdt_extents){(1 << 20) + 5000, 2, 0, 64, 0}, 3);
}

/* ---- memory ---------------------------------------------------------------------------------- */

FACT(memory_stays_within_its_limit) {
    enum { BUDGET = 16 << 20 /* of what is no test data: what allocations round up to */ };
    redtune_problem problem = shape(REDTUNE_SUM, REDTUNE_F16, (rdt_extents){2, 1 << 20, 0, 0, 0});
    uint64_t before = 0, after = 0, least;
    CHECK_OK(rdt_problem_resolve(&problem, &problem, &err), err);
    least = rdt_test_buffers_bytes(&gpu.context->facts, &problem);
    CHECK(least > (UINT64_C(1) << 20) * (2 * 2 + 4));                   /* input and output */
    CHECK(!rdt_test_buffers_fit(&gpu.context->facts, least, &problem)); /* others need some */
    bench self = {.memory_bytes = least};
    CHECK_OK(bench_open(&self, &problem, 1), err);
    CHECK_OK(rdt_context_free_bytes(gpu.context, &before, &err), err);
    if (device_is_simulated(&gpu)) {
        self.batch.count = 0; /* opens the buffers */
        CHECK_OK(bench_verify(&self), err);
    } else {
        double ns = 0;
        CHECK_OK(bench_verify(&self), err);
        check_timed(&self, RDT_CACHE_COLD, 3, &ns);
    }
    CHECK_OK(rdt_context_free_bytes(gpu.context, &after, &err), err);
    CHECK(before - after <= least + BUDGET);
    bench_close(&self);
}

int main(int argc, char **argv) { return run_shape_test(argc, argv); }
