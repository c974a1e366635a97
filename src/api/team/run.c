/* Run: one reduction over the parts of all ranks of a team.
 *
 * On each rank, in its stream: the plan's kernel reduces the rank's part and leaves a message for
 * each result, the accumulator with the part's place and length, where they belong among all ranks'
 * messages; NCCL gathers those of the others around them; a kernel joins them, in rank order, and
 * writes the results. All three are one call to the workspace, so that what another thread launches
 * on the stream does not come in between.
 *
 * More results than the team has room for are NCCL's to reduce, where it can (reduction.h): then
 * the kernel leaves results, as a run of the plan by itself does, and nothing is joined.
 *
 * Calls of several ranks on one thread go through each step together, since a gather may wait for
 * its other ranks until the group of gathers ends. */
#include <inttypes.h>
#include <stdlib.h>
#include "api/running/list.h"
#include "api/running/segments.h"
#include "api/team/reduction.h"
#include "api/team/share.h"
#include "base/reserved.h"
#include "base/trace.h"

enum { RANKS_ON_STACK = 8 };

/* A rank's call, under way. */
typedef struct rank_call {
    redtune_plan *plan, *form, *parts; /* the caller's; of its tables' form; that leaves messages */
    redtune_team *team;
    uint64_t first, results;
    const redtune_segments *segments; /* NULL: there are none */
    rdt_segments_run run;             /* as one of the plan by itself */
    rdt_strides strides;              /* of a plan of any axes */
    rdt_call call;
    rdt_turn turn;
    bool begun;   /* the turn is to be ended */
    bool reduces; /* NCCL does, and there are no messages */
    rdt_nccl_reduction reduction;
} rank_call;

/* ---- the kernel ------------------------------------------------------------------------------ */

/* Makes the plan whose runs leave messages, of the configuration that this plan has. */
static redtune_status make_parts_plan(redtune_plan *plan, redtune_plan **out, redtune_error *err) {
    redtune_problem problem = plan->problem;
    redtune_plan *made = NULL, *found = NULL;
    problem.config = rdt_plan_executable(plan)->text;
    redtune_status status = rdt_plan_make(plan->rt, &problem, RDT_YIELD_MESSAGE, &made, err);
    if (status) return status;
    if (!atomic_compare_exchange_strong(&plan->parts, &found, made)) redtune_plan_destroy(made);
    *out = found ? found : made;
    return REDTUNE_OK;
}

static redtune_status check_team_plan(const redtune_plan *plan, redtune_error *err) {
    if (!(plan->problem.uses & ~(uint64_t)REDTUNE_USE_BOOLS))
        return rdt_problem_strided_refuse_parts(&plan->problem, "reduce by a team", err);
    return rdt_fail(err, REDTUNE_UNSUPPORTED, 0,
                    "cannot run the plan by a team: its uses are not 0; create it for a problem "
                    "with uses of 0, and give counts from the host");
}

redtune_status redtune_team_prepare(redtune_plan *plan, redtune_error *err) {
    if (!plan) return rdt_fail(err, REDTUNE_INVALID, 0, "cannot prepare a plan: it is NULL");
    redtune_plan *parts = atomic_load(&plan->parts);
    redtune_status status = check_team_plan(plan, err);
    redtune_plan *scattered = NULL;
    if (!status && !parts) status = make_parts_plan(plan, &parts, err);
    if (!status) status = rdt_plan_prepare_scattered(plan, &scattered, err);
    return status || !scattered ? status : redtune_team_prepare(scattered, err);
}

/* Nothing is made within a capture: trying would end it. The context is current. */
static redtune_status take_parts(rank_call *self, redtune_error *err) {
    bool capturing = false;
    self->parts =
        self->reduces ? self->form : atomic_load_explicit(&self->form->parts, memory_order_acquire);
    if (self->parts) return REDTUNE_OK;
    redtune_status status =
        rdt_workspace_is_capturing(self->team->workspace, self->call.stream, &capturing, err);
    if (status) return status;
    if (!capturing) return make_parts_plan(self->form, &self->parts, err);
    return rdt_fail(err, REDTUNE_UNPREPARED, 0,
                    "cannot run the plan by a team for the first time within a capture: call "
                    "redtune_team_prepare for it before the capture");
}

/* ---- what is given --------------------------------------------------------------------------- */

