/* Facts about measurements that were imported: they serve once they have been verified on the GPU.
 * On the simulated GPU, or on GPU 0.
 *
 * usage: test_trust REDTUNE [FACT...]: the command, for verifying in a process of its own. */
#define _GNU_SOURCE
#include <time.h>
#include "check.h"
#include "gpu/simulator.h"
#include "program.h"
#include "tuner/measure/test_buffers.h"
#include "redtune/records.h"
#include "shaped.h"

static const char *command;
static redtune_error err;

static const redtune_options usual = {.database = NULL}, trusting = {.trust = REDTUNE_TRUST_ALL},
                             alone = {.trust = REDTUNE_TRUST_NONE};

/* ---- wrong and slow winners ------------------------------------------------------------------ */

FACT(wrong_winners_are_out_at_first_use) {
    outcome believed[CLAIMS_PROBLEMS], verified[CLAIMS_PROBLEMS], again[CLAIMS_PROBLEMS];
    listener heard;
    CHECK_OK(claims_import(claims_wrong, 0, CLAIMS_PROBLEMS, &err), err);
    CHECK_OK(program_try_all(&trusting, believed, &heard, &err), err);
    for (int i = 0; i < CLAIMS_PROBLEMS; i++) {
        CHECK(believed[i].sum != (float)claims_count_of(i));
        CHECK(believed[i].info.match == REDTUNE_MATCH_EXACT && believed[i].info.imported);
    }
    CHECK_INT(heard.verified + heard.out, 0);
    CHECK_OK(program_try_all(&usual, verified, &heard, &err), err);
    for (int i = 0; i < CLAIMS_PROBLEMS; i++) {
        CHECK(verified[i].sum == (float)claims_count_of(i));
        CHECK(!strstr(verified[i].info.config, "block=32,vec=2") && !verified[i].info.imported);
    }
    CHECK_INT(heard.out, CLAIMS_PROBLEMS);
    CHECK_INT(claims_rows_that("wrong").own, CLAIMS_PROBLEMS);
    CHECK_INT(claims_rows_that("good").imported, CLAIMS_PROBLEMS); /* nothing is deleted */
    CHECK_OK(program_try_all(&usual, again, &heard, &err), err);
    CHECK_INT(heard.out + heard.verified + heard.unverified, 0);
    for (int i = 0; i < CLAIMS_PROBLEMS; i++)
        CHECK_TEXT(again[i].info.config, verified[i].info.config);
}

FACT(slow_winners_cost_nothing_once_verified) {
    outcome believed[CLAIMS_PROBLEMS], verified[CLAIMS_PROBLEMS], baseline[CLAIMS_PROBLEMS];
    listener heard;
    double worst = 0, least = 1e9, slowest_ms = 0;
    CHECK_OK(claims_import(claims_slow, 0, CLAIMS_PROBLEMS, &err), err);
    CHECK_OK(program_try_all(&trusting, believed, &heard, &err), err);
    CHECK_OK(program_try_all(&alone, baseline, &heard, &err), err);
    CHECK_OK(program_try_all(&usual, verified, &heard, &err), err);
    CHECK_INT(heard.out, 0);
    for (int i = 0; i < CLAIMS_PROBLEMS; i++) {
        CHECK_INT(baseline[i].info.match, REDTUNE_MATCH_DEFAULT);
        double before = believed[i].ns / baseline[i].ns, now = verified[i].ns / baseline[i].ns;
        /* The clock of a real GPU's is not that good. */
        if (!claims_simulated() && !strcmp(verified[i].info.config, baseline[i].info.config))
            now = 1;
        if (before < least) least = before;
        if (now > worst) worst = now;
        if (verified[i].made_ms > slowest_ms) slowest_ms = verified[i].made_ms;
        CHECK(verified[i].sum == (float)claims_count_of(i));
    }
    printf("believed at least %.2f times the default's time, verified %.3f at most; the slowest "
           "plan took %.0f ms\n",
           least, worst, slowest_ms);
    CHECK(least > 1.05);
    CHECK(worst <= 1.05);
    CHECK(claims_rows_that("good").own + claims_rows_that("hung").own >= CLAIMS_PROBLEMS);
}

/* ---- what else must hold --------------------------------------------------------------------- */

