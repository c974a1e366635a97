/* Facts about calls of teams: captures, which device each rank has, what is refused, teams without
 * NCCL, and failures of each of its entries, which a stand-in has (tests/fixtures/nccl.c). */
#define _XOPEN_SOURCE 700
#include "check.h"
#include "crew.h"
#include "simulator.h"

enum { COUNT = 600, RANKS_MAX = 3 };

static redtune_error err;
static crew all;

/* A sum of f32 that are 1: each rank's part is COUNT. */
static redtune_plan *plans[CREW_MAX];
static redtune_operands operands[CREW_MAX];

static bool is_simulated(void) {
    return strstr(all.rank[0].context->facts.name, "simulated") != NULL;
}

static void *pointer_to(CUdeviceptr address) { return (void *)(uintptr_t)address; }

static void give_elements(float value) {
    float ones[COUNT];
    for (int i = 0; i < COUNT; i++) ones[i] = value;
    for (int i = 0; i < all.size; i++)
        CHECK_OK(crew_write(&all, i, all.rank[i].input[0].address, ones, sizeof ones, &err), err);
}

static void give_calls(redtune_team_call calls[CREW_MAX]) {
    for (int i = 0; i < all.size; i++) {
        crew_rank *rank = &all.rank[i];
        operands[i] = (redtune_operands){.d_in = {pointer_to(rank->input[0].address)},
                                         .d_out = {pointer_to(rank->output[0].address)},
                                         .count = COUNT};
        calls[i] = (redtune_team_call){plans[i], rank->team, &operands[i], (uint64_t)i * COUNT,
                                       rank->stream};
    }
}

static void open_plans(redtune_op op) {
    const redtune_problem problem = redtune_problem_whole(op, REDTUNE_F32, COUNT);
    for (int i = 0; i < all.size; i++)
        CHECK_OK(redtune_plan_create(all.rank[i].rt, &problem, &plans[i], &err), err);
    give_elements(1);
}

static void close_plans(void) {
    for (int i = 0; i < all.size; i++) {
        redtune_plan_destroy(plans[i]);
        plans[i] = NULL;
    }
}

static redtune_status run_all(void) {
    redtune_team_call calls[CREW_MAX] = {{0}};
    give_calls(calls);
    return redtune_team_run_all(calls, (size_t)all.size, &err);
}

static void check_sums(float wanted) {
    for (int i = 0; i < all.size; i++) {
        float got = 0;
        CHECK_OK(crew_read(&all, i, &got, all.rank[i].output[0].address, sizeof got, &err), err);
        check_that(got >= wanted && got <= wanted, __FILE__, __LINE__, "rank %d has %g, not %g", i,
                   (double)got, (double)wanted);
    }
}

/* ---- captures -------------------------------------------------------------------------------- */

typedef struct capture {
    CUgraph graph;
    CUgraphExec exec;
} capture;

