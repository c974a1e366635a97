/* Facts about teams whose ranks send through each other's memory: the results are those that go
 * through NCCL, run after run, captured or not, and a rank waits for another for a time only. */
#define _POSIX_C_SOURCE 200809L
#include "api/team/team.h"
#include "base/clock.h"
#include "check.h"
#include "crew.h"
#include "gpu/graph.h"
#include "shaped.h"
#include "simulator.h"
#include "model/scalar.h"

enum { COUNT = 300, RANKS_MAX = 3, RUNS = 7 };

static redtune_error err;
static crew all;

static bool is_simulated(void) { return rdt_facts_is_simulated(&all.rank[0].context->facts); }

static void *pointer_to(CUdeviceptr address) { return (void *)(uintptr_t)address; }

/* Whether this crew can send so at all; the way that was measured to be faster does not matter. */
static bool use_peers(bool by_peers) {
    for (int i = 0; i < all.size; i++) {
        if (!all.rank[i].team->peers) return false;
        all.rank[i].team->by_peers = by_peers;
    }
    return true;
}

/* The last rank asks last. The others find that it is not ready, and send by NCCL, too. */
FACT(one_rank_that_reaches_nobody_keeps_all_from_it) {
    simulator sim;
    if (all.size < 2 || !simulator_find(&sim)) SKIP("there are no two simulated GPUs, or no NCCL");
    redtune_team *teams[CREW_MAX];
    char failing[64];
    for (int i = 0; i < all.size; i++) teams[i] = all.rank[i].team;
    snprintf(failing, sizeof failing, "cuDeviceCanAccessPeer:%d:999", all.size * (all.size - 1));
    CHECK(sim.set("REDTUNE_SIM_FAIL", failing));
    redtune_status status = redtune_team_connect(teams, (size_t)all.size, &err);
    CHECK(sim.set("REDTUNE_SIM_FAIL", ""));
    CHECK_OK(status, err);
    for (int i = 0; i < all.size; i++) CHECK(!teams[i]->peers && !teams[i]->by_peers);
}

/* Whether rank 0 finds a way to a rank of that card. */
static bool does_reach(rdt_peers *peers, const rdt_peer_card *other) {
    rdt_peer_card cards[2];
    bool reached = false;
    rdt_peers_describe(peers, &cards[0]);
    cards[1] = *other;
    const redtune_status status = rdt_peers_open_mailboxes(peers, cards, &reached, &err);
    return !status && reached;
}

FACT(memory_of_another_host_is_out_of_reach) {
    if (all.size < 2) SKIP("there are no two GPUs, or no NCCL");
    const rdt_context *context = all.rank[0].context;
    rdt_peers *peers = NULL;
    bool entered = false;
    rdt_peer_card other = {.host = 0};
    CHECK_OK(rdt_context_enter(context, &entered, &err), err);
    redtune_status status = rdt_peers_create(context, 2, 0, 1, &peers, &err);
    if (!status) {
        rdt_peers_describe(peers, &other);
        other.context = (uint64_t)(uintptr_t)all.rank[1].context->handle;
        other.device = (uint32_t)all.rank[1].context->device;
        CHECK(!is_simulated() || does_reach(peers, &other));
        other.host++;
        CHECK(!does_reach(peers, &other));
    }
    rdt_peers_destroy(peers, false);
    rdt_context_leave(context, entered);
    CHECK_OK(status, err);
}

FACT(ranks_can_be_connected_once) {
    if (all.size < 2) SKIP("there are no two GPUs, or no NCCL");
    redtune_team *teams[CREW_MAX], *one = NULL;
    redtune_team_info info;
    for (int i = 0; i < all.size; i++) teams[i] = all.rank[i].team;
    CHECK_OK(redtune_team_connect(teams, (size_t)all.size, &err), err);
    for (int i = 0; i < all.size; i++) {
        redtune_team_get(teams[i], &info);
        printf("rank %d: %.1f us by NCCL, %.1f by peer memory\n", i, info.nccl_ns / 1e3,
               info.peers_ns / 1e3);
        if (is_simulated()) CHECK(info.nccl_ns > 0 && info.peers_ns > 0);
        CHECK_INT(info.by_peers, info.peers_ns > 0 && info.peers_ns < info.nccl_ns);
    }
    if (!use_peers(true)) SKIP("the GPUs do not reach each other's memory");
    CHECK_FAILS(redtune_team_connect(teams, (size_t)all.size, &err), REDTUNE_INVALID, err,
                "connected already");
    CHECK_OK(redtune_team_create(all.rank[0].rt, NULL, NULL, &one, &err), err);
    CHECK_FAILS(redtune_team_connect(&one, 1, &err), REDTUNE_INVALID, err, "no communicator");
    redtune_team_destroy(one);
    CHECK_FAILS(redtune_team_connect(NULL, 1, &err), REDTUNE_INVALID, err, "NULL");
    CHECK_OK(redtune_team_connect(NULL, 0, &err), err);
}

