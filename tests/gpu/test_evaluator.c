/* Facts about the evaluator of a GPU in this process: what it refuses, what it times, and what it
 * tells of the GPU. NVML is stood in for (tests/fixtures/nvml.c). */
#define _POSIX_C_SOURCE 200809L
#include "subject.h"
#include "wrong_kernels.h"
#include "tuner/measure/local.h"

static redtune_error err;
static device gpu;
static workshop shop;

/* An evaluator with one candidate, the default. */
typedef struct bench {
    redtune_problem problem;
    redtune_op other; /* whose kernel is made instead */
    bool makes_other;
    const char *source; /* of the kernel that is made instead; NULL: of none */
    int made, most;     /* kernels; most: then no more can be made; 0: no limit */
    rdt_candidate candidate;
    rdt_batch batch;
    rdt_nvml *nvml;
    rdt_local *local;
    rdt_evaluator evaluator;
    rdt_verdict verdict;
    rdt_conditions conditions;
} bench;

static redtune_status make(void *user, const redtune_problem *problem, const rdt_point *point,
                           const rdt_launch *launch, rdt_kernel **out, redtune_error *failure) {
    bench *self = user;
    redtune_problem made = *problem;
    if (point->family > 0) /* the judge's */
        return rdt_builder_make(shop.builder, gpu.context, &made, point, launch, out, failure);
    if (self->most && self->made == self->most)
        return rdt_fail(failure, REDTUNE_MEMORY, 0, "no more kernels");
    self->made++;
    if (self->source) return subject_make_from(&gpu, self->source, out, failure);
    if (self->makes_other) made.op = self->other;
    return rdt_builder_make(shop.builder, gpu.context, &made, point, launch, out, failure);
}

static redtune_status bench_open(bench *self, redtune_op op, redtune_dtype dtype, uint64_t count) {
    redtune_problem problem = redtune_problem_whole(op, dtype, count);
    rdt_case at = {&self->problem, &gpu.context->facts};
    rdt_problem_resolve(&problem, &self->problem, NULL);
    self->nvml = rdt_nvml_open(gpu.context);
    const rdt_domain domain = rdt_problem_domain(&self->problem, 1);
    const rdt_local_parts parts = {
        .context = gpu.context, .maker = {shop.codegen, make, self}, .nvml = self->nvml};
    redtune_status status = rdt_rules_default(shop.codegen, at, &self->candidate.point, &err);
    if (!status)
        status = rdt_rules_launch(shop.codegen, at, &self->candidate.point, &self->candidate.launch,
                                  &err);
    if (!status) status = rdt_local_replace(&self->local, &parts, &domain, &self->evaluator, &err);
    if (status) return status;
    self->batch = (rdt_batch){&self->problem, &self->candidate, 1};
    return REDTUNE_OK;
}

static void bench_close(bench *self) {
    rdt_local_destroy(self->local);
    rdt_nvml_close(self->nvml);
}

static redtune_status bench_sample(bench *self, rdt_cache_state cache, int count, double *out) {
    return self->evaluator.time(self->evaluator.self, &self->batch, cache, count, out,
                                &self->verdict, &self->conditions, &err);
}

/* The median of three is the second: they are all the same on the simulated GPU. */
static redtune_status bench_time(bench *self, rdt_cache_state cache, double *sample_ns) {
    double samples[3];
    redtune_status status = bench_sample(self, cache, 3, samples);
    *sample_ns = samples[1];
    return status;
}

/* ---- verifying ------------------------------------------------------------------------------- */

FACT(a_right_kernel_is_good) {
    bench self = {.makes_other = false};
    CHECK_OK(bench_open(&self, REDTUNE_MAX, REDTUNE_F32, 3000), err);
    CHECK_OK(self.evaluator.verify(self.evaluator.self, &self.batch, &self.verdict, &err), err);
    CHECK_INT(self.verdict.outcome, RDT_OUTCOME_GOOD);
    CHECK_TEXT(self.verdict.cause, "");
    bench_close(&self);
}

FACT(a_kernel_that_loses_a_nan_is_wrong) {
    bench self = {.source = forgetful};
    CHECK_OK(bench_open(&self, REDTUNE_MAX, REDTUNE_F32, 3000), err);
    CHECK_OK(self.evaluator.verify(self.evaluator.self, &self.batch, &self.verdict, &err), err);
    CHECK_INT(self.verdict.outcome, RDT_OUTCOME_WRONG);
    CHECK_CONTAINS(self.verdict.cause, "should be nan");
    bench_close(&self);
}