static CUresult begin_capture(int i) {
    bool entered;
    rdt_context_enter(all.rank[i].context, &entered, NULL);
    CUresult rc = all.rank[i].driver->stream_begin_capture(all.rank[i].stream,
                                                           CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
    rdt_context_leave(all.rank[i].context, entered);
    return rc;
}

static CUresult end_capture(int i, capture *out) {
    const rdt_driver *driver = all.rank[i].driver;
    bool entered;
    rdt_context_enter(all.rank[i].context, &entered, NULL);
    /* The other streams of this thread may still be captured. */
    CUstreamCaptureMode mode = rdt_context_relax(all.rank[i].context);
    CUresult rc = driver->stream_end_capture(all.rank[i].stream, &out->graph);
    if (!rc) rc = driver->graph_instantiate(&out->exec, out->graph, 0);
    rdt_context_restore(all.rank[i].context, mode);
    rdt_context_leave(all.rank[i].context, entered);
    return rc;
}

static void close_capture(int i, capture *self) {
    bool entered;
    rdt_context_enter(all.rank[i].context, &entered, NULL);
    if (self->exec) all.rank[i].driver->graph_exec_destroy(self->exec);
    if (self->graph) all.rank[i].driver->graph_destroy(self->graph);
    rdt_context_leave(all.rank[i].context, entered);
}

static void replay(const capture *graphs) {
    for (int i = 0; i < all.size; i++) {
        bool entered;
        rdt_context_enter(all.rank[i].context, &entered, NULL);
        CHECK_INT(all.rank[i].driver->graph_launch(graphs[i].exec, all.rank[i].stream), 0);
        rdt_context_leave(all.rank[i].context, entered);
    }
}

/* The stand-in's copies bring what the others had before: a second round has all of this one. */
static void replay_rounds(const capture *graphs, float value, int rounds) {
    give_elements(value);
    for (int round = 0; round < rounds; round++) replay(graphs);
    check_sums(value * (float)COUNT * (float)all.size);
}

FACT(runs_can_be_captured_and_replayed) {
    capture graphs[CREW_MAX] = {{0}};
    open_plans(REDTUNE_SUM);
    for (int i = 0; i < all.size; i++) CHECK_OK(redtune_team_prepare(plans[i], &err), err);
    for (int i = 0; i < all.size; i++) CHECK_INT(begin_capture(i), 0);
    CHECK_OK(run_all(), err);
    for (int i = 0; i < all.size; i++) CHECK_INT(end_capture(i, &graphs[i]), 0);
    for (int value = 1; value <= 3; value++)
        replay_rounds(graphs, (float)value, is_simulated() ? 2 : 1000);
    CHECK_OK(run_all(), err); /* between replays */
    check_sums(3.F * COUNT * (float)all.size);
    for (int i = 0; i < all.size; i++) close_capture(i, &graphs[i]);
    close_plans();
}

FACT(first_run_in_a_capture_is_refused_and_leaves_it_whole) {
    capture graph = {0};
    open_plans(REDTUNE_MAX);
    CHECK_INT(begin_capture(0), 0);
    redtune_team_call calls[CREW_MAX] = {{0}};
    give_calls(calls);
    CHECK_FAILS(redtune_team_run_all(calls, 1, &err), REDTUNE_UNPREPARED, err,
                "redtune_team_prepare");
    CHECK_INT(end_capture(0, &graph), 0);
    close_capture(0, &graph);
    close_plans();
}

/* ---- teams of one ---------------------------------------------------------------------------- */

FACT(team_of_one_needs_no_communicator) {
    redtune_team *one = NULL;
    redtune_team_info info;
    float got = 0;
    open_plans(REDTUNE_SUM);
    redtune_team_call calls[CREW_MAX] = {{0}};
    give_calls(calls);
    CHECK_OK(redtune_team_create(all.rank[0].rt, NULL, NULL, &one, &err), err);
    redtune_team_get(one, &info);
    CHECK_INT(info.ranks, 1);
    CHECK_INT(info.rank, 0);
    CHECK_INT(info.nccl_version, 0);
    CHECK_OK(redtune_team_run(plans[0], one, &operands[0], 0, all.rank[0].stream, &err), err);
    CHECK_OK(crew_read(&all, 0, &got, all.rank[0].output[0].address, sizeof got, &err), err);
    CHECK(got >= COUNT && got <= COUNT);
    CHECK_OK(redtune_team_check(one, &err), err);
    redtune_team_destroy(one);
    close_plans();
}

FACT(team_knows_its_ranks) {
    for (int i = 0; i < all.size; i++) {
        redtune_team_info info;
        redtune_team_get(all.rank[i].team, &info);
        CHECK_INT(info.ranks, all.size);
        CHECK_INT(info.rank, i);
        CHECK(info.nccl_version >= 21000);
        CHECK_OK(redtune_team_check(all.rank[i].team, &err), err);
    }
}

/* ---- shares ---------------------------------------------------------------------------------- */

static void check_shares(redtune_order order, uint64_t count) {
    const redtune_problem problem = {.op = REDTUNE_SUM, .dtype = REDTUNE_F32, .order = order};
    uint64_t at = 0;
    for (int i = 0; i < all.size; i++) {
        redtune_plan *plan = NULL;
        uint64_t first = 0, part = 0;
        CHECK_OK(redtune_plan_create(all.rank[i].rt, &problem, &plan, &err), err);
        CHECK_OK(redtune_team_share(all.rank[i].team, plan, count, &first, &part, &err), err);
        CHECK(part == 0 || first == at);
        CHECK(first + part == count || first + part == at + part);
        at += part;
        redtune_plan_destroy(plan);
    }
    CHECK(at == count);
}

FACT(shares_are_all_of_the_array) {
    static const uint64_t counts[] = {0, 1, 1023, 1024, 1025, 10000, 1 << 20, UINT64_C(5000000000)};
    for (size_t i = 0; i < sizeof counts / sizeof *counts && !check_state.failed; i++) {
        check_shares(REDTUNE_ORDER_FREE, counts[i]);
        if (!check_state.failed) check_shares(REDTUNE_ORDER_FIXED, counts[i]);
    }
}

/* ---- what is refused ------------------------------------------------------------------------- */

static void refuse_plan(const redtune_problem *problem, const char *words) {
    redtune_plan *plan = NULL;
    CHECK_OK(redtune_plan_create(all.rank[0].rt, problem, &plan, &err), err);
    CHECK_FAILS(redtune_team_prepare(plan, &err), REDTUNE_UNSUPPORTED, err, words);
    CHECK_FAILS(redtune_team_run(plan, all.rank[0].team, &operands[0], 0, NULL, &err),
                REDTUNE_UNSUPPORTED, err, words);
    redtune_plan_destroy(plan);
}

FACT(plans_with_uses_are_refused) {
    refuse_plan(&(redtune_problem){.dtype = REDTUNE_F32, .uses = REDTUNE_USE_DEVICE_COUNT},
                "its uses are not 0");
}

FACT(options_that_are_not_known_are_refused) {
    const redtune_team_options options = {.reserved = {1}};
    redtune_team *one = NULL;
    CHECK_FAILS(redtune_team_create(all.rank[0].rt, NULL, &options, &one, &err),
                REDTUNE_UNSUPPORTED, err, "redtune_team_options");
}

FACT(parts_between_chunks_are_refused_in_fixed_order) {
    if (all.size < 2) SKIP("there are no two GPUs, or no NCCL");
    const redtune_problem problem = {.dtype = REDTUNE_F32, .order = REDTUNE_ORDER_FIXED};
    static const struct {
        uint64_t first, count;
    } wrong[] = {{1000, COUNT}, {1025, COUNT}, {3 * 1024, COUNT}, {1024, 1025}, {2048, 2049}};
    redtune_plan *plan = NULL;
    crew_rank *rank = &all.rank[1];
    /* More elements than an input has, none of which is read: they lie where no output is. */
    redtune_operands part = {.d_in = {pointer_to(rank->output[0].address + 65536)},
                             .d_out = {pointer_to(rank->output[0].address)}};
    CHECK_OK(redtune_plan_create(rank->rt, &problem, &plan, &err), err);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        part.count = wrong[i].count;
        CHECK_FAILS(redtune_team_run(plan, rank->team, &part, wrong[i].first, rank->stream, &err),
                    REDTUNE_UNSUPPORTED, err, "a power of two of chunks of 1024 elements");
    }
    redtune_plan_destroy(plan);
}