/* ---- results --------------------------------------------------------------------------------- */

typedef struct operation {
    redtune_problem problem;
    redtune_plan *plan[CREW_MAX];
    redtune_operands operands[CREW_MAX];
    redtune_team_call calls[CREW_MAX];
} operation;

static void open_operation(operation *self, redtune_op op, redtune_dtype dtype) {
    *self = (operation){.problem = redtune_problem_whole(op, dtype, COUNT)};
    CHECK_OK(rdt_problem_resolve(&self->problem, &self->problem, &err), err);
    const bool two = rdt_problem_second(&self->problem) != REDTUNE_DTYPE_NONE;
    for (int i = 0; i < all.size; i++) {
        const crew_rank *rank = &all.rank[i];
        CHECK_OK(redtune_plan_create(rank->rt, &self->problem, &self->plan[i], &err), err);
        CHECK_OK(redtune_team_prepare(self->plan[i], &err), err);
        self->operands[i] =
            (redtune_operands){.d_in = {pointer_to(rank->input[0].address)},
                               .d_out = {pointer_to(rank->output[0].address),
                                         two ? pointer_to(rank->output[1].address) : NULL},
                               .count = COUNT};
        self->calls[i] = (redtune_team_call){self->plan[i], rank->team, &self->operands[i],
                                             (uint64_t)i * COUNT, rank->stream};
    }
}

static void close_operation(operation *self) {
    for (int i = 0; i < all.size; i++) redtune_plan_destroy(self->plan[i]);
}

static void give(redtune_dtype dtype, int run) {
    char part[COUNT * 8];
    const size_t bytes = redtune_dtype_bytes(dtype);
    for (int i = 0; i < all.size; i++) {
        for (int k = 0; k < COUNT; k++) {
            const double real = (run * 31 + i * 17 + k * 7) % 101;
            const redtune_value value = rdt_scalar_from_real(dtype, real);
            memcpy(part + (size_t)k * bytes, value.bytes, bytes);
        }
        CHECK_OK(crew_write(&all, i, all.rank[i].input[0].address, part, COUNT * bytes, &err), err);
    }
}

static void run(operation *self, uint64_t got[CREW_MAX][2]) {
    CHECK_OK(redtune_team_run_all(self->calls, (size_t)all.size, &err), err);
    for (int i = 0; i < all.size; i++) {
        CHECK_OK(redtune_team_wait(all.rank[i].team, all.rank[i].stream, 20, &err), err);
        for (int k = 0; k < 2; k++)
            CHECK_OK(crew_read(&all, i, &got[i][k], all.rank[i].output[k].address, 8, &err), err);
    }
}

static void check_operation(redtune_op op, redtune_dtype dtype) {
    operation self;
    open_operation(&self, op, dtype);
    for (int turn = 0; turn < RUNS && !check_state.failed; turn++) {
        uint64_t right[CREW_MAX][2] = {{0}}, got[CREW_MAX][2] = {{0}};
        give(self.problem.dtype, turn);
        /* First through peer memory: what NCCL gathered would still lie where messages go. */
        use_peers(true);
        run(&self, got);
        use_peers(false);
        if (!check_state.failed) run(&self, right);
        for (int i = 0; i < all.size && !check_state.failed; i++)
            CHECK(!memcmp(got[i], right[0], sizeof got[i]));
    }
    close_operation(&self);
}

FACT(results_are_those_that_go_through_nccl) {
    if (all.size < 2 || !use_peers(true)) SKIP("the GPUs do not reach each other's memory");
    static const redtune_op ops[] = {REDTUNE_SUM,      REDTUNE_ARGMAX, REDTUNE_MEAN,
                                     REDTUNE_MEAN_VAR, REDTUNE_MIN_AT, REDTUNE_NORM2};
    static const redtune_dtype dtypes[] = {REDTUNE_F32, REDTUNE_F64, REDTUNE_I32, REDTUNE_F16};
    for (size_t i = 0; i < sizeof ops / sizeof *ops && !check_state.failed; i++)
        check_operation(ops[i], dtypes[i % 4]);
}