FACT(trusting_none_leaves_them_aside) {
    outcome one;
    listener heard;
    CHECK_OK(claims_import(claims_wrong, 0, 1, &err), err);
    CHECK_OK(program_try_one(&alone, CLAIMS_STEP, &one, &heard, &err), err);
    CHECK_INT(one.info.match, REDTUNE_MATCH_DEFAULT);
    CHECK_INT(heard.out + heard.verified, 0);
    setenv("REDTUNE_TRUST", "none", 1);
    redtune_status status = program_try_one(&trusting, CLAIMS_STEP, &one, &heard, &err);
    setenv("REDTUNE_TRUST", "some", 1);
    program program = {.rt = NULL};
    redtune_error refused;
    redtune_status other = program_start(&program, &usual, &err);
    refused = err;
    unsetenv("REDTUNE_TRUST");
    CHECK_OK(status, err);
    CHECK_INT(one.info.match, REDTUNE_MATCH_DEFAULT);
    CHECK_INT(other, REDTUNE_INVALID);
    CHECK_CONTAINS(refused.message, "REDTUNE_TRUST=some");
}

/* The claim is of another count: it is verified there. */
FACT(the_nearest_size_is_verified_at_its_own) {
    outcome one;
    listener heard;
    CHECK_OK(claims_import(claims_wrong, 0, 1, &err), err);
    CHECK_OK(program_try_one(&usual, CLAIMS_STEP - 100, &one, &heard, &err), err);
    CHECK_INT(heard.out, 1);
    CHECK(one.sum == CLAIMS_STEP - 100);
    CHECK_INT(one.info.match, REDTUNE_MATCH_SIZE);
    CHECK_INT(one.info.tuned_count, CLAIMS_STEP);
}

FACT(a_database_that_takes_nothing_is_no_obstacle) {
    outcome one[2];
    char list[256];
    program program = {.rt = NULL};
    CHECK_OK(claims_import(claims_wrong, 0, 1, &err), err);
    snprintf(list, sizeof list, "/proc/nowhere/tuning.db:%s", claims_database);
    const redtune_options options = {.database = list};
    redtune_status status = program_start(&program, &options, &err);
    for (int i = 0; !status && i < 2; i++)
        status = program_try(&program, CLAIMS_STEP, &one[i], &err);
    redtune_close(program.rt);
    CHECK_OK(status, err);
    CHECK_INT(program.heard.out, 1);
    CHECK(one[0].sum == CLAIMS_STEP && one[1].sum == CLAIMS_STEP);
    CHECK_INT(claims_rows_that("wrong").own, 0);
}

FACT(without_time_the_default_serves) {
    outcome one;
    listener heard;
    const redtune_options hasty = {.verify_s = 1e-6};
    CHECK_OK(claims_import(claims_slow, 7, 1, &err), err);
    CHECK_OK(program_try_one(&hasty, claims_count_of(7), &one, &heard, &err), err);
    CHECK_INT(heard.unverified, 1);
    CHECK_INT(one.info.match, REDTUNE_MATCH_DEFAULT);
    CHECK(one.sum == (float)claims_count_of(7));
    /* It is only put off. */
    CHECK_OK(program_try_one(&usual, claims_count_of(7), &one, &heard, &err), err);
    CHECK_INT(one.info.match, REDTUNE_MATCH_EXACT);
    CHECK(heard.verified > 0);
}

/* What was verified or refuted is decided: the next claim of the same problem has its turn. */
FACT(a_decided_claim_leaves_the_others_their_turn) {
    outcome one;
    listener heard;
    CHECK_OK(claims_import(claims_wrong, 0, 1, &err), err);
    CHECK_OK(claims_add(claims_slow, 0, 1, &err), err);
    CHECK_OK(program_try_one(&usual, CLAIMS_STEP, &one, &heard, &err), err);
    CHECK(one.sum == CLAIMS_STEP);
    CHECK_INT(heard.out, 1);
    CHECK_INT(claims_rows_that("good").own, 1);
}

/* One warp for 32 MiB would take forever; no plan waits for that. */
FACT(what_is_hopeless_is_not_tried) {
    const uint64_t count = UINT64_C(1) << 23;
    redtune_plan *plan = NULL;
    redtune_info info = {.match = REDTUNE_MATCH_EXACT};
    program program = {.rt = NULL};
    const redtune_problem problem = claims_sum_of(count);
    CHECK_OK(claims_import(claims_slow, (int)(count / CLAIMS_STEP) - 1, 1, &err), err);
    redtune_status status = program_start(&program, &trusting, &err);
    if (!status) status = redtune_plan_create(program.rt, &problem, &plan, &err);
    if (!status) redtune_plan_info(plan, &info);
    redtune_plan_destroy(plan);
    redtune_close(program.rt);
    CHECK_OK(status, err);
    CHECK(info.imported && strstr(info.config, "finish=single"));
    plan = NULL;
    program.rt = NULL;
    status = program_start(&program, &usual, &err);
    double before = program_now_ms();
    if (!status) status = redtune_plan_create(program.rt, &problem, &plan, &err);
    double took_ms = program_now_ms() - before;
    if (!status) redtune_plan_info(plan, &info);
    redtune_plan_destroy(plan);
    redtune_close(program.rt);
    CHECK_OK(status, err);
    CHECK_INT(info.match, REDTUNE_MATCH_DEFAULT);
    CHECK_INT(program.heard.verified + program.heard.out + program.heard.unverified, 0);
    /* What is left undecided is not asked again. */
    CHECK_INT(program.heard.hopeless, 1);
    CHECK(took_ms < 5000);
}