FACT(calls_that_make_no_sense_are_refused) {
    redtune_team *team = NULL;
    open_plans(REDTUNE_SUM);
    redtune_team_call calls[CREW_MAX] = {{0}};
    give_calls(calls);
    redtune_team_call twice[2] = {calls[0], calls[0]};
    CHECK_FAILS(redtune_team_run_all(twice, 2, &err), REDTUNE_INVALID, err, "the same team");
    twice[0].reserved[1] = 1;
    CHECK_FAILS(redtune_team_run_all(twice, 1, &err), REDTUNE_UNSUPPORTED, err,
                "redtune_team_call");
    CHECK_FAILS(redtune_team_run(NULL, all.rank[0].team, &operands[0], 0, NULL, &err),
                REDTUNE_INVALID, err, "the plan or the team is NULL");
    CHECK_FAILS(redtune_team_run(plans[0], NULL, &operands[0], 0, NULL, &err), REDTUNE_INVALID, err,
                "the plan or the team is NULL");
    CHECK_FAILS(redtune_team_run(plans[0], all.rank[0].team, NULL, 0, NULL, &err), REDTUNE_INVALID,
                err, "either operands or segments");
    if (all.size > 1)
        CHECK_FAILS(redtune_team_run(plans[0], all.rank[1].team, &operands[0], 0, NULL, &err),
                    REDTUNE_INVALID, err, "the team is of another redtune than the plan");
    operands[0].workspace = (redtune_workspace *)&all;
    CHECK_FAILS(redtune_team_run(plans[0], all.rank[0].team, &operands[0], 0, NULL, &err),
                REDTUNE_INVALID, err, "a workspace of its own");
    operands[0].workspace = NULL;
    operands[0].d_out[0] = NULL;
    CHECK_FAILS(redtune_team_run(plans[0], all.rank[0].team, &operands[0], 0, NULL, &err),
                REDTUNE_INVALID, err, "d_out");
    CHECK_FAILS(redtune_team_create(NULL, NULL, NULL, &team, &err), REDTUNE_INVALID, err, "rt");
    CHECK_FAILS(redtune_team_check(NULL, &err), REDTUNE_INVALID, err, "NULL");
    if (all.size > 1)
        CHECK_FAILS(redtune_team_create(all.rank[0].rt, all.rank[1].comm, NULL, &team, &err),
                    REDTUNE_INVALID, err, "the communicator is of GPU 1");
    close_plans();
}