static rdt_verdict verify_max(const char *source) {
    bench self = {.source = source, .verdict = {.outcome = RDT_OUTCOME_COUNT}};
    if (!bench_open(&self, REDTUNE_MAX, REDTUNE_F32, 3000))
        self.evaluator.verify(self.evaluator.self, &self.batch, &self.verdict, &err);
    bench_close(&self);
    return self.verdict;
}

/* Only an element outside that decides can show it. */
FACT(a_kernel_that_looks_outside_its_input_is_wrong) {
    rdt_verdict before = verify_max(peeping_before), behind = verify_max(peeping_behind);
    CHECK_INT(before.outcome, RDT_OUTCOME_WRONG);
    CHECK_CONTAINS(before.cause, "where the one at -1 decides, is 120 and should be 0");
    CHECK_INT(behind.outcome, RDT_OUTCOME_WRONG);
    CHECK_CONTAINS(behind.cause, " decides, is 120 and should be 0");
}

FACT(a_kernel_that_writes_behind_its_result_is_wrong) {
    rdt_verdict verdict = verify_max(spilling);
    CHECK_INT(verdict.outcome, RDT_OUTCOME_WRONG);
    CHECK_CONTAINS(verdict.cause, "behind it are written, too");
}

FACT(what_a_wrong_kernel_destroyed_is_made_anew) {
    bench self = {.source = destructive};
    CHECK_OK(bench_open(&self, REDTUNE_MAX, REDTUNE_F32, 3000), err);
    CHECK_OK(self.evaluator.verify(self.evaluator.self, &self.batch, &self.verdict, &err), err);
    CHECK_INT(self.verdict.outcome, RDT_OUTCOME_WRONG);
    self.source = NULL;
    CHECK_OK(self.evaluator.verify(self.evaluator.self, &self.batch, &self.verdict, &err), err);
    CHECK_INT(self.verdict.outcome, RDT_OUTCOME_GOOD);
    bench_close(&self);
}

FACT(a_wrong_kernel_says_what_it_gave_and_what_it_should) {
    bench self = {.makes_other = true, .other = REDTUNE_XOR};
    CHECK_OK(bench_open(&self, REDTUNE_OR, REDTUNE_U32, 3000), err);
    CHECK_OK(self.evaluator.verify(self.evaluator.self, &self.batch, &self.verdict, &err), err);
    CHECK_INT(self.verdict.outcome, RDT_OUTCOME_WRONG);
    CHECK_CONTAINS(self.verdict.cause, "wrong result: or of ");
    CHECK_CONTAINS(self.verdict.cause, " is ");
    CHECK_CONTAINS(self.verdict.cause, " and should be ");
    bench_close(&self);
}

/* ---- timing ---------------------------------------------------------------------------------- */

FACT(a_warm_cache_is_faster_than_a_cold_one) {
    bench self = {.makes_other = false};
    double cold_ns = 0, warm_ns = 0;
    CHECK_OK(bench_open(&self, REDTUNE_SUM, REDTUNE_F32, 100000), err);
    CHECK_OK(bench_time(&self, RDT_CACHE_COLD, &cold_ns), err);
    CHECK_OK(bench_time(&self, RDT_CACHE_WARM, &warm_ns), err);
    CHECK_INT(self.verdict.outcome, RDT_OUTCOME_GOOD);
    CHECK(warm_ns > 0 && warm_ns < cold_ns);
    bench_close(&self);
}

enum { LAST_ROUND = 31 };

static bool are_all_positive(const double *samples, int count) {
    for (int i = 0; i < count; i++)
        if (!(samples[i] > 0)) return false;
    return true;
}

/* Where its code lies makes a kernel faster or slower, so a winner is chosen by several copies. */
FACT(a_last_round_loads_copies_of_a_kernel) {
    bench self = {.makes_other = false};
    double quick[3], samples[LAST_ROUND];
    CHECK_OK(bench_open(&self, REDTUNE_SUM, REDTUNE_F32, 4096), err);
    CHECK_OK(bench_sample(&self, RDT_CACHE_COLD, 3, quick), err);
    const int made = self.made;
    for (int state = RDT_CACHE_COLD; state <= RDT_CACHE_WARM; state++) {
        CHECK_OK(bench_sample(&self, (rdt_cache_state)state, LAST_ROUND, samples), err);
        CHECK(are_all_positive(samples, LAST_ROUND));
    }
    CHECK_INT(self.made, made + 3);
    bench_close(&self);
}