static redtune_status find_room(rank_call *self, redtune_error *err) {
    if (self->results <= self->team->results_max) return REDTUNE_OK;
    self->reduces = rdt_reduction_find(&self->plan->problem, &self->reduction);
    if (self->reduces) return REDTUNE_OK;
    return rdt_fail(err, REDTUNE_INVALID, 0,
                    "cannot make %" PRIu64 " results by a team that has room for %" PRIu64
                    ": create it with redtune_team_options.results",
                    self->results, self->team->results_max);
}

static redtune_status check_call(const redtune_team_call *given, redtune_error *err) {
    const char *wrong =
        !given->plan || !given->team           ? "the plan or the team is NULL"
        : given->plan->rt != given->team->rt   ? "the team is of another redtune than the plan"
        : !given->operands == !given->segments ? "it takes either operands or segments"
        : (given->operands ? given->operands->workspace : given->segments->workspace)
            ? "it has a workspace of its own; leave the operands' NULL"
            : NULL;
    if (wrong) return rdt_fail(err, REDTUNE_INVALID, 0, "cannot reduce by a team: %s", wrong);
    redtune_status status = rdt_reserved_check(RDT_RESERVED(given), "redtune_team_call", err);
    return status ? status : check_team_plan(given->plan, err);
}

static redtune_status take_operands(rank_call *self, const redtune_operands *given,
                                    redtune_error *err) {
    const redtune_operands *more = NULL;
    rdt_operands *operands = &self->run.operands;
    redtune_status status = rdt_plan_set_operands(self->plan->rt, given, operands, &more, err);
    if (status) return status;
    operands->extents =
        (rdt_extents){given->count, given->outer, given->inner, given->outer_step, given->step};
    status = rdt_plan_take_operands(self->plan, NULL, more, operands, &self->strides,
                                    &self->run.traffic, err);
    const rdt_extents *taken = &operands->extents;
    self->results = taken->outer * taken->inner;
    if (status) return status;
    return rdt_share_check(self->team, &self->plan->problem, self->first, taken->count, err);
}

static redtune_status take_segments(rank_call *self, const redtune_segments *given,
                                    redtune_error *err) {
    const rdt_op_traits *op = rdt_op_find(self->plan->problem.op);
    redtune_status status = rdt_segments_take(&self->run, self->plan, given, err);
    if (status) return status;
    if (op->inputs > 1)
        return rdt_fail(err, REDTUNE_UNSUPPORTED, 0,
                        "cannot compute the %s of segments by a team: it has two inputs; give each "
                        "segment to one rank",
                        op->name);
    if (self->plan->problem.order == REDTUNE_ORDER_FIXED)
        return rdt_runtime_name_order(
            self->plan->rt, &self->plan->problem,
            rdt_fail(err, REDTUNE_UNSUPPORTED, 0,
                     "cannot reduce segments by a team in fixed order: what a rank has of a "
                     "segment need not be a node of its tree; give each segment to one rank"),
            err);
    status = rdt_share_check(self->team, &self->plan->problem, self->first, 0, err);
    if (status) return status;
    self->segments = given;
    self->results = rdt_segments_results(&self->run, self->plan);
    return rdt_segments_plan(self->plan, &self->run.operands.segments, self->call.stream,
                             &self->form, err);
}

static redtune_status take_call(const redtune_team_call *given, rank_call *out,
                                redtune_error *err) {
    redtune_status status = check_call(given, err);
    if (status) return status;
    *out = (rank_call){
        .plan = given->plan,
        .form = given->plan,
        .team = given->team,
        .first = given->first_index,
        .call = {.stream = given->stream, .two_launches = true},
    };
    status = given->segments ? take_segments(out, given->segments, err)
                             : take_operands(out, given->operands, err);
    return status ? status : find_room(out, err);
}

static redtune_status check_different(const redtune_team_call *calls, size_t count,
                                      redtune_error *err) {
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < i; k++)
            if (calls[i].team == calls[k].team)
                return rdt_fail(err, REDTUNE_INVALID, 0,
                                "cannot reduce: calls %zu and %zu are of the same team", k, i);
    return REDTUNE_OK;
}

/* ---- the steps ------------------------------------------------------------------------------- */

static CUdeviceptr messages_of(const rank_call *self) {
    return self->turn.scratch + RDT_SCRATCH_BYTES;
}

/* Of all of a rank's results. */
static uint64_t bytes_of_messages(const rank_call *self) {
    return self->results * rdt_launch_message_bytes(&rdt_plan_executable(self->parts)->launch);
}