/* ---- failures of NCCL ------------------------------------------------------------------------ */

static redtune_status create_one(redtune_team **team) {
    return redtune_team_create(all.rank[0].rt, all.rank[0].comm, NULL, team, &err);
}

FACT(every_entry_may_fail_when_a_team_is_made) {
    if (!all.size || !is_simulated()) SKIP("there is no stand-in for NCCL");
    static const char *const entries[] = {"ncclGetVersion", "ncclCommGetAsyncError",
                                          "ncclCommCount", "ncclCommUserRank", "ncclCommCuDevice"};
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++) {
        redtune_team *team = NULL;
        setenv("RDT_TEST_NCCL_FAILS", entries[i], 1);
        redtune_status status = create_one(&team);
        unsetenv("RDT_TEST_NCCL_FAILS");
        CHECK_INT(status, REDTUNE_TEAM);
        CHECK_INT(err.code, 1);
        CHECK_CONTAINS(err.message, "a failure that the test asked for");
        CHECK(!team);
    }
}

FACT(every_entry_may_fail_in_a_run) {
    if (all.size < 2 || !is_simulated()) SKIP("there is no stand-in for NCCL");
    static const char *const entries[] = {"ncclGroupStart", "ncclAllGather", "ncclGroupEnd",
                                          "ncclCommGetAsyncError"};
    open_plans(REDTUNE_SUM);
    CHECK_OK(run_all(), err);
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++) {
        setenv("RDT_TEST_NCCL_FAILS", entries[i], 1);
        setenv("RDT_TEST_NCCL_LAST", "the last words", 1);
        redtune_status status = run_all();
        unsetenv("RDT_TEST_NCCL_FAILS");
        unsetenv("RDT_TEST_NCCL_LAST");
        CHECK_INT(status, REDTUNE_TEAM);
        CHECK_CONTAINS(err.message, "a failure that the test asked for; the last words");
        CHECK_OK(run_all(), err); /* nothing is left behind */
        check_sums((float)COUNT * (float)all.size);
    }
    close_plans();
}

FACT(rank_that_does_not_come_is_told) {
    if (all.size < 2 || !is_simulated()) SKIP("there is no stand-in for NCCL");
    open_plans(REDTUNE_SUM);
    redtune_team_call calls[CREW_MAX] = {{0}};
    give_calls(calls);
    setenv("RDT_TEST_NCCL_WAIT_MS", "50", 1);
    CHECK_FAILS(redtune_team_run_all(calls, 1, &err), REDTUNE_TEAM, err, "remote process exited");
    CHECK_INT(err.code, 6);
    setenv("RDT_TEST_NCCL_STATE", "6", 1);
    redtune_status status = redtune_team_check(all.rank[0].team, &err);
    unsetenv("RDT_TEST_NCCL_STATE");
    unsetenv("RDT_TEST_NCCL_WAIT_MS");
    CHECK_INT(status, REDTUNE_TEAM);
    CHECK_CONTAINS(err.message, "cannot go on with the communicator");
    close_plans();
}

