/* Connect: the ranks of a team open each other's memory, and find whether messages go faster
 * through it than through NCCL.
 *
 * All ranks take the same steps, whatever they find: each step ends with a gather of the ranks'
 * cards, and what all do next follows from all cards. So no rank waits for one that has given up,
 * and all take the same way afterwards. */
#include <stdlib.h>
#include "api/team/team.h"
#include "base/clock.h"

enum { WARM_RUNS = 5, TIMED_RUNS = 50, TIMED_ELEMENTS = 16 };

/* A rank of this thread's. */
typedef struct connecting {
    redtune_team *team;
    rdt_peers *peers; /* owned until the team has them */
    rdt_peer_card *cards;
    rdt_peer_card own;
    redtune_plan *plan; /* of the runs that are timed */
} connecting;

typedef redtune_status connect_step(connecting *self, redtune_error *err);

/* In the context of each. */
static redtune_status connect_each(connecting *ranks, size_t count, connect_step *go,
                                   redtune_error *err) {
    redtune_status status = REDTUNE_OK;
    for (size_t i = 0; !status && i < count; i++) {
        const rdt_context *context = ranks[i].team->rt->context;
        bool entered = false;
        status = rdt_context_enter(context, &entered, err);
        if (status) return status;
        CUstreamCaptureMode mode = rdt_context_relax(context);
        status = go(&ranks[i], err);
        rdt_context_restore(context, mode);
        rdt_context_leave(context, entered);
    }
    return status;
}

/* ---- cards ----------------------------------------------------------------------------------- */

static redtune_status put_card(connecting *self, redtune_error *err) {
    return rdt_peers_put_card(self->peers, &self->own, err);
}

static redtune_status start_exchange(connecting *self, redtune_error *err) {
    const redtune_team *team = self->team;
    return rdt_nccl_gather(team->nccl, team->comm, self->peers->cards.address, sizeof self->own,
                           team->place, self->peers->stream, err);
}

static redtune_status end_exchange(connecting *self, redtune_error *err) {
    redtune_team *team = self->team;
    redtune_status status = rdt_nccl_settle(team->nccl, team->comm, team->wait_s, err);
    if (!status) status = redtune_team_wait(team, self->peers->stream, team->wait_s, err);
    return status ? status : rdt_peers_get_cards(self->peers, self->cards, err);
}

/* Every rank has the cards of all. */
static redtune_status exchange_cards(connecting *ranks, size_t count, redtune_error *err) {
    const rdt_nccl *nccl = ranks[0].team->nccl;
    redtune_status status = connect_each(ranks, count, put_card, err);
    if (!status) status = rdt_nccl_begin_group(nccl, err);
    if (status) return status;
    status = connect_each(ranks, count, start_exchange, err);
    redtune_status ended = rdt_nccl_end_group(nccl, status ? NULL : err);
    if (!status) status = ended;
    return status ? status : connect_each(ranks, count, end_exchange, err);
}

/* ---- mailboxes ------------------------------------------------------------------------------- */

static redtune_status make_mailbox(connecting *self, redtune_error *err) {
    const redtune_team *team = self->team;
    const size_t bytes = (size_t)team->place.ranks * sizeof *self->cards;
    self->cards = malloc(bytes);
    if (!self->cards) return rdt_fail_memory(err, bytes);
    redtune_status status = rdt_peers_create(team->rt->context, team->place.ranks, team->place.rank,
                                             team->wait_s, &self->peers, err);
    if (!status) rdt_peers_describe(self->peers, &self->own);
    return status;
}

static redtune_status open_mailboxes(connecting *self, redtune_error *err) {
    bool all = false;
    redtune_status status = rdt_peers_open_mailboxes(self->peers, self->cards, &all, err);
    self->own.ready = all;
    return status;
}

static bool all_are_ready(const connecting *self) {
    for (int i = 0; i < self->team->place.ranks; i++)
        if (!self->cards[i].ready) return false;
    return true;
}

/* ---- timing ---------------------------------------------------------------------------------- */

static redtune_status make_timed_plan(connecting *self, redtune_error *err) {
    const redtune_problem problem = redtune_problem_whole(REDTUNE_SUM, REDTUNE_F32, TIMED_ELEMENTS);
    redtune_status status =
        rdt_plan_make(self->team->rt, &problem, RDT_YIELD_RESULT, &self->plan, err);
    if (!status) status = redtune_team_prepare(self->plan, err);
    return status;
}