/* The kernel of the part. What comes next is no reduction, so that nothing overlaps. */
static redtune_status start_part(rank_call *self, redtune_error *err) {
    const rdt_executable *executable = rdt_plan_executable(self->parts);
    const redtune_team *team = self->team;
    const rdt_context *context = team->rt->context;
    redtune_status status = REDTUNE_OK;
    if (team->rt->check)
        status = self->segments
                     ? rdt_segments_check_pointers(context, &self->run, err)
                     : rdt_operands_check_pointers(context, &self->run.traffic, "d_in[1]", err);
    /* A run of segments may read anything. */
    if (self->segments) self->run.traffic.read[0] = (rdt_span){1, UINT64_MAX};
    self->call.traffic = &self->run.traffic;
    if (!status && self->segments && self->segments->list)
        status = rdt_list_pack(self->segments->list, self->call.stream, err);
    if (!status) status = rdt_workspace_begin(team->workspace, &self->call, &self->turn, err);
    if (status) return status;
    self->begun = true;
    rdt_operands part = self->run.operands;
    part.scratch = self->turn.scratch;
    if (!self->reduces)
        part.output = messages_of(self) + (CUdeviceptr)team->place.rank * bytes_of_messages(self);
    part.given.first = self->first;
    return rdt_kernel_start(executable->kernel, &executable->launch, &part, self->call.stream, err);
}

/* Messages of many results are NCCL's. */
static bool goes_by_peers(const rank_call *self) {
    return self->team->by_peers && self->results == 1;
}

static rdt_joining joining_of(const rank_call *self) {
    return (rdt_joining){
        .messages = messages_of(self),
        .part_count = (uint32_t)self->team->place.ranks,
        .results = self->results,
        .output = self->run.operands.output,
        .given = self->run.operands.given,
    };
}

/* A simulated GPU runs a launch to its end: there a rank must not wait before all have sent. */
static bool sends_apart(const rank_call *self) {
    return rdt_facts_is_simulated(&self->team->rt->context->facts);
}

static redtune_status send_to_peers(const rank_call *self, uint32_t steps, redtune_error *err) {
    return rdt_kernel_join_peers(rdt_plan_executable(self->parts)->kernel, joining_of(self),
                                 self->team->peers->links, steps, self->call.stream, err);
}

static redtune_status gather_messages(rank_call *self, redtune_error *err) {
    const redtune_team *team = self->team;
    if (team->place.ranks == 1) return REDTUNE_OK;
    if (goes_by_peers(self))
        return sends_apart(self) ? send_to_peers(self, RDT_LINKS_SEND, err) : REDTUNE_OK;
    if (self->reduces)
        return rdt_nccl_reduce(team->nccl, team->comm, self->reduction, self->run.operands.output,
                               self->results, self->call.stream, err);
    return rdt_nccl_gather(team->nccl, team->comm, messages_of(self), bytes_of_messages(self),
                           team->place, self->call.stream, err);
}

static redtune_status join_parts(rank_call *self, redtune_error *err) {
    const redtune_team *team = self->team;
    const uint32_t steps = RDT_LINKS_RECEIVE | (sends_apart(self) ? 0 : RDT_LINKS_SEND);
    redtune_status status = REDTUNE_OK;
    if (goes_by_peers(self)) return send_to_peers(self, steps, err);
    if (team->place.ranks > 1) status = rdt_nccl_settle(team->nccl, team->comm, team->wait_s, err);
    if (status || self->reduces) return status;
    return rdt_kernel_join(rdt_plan_executable(self->parts)->kernel, joining_of(self),
                           self->call.stream, err);
}

/* In the rank's context. */
static redtune_status step_rank(rank_call *self, redtune_status (*go)(rank_call *, redtune_error *),
                                redtune_error *err) {
    const rdt_context *context = self->team->rt->context;
    bool entered = false;
    redtune_status status = rdt_context_enter(context, &entered, err);
    if (status) return status;
    status = go(self, err);
    rdt_context_leave(context, entered);
    return status;
}

static redtune_status step_ranks(rank_call *ranks, size_t count,
                                 redtune_status (*go)(rank_call *, redtune_error *),
                                 redtune_error *err) {
    redtune_status status = REDTUNE_OK;
    for (size_t i = 0; !status && i < count; i++) status = step_rank(&ranks[i], go, err);
    return status;
}