/* A mailbox has room for one message of each rank. */
FACT(several_results_go_through_nccl) {
    if (all.size < 2 || !use_peers(true)) SKIP("the GPUs do not reach each other's memory");
    enum { ROWS = 5, EACH = COUNT / ROWS };
    operation self;
    double got[ROWS], wanted[ROWS] = {0};
    open_operation(&self, REDTUNE_SUM, REDTUNE_F64);
    give(REDTUNE_F64, 1);
    for (int i = 0; i < all.size; i++) {
        redtune_problem rows = self.problem;
        RESHAPE(&rows, count, EACH);
        RESHAPE(&rows, outer, ROWS);
        redtune_plan_destroy(self.plan[i]);
        CHECK_OK(redtune_plan_create(all.rank[i].rt, &rows, &self.plan[i], &err), err);
        self.calls[i].plan = self.plan[i];
        self.operands[i].count = EACH;
        self.operands[i].outer = ROWS;
        for (int k = 0; k < COUNT; k++) wanted[k / EACH] += (31 + i * 17 + k * 7) % 101;
    }
    CHECK_OK(redtune_team_run_all(self.calls, (size_t)all.size, &err), err);
    for (int i = 0; i < all.size; i++) {
        CHECK_OK(redtune_team_wait(all.rank[i].team, all.rank[i].stream, 20, &err), err);
        CHECK_OK(crew_read(&all, i, got, all.rank[i].output[0].address, sizeof got, &err), err);
        for (int k = 0; k < ROWS; k++) CHECK(got[k] == wanted[k]);
    }
    close_operation(&self);
}

/* ---- captures -------------------------------------------------------------------------------- */

static void enter(int i) {
    bool entered;
    rdt_context_enter(all.rank[i].context, &entered, NULL);
}

static void leave(int i) { rdt_context_leave(all.rank[i].context, true); }

/* A simulated GPU runs a replay to its end, and so cannot wait for another's. */
FACT(captured_runs_follow_each_other) {
    if (all.size < 2 || is_simulated() || !use_peers(true)) SKIP("there are no two real GPUs");
    operation self;
    rdt_graph *graphs[CREW_MAX] = {NULL};
    uint64_t right[CREW_MAX][2] = {{0}}, got = 0;
    open_operation(&self, REDTUNE_SUM, REDTUNE_F64);
    give(REDTUNE_F64, 1);
    run(&self, right);
    for (int i = 0; i < all.size; i++) {
        enter(i);
        CHECK_OK(rdt_graph_begin(all.rank[i].driver, all.rank[i].stream, &err), err);
        leave(i);
    }
    for (int k = 0; k < 10; k++)
        CHECK_OK(redtune_team_run_all(self.calls, (size_t)all.size, &err), err);
    for (int i = 0; i < all.size; i++) {
        /* The other streams of this thread may still be captured. */
        enter(i);
        CUstreamCaptureMode mode = rdt_context_relax(all.rank[i].context);
        redtune_status status =
            rdt_graph_end(all.rank[i].driver, all.rank[i].stream, &graphs[i], &err);
        rdt_context_restore(all.rank[i].context, mode);
        leave(i);
        CHECK_OK(status, err);
    }
    for (int k = 0; k < 1000 && !check_state.failed; k++)
        for (int i = 0; i < all.size; i++) {
            enter(i);
            CHECK_OK(rdt_graph_replay(graphs[i], all.rank[i].stream, &err), err);
            leave(i);
        }
    for (int i = 0; i < all.size; i++) {
        CHECK_OK(redtune_team_wait(all.rank[i].team, all.rank[i].stream, 20, &err), err);
        CHECK_OK(crew_read(&all, i, &got, all.rank[i].output[0].address, 8, &err), err);
        CHECK(got == right[0][0]);
        enter(i);
        rdt_graph_destroy(graphs[i]);
        leave(i);
    }
    close_operation(&self);
}

/* ---- a rank that does not come --------------------------------------------------------------- */

/* Last: the ranks are out of step afterwards. */
FACT(waiting_for_a_rank_ends) {
    if (all.size < 2 || is_simulated() || !use_peers(true)) SKIP("there are no two real GPUs");
    operation self;
    open_operation(&self, REDTUNE_SUM, REDTUNE_F32);
    all.rank[0].team->peers->links.limit_ns = 20000000;
    const double start_s = rdt_clock_s();
    CHECK_OK(redtune_team_run_all(self.calls, 1, &err), err);
    CHECK_FAILS(redtune_team_wait(all.rank[0].team, all.rank[0].stream, 20, &err), REDTUNE_TEAM,
                err, "for rank");
    CHECK(rdt_clock_s() - start_s < 5);
    CHECK_FAILS(redtune_team_check(all.rank[0].team, &err), REDTUNE_TEAM, err, "for rank");
    close_operation(&self);
}

int main(int argc, char **argv) {
    return crew_run(RANKS_MAX, COUNT * sizeof(double), &all, argc, argv);
}