FACT(a_copy_that_cannot_be_loaded_is_done_without) {
    bench self = {.makes_other = false};
    double samples[LAST_ROUND];
    CHECK_OK(bench_open(&self, REDTUNE_SUM, REDTUNE_F32, 4096), err);
    CHECK_OK(bench_sample(&self, RDT_CACHE_COLD, 3, samples), err);
    self.most = self.made + 1;
    CHECK_OK(bench_sample(&self, RDT_CACHE_COLD, LAST_ROUND, samples), err);
    CHECK_INT(self.made, self.most);
    CHECK(self.verdict.outcome == RDT_OUTCOME_GOOD && are_all_positive(samples, LAST_ROUND));
    bench_close(&self);
}

FACT(what_is_not_good_is_not_timed) {
    bench self = {.verdict = {.outcome = RDT_OUTCOME_WRONG}};
    double sample_ns = 77;
    CHECK_OK(bench_open(&self, REDTUNE_SUM, REDTUNE_F32, 1000), err);
    CHECK_OK(bench_time(&self, RDT_CACHE_COLD, &sample_ns), err);
    CHECK(sample_ns == 0);
    bench_close(&self);
}

/* ---- what timed calls give ------------------------------------------------------------------- */

static bool overlaps_here(void) { return gpu.context->facts.major >= 9; }

/* Times count elements with the kernel that goes wrong only where calls overlap. */
static void time_hasty(uint64_t count, int samples, const char *said) {
    double sample_ns[LAST_ROUND];
    bench self = {.source = hasty};
    CHECK_OK(bench_open(&self, REDTUNE_NORM2, REDTUNE_F32, count), err);
    CHECK(self.candidate.launch.overlap);
    CHECK_OK(bench_sample(&self, RDT_CACHE_COLD, samples, sample_ns), err);
    CHECK_INT(self.verdict.outcome, RDT_OUTCOME_WRONG);
    CHECK_CONTAINS(self.verdict.cause, said);
    CHECK_CONTAINS(self.verdict.cause, " and should be ");
    CHECK(sample_ns[0] == 0 && sample_ns[samples - 1] == 0);
    bench_close(&self);
}

FACT(a_kernel_that_goes_wrong_while_it_overlaps_is_wrong) {
    if (!overlaps_here()) SKIP("no launch overlaps on this GPU");
    time_hasty(64, 3, "wrong result: norm2 of 64 f32, in call 2 of ");
    time_hasty(64, LAST_ROUND, "wrong result: norm2 of 64 f32, in call 2 of ");
}

/* Of 2^20 squares the root is not exact in f32: the calls are compared with single ones. */
FACT(so_it_is_where_no_exact_result_is_known) {
    if (!overlaps_here()) SKIP("no launch overlaps on this GPU");
    time_hasty((1 << 20) + 5000, 3, " is 1 and should be 0");
}

FACT(a_right_kernel_is_good_where_no_exact_result_is_known) {
    bench self = {.makes_other = false};
    double samples[3];
    CHECK_OK(bench_open(&self, REDTUNE_NORM2, REDTUNE_F32, (1 << 20) + 5000), err);
    for (int state = RDT_CACHE_COLD; state <= RDT_CACHE_WARM; state++) {
        CHECK_OK(bench_sample(&self, (rdt_cache_state)state, 3, samples), err);
        CHECK_INT(self.verdict.outcome, RDT_OUTCOME_GOOD);
        CHECK(are_all_positive(samples, 3));
    }
    bench_close(&self);
}

/* Of two that are timed in turns, the one that goes wrong is the only one that is blamed. */
FACT(a_wrong_candidate_does_not_blame_those_beside_it) {
    if (!overlaps_here()) SKIP("no launch overlaps on this GPU");
    bench self = {.source = wrecking};
    double samples[6];
    rdt_conditions conditions[2];
    rdt_verdict verdicts[2] = {{.outcome = RDT_OUTCOME_GOOD}, {.outcome = RDT_OUTCOME_GOOD}};
    CHECK_OK(bench_open(&self, REDTUNE_MAX, REDTUNE_F32, 64), err);
    rdt_candidate two[2] = {self.candidate, self.candidate};
    two[1].launch.overlap = false;
    self.batch.candidates = two;
    self.batch.count = 2;
    CHECK_OK(self.evaluator.time(self.evaluator.self, &self.batch, RDT_CACHE_COLD, 3, samples,
                                 verdicts, conditions, &err),
             err);
    CHECK_INT(verdicts[0].outcome, RDT_OUTCOME_WRONG);
    CHECK_INT(verdicts[1].outcome, RDT_OUTCOME_GOOD);
    CHECK(samples[0] == 0 && are_all_positive(samples + 3, 3));
    bench_close(&self);
}