FACT(waiting_for_a_stream_has_a_limit) {
    simulator sim;
    if (!all.size || !simulator_find(&sim)) SKIP("there is no simulated GPU");
    redtune_team *team = all.rank[0].team;
    const CUstream stream = all.rank[0].stream;
    CHECK_OK(redtune_team_wait(team, stream, 5, &err), err);
    CHECK_OK(redtune_team_wait(team, stream, 0, &err), err);
    CHECK(sim.set("REDTUNE_SIM_FAIL", "cuStreamQuery:1:600:on"));
    redtune_status status = redtune_team_wait(team, stream, 0.01, &err);
    CHECK_INT(status, REDTUNE_TEAM);
    CHECK_CONTAINS(err.message, "rank 0 of");
    CHECK_CONTAINS(err.message, "within 0.01 seconds");
    setenv("RDT_TEST_NCCL_STATE", "6", 1);
    status = redtune_team_wait(team, stream, 0, &err);
    unsetenv("RDT_TEST_NCCL_STATE");
    CHECK_INT(status, REDTUNE_TEAM);
    CHECK_CONTAINS(err.message, "remote process exited");
    CHECK(sim.set("REDTUNE_SIM_FAIL", "cuStreamQuery:1:999:on"));
    CHECK_FAILS(redtune_team_wait(team, stream, 5, &err), REDTUNE_DEVICE, err, "finish work");
    CHECK(sim.set("REDTUNE_SIM_FAIL", ""));
    CHECK_FAILS(redtune_team_wait(team, stream, -1, &err), REDTUNE_INVALID, err, "limit_s is -1");
    CHECK_FAILS(redtune_team_wait(NULL, stream, 1, &err), REDTUNE_INVALID, err, "NULL");
}

/* A communicator that does not block: what was asked of it begins later, or never. */
FACT(gather_that_is_in_progress_is_waited_for) {
    if (all.size < 2 || !is_simulated()) SKIP("there is no stand-in for NCCL");
    const redtune_team_options options = {.wait_s = 0.05};
    redtune_team *team = NULL;
    open_plans(REDTUNE_SUM);
    setenv("RDT_TEST_NCCL_SLOW", "5", 1);
    redtune_status status = run_all();
    unsetenv("RDT_TEST_NCCL_SLOW");
    CHECK_OK(status, err);
    check_sums((float)COUNT * (float)all.size);
    CHECK_OK(redtune_team_create(all.rank[0].rt, all.rank[0].comm, &options, &team, &err), err);
    redtune_team_call calls[CREW_MAX] = {{0}};
    give_calls(calls);
    calls[0].team = team;
    setenv("RDT_TEST_NCCL_SLOW", "1000000", 1);
    status = redtune_team_run_all(calls, (size_t)all.size, &err);
    unsetenv("RDT_TEST_NCCL_SLOW");
    CHECK_INT(status, REDTUNE_TEAM);
    CHECK_CONTAINS(err.message, "NCCL has not begun after 0.05 seconds");
    redtune_team_destroy(team);
    close_plans();
}

FACT(missing_or_old_nccl_is_told) {
    if (!all.size || !is_simulated()) SKIP("there is no stand-in for NCCL");
    redtune_team *team = NULL;
    char *chosen = strdup(getenv("REDTUNE_NCCL"));
    setenv("RDT_TEST_NCCL_VERSION", "2804", 1);
    CHECK_FAILS(create_one(&team), REDTUNE_LIBRARY, err, "a team needs 2.10 or newer");
    CHECK_CONTAINS(err.message, "NCCL 2.8");
    unsetenv("RDT_TEST_NCCL_VERSION");
    unsetenv("REDTUNE_NCCL");
    CHECK_FAILS(create_one(&team), REDTUNE_LIBRARY, err, "looked in what this process has loaded");
    CHECK_CONTAINS(err.message, "cannot find NCCL (libnccl.so.2)");
    setenv("REDTUNE_NCCL", "/nowhere/libnccl.so.2", 1);
    CHECK_FAILS(create_one(&team), REDTUNE_LIBRARY, err, "REDTUNE_NCCL=/nowhere/libnccl.so.2");
    setenv("REDTUNE_NCCL", chosen, 1);
    free(chosen);
    CHECK(!team);
}

int main(int argc, char **argv) {
    return crew_run(RANKS_MAX, COUNT * sizeof(double), &all, argc, argv);
}