/* The elements are what a card happens to have, and the result goes behind the cards' memory. */
static redtune_status run_often(connecting *ranks, size_t count, int runs, redtune_error *err) {
    redtune_operands *operands = calloc(count, sizeof *operands);
    redtune_team_call *calls = calloc(count, sizeof *calls);
    redtune_status status = operands && calls ? REDTUNE_OK : rdt_fail_memory(err, sizeof *calls);
    for (size_t i = 0; !status && i < count; i++) {
        const rdt_peers *peers = ranks[i].peers;
        operands[i].d_in[0] = (const void *)(uintptr_t)peers->cards.address;
        operands[i].d_out[0] = (void *)(uintptr_t)(peers->links.failure + sizeof(uint64_t));
        operands[i].count = TIMED_ELEMENTS;
        calls[i] = (redtune_team_call){.plan = ranks[i].plan,
                                       .team = ranks[i].team,
                                       .operands = &operands[i],
                                       .stream = peers->stream};
    }
    for (int run = 0; !status && run < runs; run++)
        status = redtune_team_run_all(calls, count, err);
    for (size_t i = 0; !status && i < count; i++)
        status =
            redtune_team_wait(ranks[i].team, ranks[i].peers->stream, ranks[i].team->wait_s, err);
    free(operands);
    free(calls);
    return status;
}

/* Of a run on each rank, by that way. */
static redtune_status time_way(connecting *ranks, size_t count, bool by_peers, redtune_error *err) {
    for (size_t i = 0; i < count; i++) ranks[i].team->by_peers = by_peers;
    redtune_status status = run_often(ranks, count, WARM_RUNS, err);
    const double start_ns = rdt_clock_ns();
    if (!status) status = run_often(ranks, count, TIMED_RUNS, err);
    const double ns = (rdt_clock_ns() - start_ns) / TIMED_RUNS;
    for (size_t i = 0; i < count; i++) ranks[i].own.ns[by_peers] = ns;
    return status;
}

/* ---- connecting ------------------------------------------------------------------------------ */

/* The first rank's times count for all. */
static void choose_way(connecting *self) {
    redtune_team *team = self->team;
    for (int i = 0; i < 2; i++) team->way_ns[i] = self->cards[0].ns[i];
    team->by_peers = team->way_ns[1] < team->way_ns[0];
    rdt_log_write(&team->rt->log, REDTUNE_LOG_INFO,
                  "rank %d of %d sends by %s: %.1f us a run, by NCCL %.1f", team->place.rank,
                  team->place.ranks, team->by_peers ? "peer memory" : "NCCL", team->way_ns[1] / 1e3,
                  team->way_ns[0] / 1e3);
}

static redtune_status connect_ranks(connecting *ranks, size_t count, redtune_error *err) {
    redtune_status status = connect_each(ranks, count, make_mailbox, err);
    if (!status) status = exchange_cards(ranks, count, err);
    if (!status) status = connect_each(ranks, count, open_mailboxes, err);
    if (!status) status = exchange_cards(ranks, count, err);
    if (status || !all_are_ready(&ranks[0])) return status;
    status = connect_each(ranks, count, make_timed_plan, err);
    for (size_t i = 0; !status && i < count; i++) ranks[i].team->peers = ranks[i].peers;
    for (int way = 0; !status && way < 2; way++) status = time_way(ranks, count, way, err);
    if (!status) status = exchange_cards(ranks, count, err);
    for (size_t i = 0; !status && i < count; i++) choose_way(&ranks[i]);
    return status;
}

/* What the team does not keep; and where connecting failed, it goes on by NCCL. */
static redtune_status end_connecting(connecting *self, redtune_error *err) {
    redtune_team *team = self->team;
    (void)err;
    const bool kept = team->way_ns[1] > 0;
    if (!kept) {
        team->by_peers = false;
        team->peers = NULL;
        rdt_peers_destroy(self->peers, false);
    }
    redtune_plan_destroy(self->plan);
    free(self->cards);
    return REDTUNE_OK;
}

static redtune_status check_connectable(const redtune_team *team, redtune_error *err) {
    const char *wrong = !team                 ? "one of them is NULL"
                        : !team->nccl         ? "one of them has no communicator"
                        : team->way_ns[1] > 0 ? "one of them is connected already"
                                              : NULL;
    return wrong ? rdt_fail(err, REDTUNE_INVALID, 0, "cannot connect teams: %s", wrong)
                 : REDTUNE_OK;
}

redtune_status redtune_team_connect(redtune_team *const *teams, size_t count, redtune_error *err) {
    if (!count) return REDTUNE_OK;
    if (!teams) return rdt_fail(err, REDTUNE_INVALID, 0, "cannot connect teams: they are NULL");
    for (size_t i = 0; i < count; i++) {
        redtune_status status = check_connectable(teams[i], err);
        if (status) return status;
    }
    connecting *ranks = calloc(count, sizeof *ranks);
    if (!ranks) return rdt_fail_memory(err, count * sizeof *ranks);
    for (size_t i = 0; i < count; i++) ranks[i].team = teams[i];
    redtune_status status = connect_ranks(ranks, count, err);
    connect_each(ranks, count, end_connecting, NULL);
    free(ranks);
    return status;
}