/* That of the first call that gathers by NCCL; NULL: none does. */
static const rdt_nccl *find_nccl(const rank_call *ranks, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (ranks[i].team->nccl && !goes_by_peers(&ranks[i])) return ranks[i].team->nccl;
    return NULL;
}

/* A group that was begun is ended, whatever happens in it. */
static redtune_status gather_from_ranks(rank_call *ranks, size_t count, redtune_error *err) {
    const rdt_nccl *nccl = count > 1 ? find_nccl(ranks, count) : NULL;
    if (!nccl) return step_ranks(ranks, count, gather_messages, err);
    redtune_status status = rdt_nccl_begin_group(nccl, err);
    if (status) return status;
    status = step_ranks(ranks, count, gather_messages, err);
    redtune_status ended = rdt_nccl_end_group(nccl, status ? NULL : err);
    return status ? status : ended;
}

static rdt_extents shape_of(const rank_call *self) {
    return self->segments ? rdt_segments_shape(self->plan, self->segments)
                          : self->run.operands.extents;
}

static void end_turns(rank_call *ranks, size_t count, bool launched) {
    for (size_t i = 0; i < count; i++) {
        rank_call *self = &ranks[i];
        bool entered = false;
        if (!self->begun) continue;
        const bool lost = rdt_context_enter(self->team->rt->context, &entered, NULL) != REDTUNE_OK;
        rdt_workspace_end(self->team->workspace, &self->call, &self->turn, launched && !lost);
        rdt_context_leave(self->team->rt->context, entered);
        const rdt_extents shape = shape_of(self);
        if (self->plan->tally && launched) rdt_recorder_count(self->plan->tally, &shape);
    }
}

static void log_calls(const rank_call *ranks, size_t count, double ns) {
    for (size_t i = 0; i < count; i++) {
        const rdt_extents shape = shape_of(&ranks[i]);
        if (ranks[i].plan->calls)
            rdt_plan_log(ranks[i].plan->calls, "redtune_team_run", ranks[i].plan, &shape, ns);
    }
}

static redtune_status run_ranks(rank_call *ranks, size_t count, redtune_error *err) {
    const double begun = rdt_call_log_begin(ranks->plan->calls);
    rdt_trace_push("redtune team run");
    redtune_status status = step_ranks(ranks, count, take_parts, err);
    if (!status) status = step_ranks(ranks, count, start_part, err);
    if (!status) status = gather_from_ranks(ranks, count, err);
    if (!status) status = step_ranks(ranks, count, join_parts, err);
    end_turns(ranks, count, !status);
    rdt_trace_pop();
    if (begun != 0 && !status) log_calls(ranks, count, rdt_clock_ns() - begun);
    return status;
}

/* ---- calls ----------------------------------------------------------------------------------- */

redtune_status redtune_team_run(redtune_plan *plan, redtune_team *team,
                                const redtune_operands *operands, uint64_t first_index,
                                struct CUstream_st *stream, redtune_error *err) {
    const redtune_team_call call = {plan, team, operands, first_index, stream};
    return redtune_team_run_all(&call, 1, err);
}

redtune_status redtune_team_run_segments(redtune_plan *plan, redtune_team *team,
                                         const redtune_segments *segments, uint64_t first_index,
                                         struct CUstream_st *stream, redtune_error *err) {
    const redtune_team_call call = {plan, team, NULL, first_index, stream, segments};
    return redtune_team_run_all(&call, 1, err);
}

redtune_status redtune_team_run_all(const redtune_team_call *calls, size_t count,
                                    redtune_error *err) {
    rank_call few[RANKS_ON_STACK], *many = NULL;
    size_t wanted = 0;
    if (!calls && count)
        return rdt_fail(err, REDTUNE_INVALID, 0, "cannot reduce: the calls are NULL");
    redtune_status status = check_different(calls, count, err);
    if (!status && count > RANKS_ON_STACK) {
        many = calloc(count, sizeof *many);
        if (!many) return rdt_fail_memory(err, count * sizeof *many);
    }
    rank_call *ranks = many ? many : few;
    for (size_t i = 0; !status && i < count; i++) {
        status = take_call(&calls[i], &ranks[wanted], err);
        wanted += !status && ranks[wanted].results; /* without segments there is nothing to do */
    }
    if (!status && wanted) status = run_ranks(ranks, wanted, err);
    free(many);
    return status;
}