/* Takes so much memory that verifying sums of more than so many elements does not fit. */
static redtune_status leave_room_for(uint64_t count, rdt_buffer *taken) {
    const redtune_problem problem = PROBLEM(REDTUNE_SUM, REDTUNE_F32, REDTUNE_F32, .count = count);
    uint64_t quarter = 1 << 20, free_bytes = 0;
    while (rdt_test_buffers_count_within(&claims_adder.gpu.context->facts, quarter, &problem) <
           count)
        quarter += 1 << 12;
    redtune_status status = rdt_context_free_bytes(claims_adder.gpu.context, &free_bytes, &err);
    return status ? status
                  : rdt_buffer_create(claims_adder.gpu.context->driver, free_bytes - 4 * quarter,
                                      taken, &err);
}

/* Verified at the largest power of two that fits, and chosen from there; once. */
FACT(what_does_not_fit_is_verified_at_less) {
    if (!claims_simulated()) SKIP("the driver takes memory as it likes");
    outcome one[2];
    listener heard[2];
    rdt_buffer taken = {NULL};
    char config[RDT_CONFIG_TEXT_BYTES];
    program program = {.rt = NULL};
    claims_wrong(0, config);
    CHECK_OK(claims_import(claims_wrong, 15, 1, &err), err); /* of 8192 */
    redtune_status status = program_start(&program, &usual, &err);
    /* What plans and streams share is there from then on. */
    for (int i = 0; !status && i < 3; i++) status = program_try(&program, 64, &one[0], &err);
    if (!status) status = leave_room_for(6000, &taken);
    if (!status) status = program_try(&program, 8192, &one[0], &err);
    heard[0] = program.heard;
    if (!status) status = program_try(&program, 8192, &one[1], &err);
    rdt_buffer_destroy(&taken);
    redtune_close(program.rt);
    CHECK_OK(status, err);
    CHECK_INT(heard[0].out, 1);
    CHECK_INT(program.heard.out, 1);
    CHECK_INT(program.heard.unverified, 0);
    for (int i = 0; i < 2; i++) {
        CHECK(one[i].sum == 8192);
        CHECK_INT(one[i].info.match, REDTUNE_MATCH_SIZE);
        CHECK_INT(one[i].info.tuned_count, 4096);
    }
}

FACT(in_the_background_the_default_serves_meanwhile) {
    program program = {.rt = NULL};
    redtune_plan *plan = NULL;
    redtune_info info;
    const redtune_options options = {.background = 1};
    const redtune_problem problem = claims_sum_of(CLAIMS_STEP);
    CHECK_OK(claims_import(claims_wrong, 0, 1, &err), err);
    CHECK_OK(program_start(&program, &options, &err), err);
    redtune_status status = redtune_plan_create(program.rt, &problem, &plan, &err);
    redtune_plan_info(plan, &info);
    bool pending = info.pending != 0,
         right = adder_sum(&claims_adder, plan, CLAIMS_STEP, &err) == CLAIMS_STEP;
    for (int waited = 0; info.pending && waited < 600; waited++) {
        nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
        redtune_plan_info(plan, &info);
    }
    right &= adder_sum(&claims_adder, plan, CLAIMS_STEP, &err) == CLAIMS_STEP;
    redtune_plan_destroy(plan);
    redtune_close(program.rt);
    CHECK_OK(status, err);
    CHECK(pending && right);
    CHECK_INT(info.pending, 0);
    CHECK_INT(program.heard.out, 1);
    CHECK_INT(info.match, REDTUNE_MATCH_EXACT);
}