/* ---- NVML ------------------------------------------------------------------------------------ */

/* What NVML says after a candidate was timed. */
static rdt_conditions observe(const char *fails, const char *throttle, const char *others) {
    bench self = {.makes_other = false};
    double sample_ns = 0;
    const char *moved = getenv("RDT_TEST_NVML"); /* where the tests run in another place */
    setenv("REDTUNE_NVML", moved ? moved : RDT_TEST_NVML_FILE, 1);
    setenv("RDT_TEST_NVML_FAILS", fails, 1);
    setenv("RDT_TEST_NVML_THROTTLE", throttle, 1);
    setenv("RDT_TEST_NVML_OTHERS", others, 1);
    if (!bench_open(&self, REDTUNE_SUM, REDTUNE_F32, 1000)) {
        bench_time(&self, RDT_CACHE_COLD, &sample_ns);
        if (!(sample_ns > 0)) self.conditions.sm_mhz = -1;
    }
    bench_close(&self);
    return self.conditions;
}

FACT(conditions_are_kept) {
    rdt_conditions now = observe("", "0", "0");
    CHECK_INT(now.sm_mhz, 1980);
    CHECK_INT(now.memory_mhz, 3201);
    CHECK_INT(now.temperature_c, 61);
    CHECK_INT(now.throttle, 0);
    CHECK_INT(now.others, 0);
}

FACT(no_nvml_is_no_error) {
    static const char *const failing[] = {"nvmlInit_v2", "nvmlDeviceGetHandleByPciBusId_v2"};
    for (size_t i = 0; i < sizeof failing / sizeof *failing; i++)
        CHECK_INT(observe(failing[i], "0x20", "3").sm_mhz, 0);
    setenv("REDTUNE_NVML", "/nowhere/libnvidia-ml.so.1", 1);
    CHECK(!rdt_nvml_open(gpu.context));
    CHECK_INT(rdt_nvml_look(NULL).sm_mhz, 0);
    CHECK_INT(rdt_nvml_throttle(NULL), 0);
}

FACT(an_answer_that_fails_is_unknown) {
    CHECK_INT(observe("nvmlDeviceGetClockInfo", "0", "0").sm_mhz, 0);
    CHECK_INT(observe("nvmlDeviceGetClockInfo", "0", "0").temperature_c, 61);
    CHECK_INT(observe("nvmlDeviceGetTemperature", "0", "0").temperature_c, 0);
    CHECK_INT(observe("nvmlDeviceGetCurrentClocksThrottleReasons", "0x20", "0").throttle, 0);
    CHECK_INT(observe("nvmlDeviceGetComputeRunningProcesses_v3", "0", "3").others, 0);
}

/* The stand-in says so twice only: what was kept was taken after that. */
FACT(a_throttled_sample_is_taken_again) {
    CHECK_INT(observe("", "0x20:2", "0").throttle, 0);
    CHECK_INT(observe("", "0x8:3", "0").throttle, 0);
}

FACT(throttling_that_stays_is_told) {
    CHECK_INT(observe("", "0x20", "0").throttle, 0x20);
    CHECK_INT(observe("", "0x20:5", "0").throttle, 0x20);
}

FACT(an_idle_gpu_is_not_throttled) {
    rdt_conditions now = observe("", "0x3", "0");
    CHECK_INT(now.throttle, 0x3);
    CHECK(!rdt_trial_held_down(&now));
    /* Taken again, no sample of an idle GPU would be left. */
    CHECK_INT(observe("", "0x1:3", "0").throttle, 0x1);
}

FACT(other_processes_are_counted) {
    CHECK_INT(observe("", "0", "3").others, 3);
    CHECK_INT(observe("", "0", "hidden").others, 0);
}

int main(int argc, char **argv) {
    if (device_open(&gpu, &err)) {
        fprintf(stderr, "no GPU: %s\n", err.message);
        gpu.context = NULL;
    } else if (workshop_open(&gpu, &shop, &err)) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    if (!gpu.context) check_missing = "there is no GPU";
    int rc = check_run(argc, argv);
    workshop_close(&shop);
    device_close(&gpu);
    return rc;
}