FACT(explain_says_what_will_be_verified) {
    redtune_explanation found;
    outcome one;
    listener heard;
    const redtune_question question = {
        .database = claims_database, .device = "0", .problem = claims_sum_of(CLAIMS_STEP)};
    CHECK_OK(claims_import(claims_wrong, 0, 1, &err), err);
    CHECK_OK(redtune_explain(&question, &found, &err), err);
    CHECK(found.imported && found.to_verify);
    CHECK_CONTAINS(found.info.config, "block=32,vec=2");
    CHECK(found.driver_differs);
    CHECK_OK(program_try_one(&usual, CLAIMS_STEP, &one, &heard, &err), err);
    CHECK_OK(redtune_explain(&question, &found, &err), err);
    CHECK(!found.imported && !found.to_verify);
    CHECK_TEXT(found.info.config, one.info.config);
    CHECK(!found.driver_differs);
}

/* Whatever call of the driver fails while a claim is verified: what serves is right, nothing is
 * left behind, and the next program verifies it. */
FACT(a_failing_driver_lets_nothing_wrong_serve) {
    static const char *const entries[] = {
        "cuMemAlloc_v2",
        "cuStreamCreate",
        "cuEventCreate",
        "cuGraphLaunch",
        "cuLaunchKernel",
        "cuMemcpyDtoHAsync_v2",
        "cuEventRecord",
        "cuModuleLoadData",
        "cuMemsetD8Async",
        "cuStreamBeginCapture_v2",
        "cuGraphInstantiateWithFlags",
    };
    simulator sim;
    int made = 0, failed = 0, unverified = 0;
    if (!simulator_find(&sim)) SKIP("there is no simulated GPU");
    for (size_t i = 0; i < 2 * (sizeof entries / sizeof *entries); i++) {
        const char *entry = entries[i / 2];
        program program = {.rt = NULL};
        redtune_plan *plan = NULL;
        const redtune_problem problem = claims_sum_of(CLAIMS_STEP);
        char rule[128];
        uint64_t before = 0, after = 0;
        CHECK_OK(claims_import(claims_wrong, 0, 1, &err), err);
        rdt_context_free_bytes(claims_adder.gpu.context, &before, &err);
        CHECK_OK(program_start(&program, &usual, &err), err);
        snprintf(rule, sizeof rule, "%s:%llu:CUDA_ERROR_OUT_OF_MEMORY", entry,
                 (unsigned long long)(sim.calls(entry) + (i % 2 ? 4 : 1)));
        sim.set("REDTUNE_SIM_FAIL", rule);
        redtune_status status = redtune_plan_create(program.rt, &problem, &plan, &err);
        sim.set("REDTUNE_SIM_FAIL", NULL);
        bool right = status || adder_sum(&claims_adder, plan, CLAIMS_STEP, &err) == CLAIMS_STEP;
        made += !status;
        failed += status != 0;
        unverified += program.heard.unverified;
        redtune_plan_destroy(plan);
        redtune_close(program.rt);
        rdt_context_free_bytes(claims_adder.gpu.context, &after, &err);
        if (!right || before != after) fprintf(stderr, "with %s\n", rule);
        CHECK(right);
        CHECK_INT(after, before);
    }
    printf("%d plans were made and %d not; %d did without verifying\n", made, failed, unverified);
    CHECK(made > failed && unverified > 0);
    outcome one;
    listener heard;
    CHECK_OK(claims_import(claims_wrong, 0, 1, &err), err);
    CHECK_OK(program_try_one(&usual, CLAIMS_STEP, &one, &heard, &err), err);
    CHECK_INT(heard.out, 1);
}

FACT(a_fault_in_a_worker_costs_only_the_worker) {
    outcome one;
    listener heard;
    const redtune_options apart = {.worker = command};
    CHECK_OK(claims_import(claims_fault, 1, 1, &err), err);
    CHECK_OK(program_try_one(&apart, claims_count_of(1), &one, &heard, &err), err);
    CHECK(one.sum == (float)claims_count_of(1));
    CHECK_INT(heard.out, 1);
    CHECK_INT(claims_rows_that("faulted").own, 1);
}

/* The last fact: the context is of no use afterwards. */
FACT(a_fault_here_is_not_met_again) {
    outcome one;
    listener heard;
    CHECK_OK(claims_import(claims_fault, 1, 1, &err), err);
    CHECK_INT(program_try_one(&usual, claims_count_of(1), &one, &heard, &err), REDTUNE_DEVICE);
    CHECK_INT(claims_rows_that("faulted").own, 1);
}

int main(int argc, char **argv) {
    if (argc < 2) return EXIT_FAILURE;
    command = argv[1];
    redtune_status status = claims_begin(&err);
    if (status) fprintf(stderr, "cannot prepare: %s\n", err.message);
    int rc = status ? EXIT_FAILURE : check_run(argc - 1, argv + 1);
    claims_end();
    return rc;
}
