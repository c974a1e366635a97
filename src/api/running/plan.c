/* Plan: an executable chosen and loaded for a problem, and running it. */
#include "api/running/plan.h"

#include <inttypes.h>
#include <stdlib.h>
#include "api/choosing/baked.h"
#include "api/runtime/tables.h"
#include "base/reserved.h"
#include "base/trace.h"

/* ---- making ---------------------------------------------------------------------------------- */

/* Where there is no NVRTC that compiles: a kernel that another one compiled, here or ahead. */
static redtune_status go_without_compiler(redtune *rt, const rdt_need *need, rdt_executable **out,
                                          redtune_error *err) {
    if (!rdt_executable_find(rt, need, true, out, NULL) && *out) return REDTUNE_OK;
    redtune_status status = rdt_baked_find(rt, need, RDT_BAKED_ANY, out, err);
    if (status || *out) return status;
    rdt_baked_explain(rt, need, err);
    return REDTUNE_LIBRARY;
}

/* The cached plan's, or what was baked for the very problem, or one that is made anew once the
 * problem is admitted. */
static redtune_status obtain(redtune *rt, const rdt_need *need, bool at_once, rdt_executable **out,
                             redtune_error *err) {
    const redtune_problem *problem = need->problem;
    const bool pinned = rt->pin || problem->config || need->scattered;
    rdt_admission admission;
    redtune_status status = rdt_executable_find(rt, need, false, out, err);
    if (!status && !*out) status = rdt_baked_find(rt, need, RDT_BAKED_SAME, out, err);
    if (status || *out) return status;
    status = rdt_admission_find(rt, problem, pinned, at_once, &admission, err);
    if (!status) status = rdt_executable_create(rt, need, &admission, at_once, out, err);
    return status == REDTUNE_LIBRARY ? go_without_compiler(rt, need, out, err) : status;
}

static redtune_status make_executable(redtune *rt, const rdt_need *need, bool at_once,
                                      rdt_executable **out, redtune_error *err) {
    rdt_executable *executable = NULL;
    char what[RDT_PROBLEM_TEXT_BYTES];
    bool entered = false;
    redtune_status status = rdt_context_enter(rt->context, &entered, err);
    if (status) return status;
    /* Other threads may be capturing: loading touches none of their streams. */
    CUstreamCaptureMode mode = rdt_context_relax(rt->context);
    status = obtain(rt, need, at_once, &executable, err);
    if (!status) status = rdt_workspace_reserve(rt->workspace, err);
    const rdt_keyed sizes = rdt_reordered_sizes(need->problem);
    if (!status && executable->launch.keyed)
        status = rdt_tables_reserve(rt, &executable->launch, &sizes, err);
    rdt_context_restore(rt->context, mode);
    rdt_context_leave(rt->context, entered);
    if (status) {
        rdt_executable_destroy(rt, executable);
        return status;
    }
    rdt_problem_describe(need->problem, what);
    rdt_log_write(&rt->log, REDTUNE_LOG_INFO, "plan for %s: %s (%s)%s", what, executable->text,
                  redtune_match_name(executable->info.match),
                  executable->info.pending ? " until another is ready" : "");
    *out = executable;
    return REDTUNE_OK;
}

/* Makes what the plan will run from then on; without it the plan stays as it is. */
static void *finish_plan(void *user) {
    redtune_plan *plan = user;
    redtune_error failure;
    rdt_executable *made = NULL;
    const rdt_need need = {&plan->problem, plan->yield, plan->for_scattered};
    redtune_status status = make_executable(plan->rt, &need, false, &made, &failure);
    if (!status) {
        plan->later = made;
        if (made->launch.reorders) status = rdt_reordered_prepare(plan, &failure);
    }
    if (status) {
        rdt_log_write(&plan->rt->log, REDTUNE_LOG_WARNING, "going on with %s: %s",
                      plan->first->text, failure.message);
        return NULL;
    }
    atomic_store_explicit(&plan->now, made, memory_order_release);
    return NULL;
}

/* Compiling here and now is as good where there can be no thread. */
static void finish_in_background(redtune_plan *plan) {
    plan->threaded = !rdt_runtime_start_thread(finish_plan, plan, &plan->thread, NULL);
    if (!plan->threaded) finish_plan(plan);
}

/* Of what a run leaves in place of results; 0: it leaves results. */
static size_t output_bytes(const rdt_launch *launch) {
    switch (launch->yield) {
    case RDT_YIELD_ACCUMULATOR: return launch->slot_bytes;
    case RDT_YIELD_MESSAGE: return rdt_launch_message_bytes(launch);
    case RDT_YIELD_RESULT: break;
    }
    return 0;
}

/* A mask or a second input, with which one family takes segments. */
static bool has_beside(const redtune_plan *plan) {
    return plan->problem.mask || rdt_op_find(plan->problem.op)->inputs > 1;
}

/* It is slow for them, or lengths are not said: there may be giants, which the default shares among
 * blocks in one table only. */
bool rdt_plan_leaves_scattered(const redtune_plan *plan, const rdt_executable *executable) {
    const rdt_launch *launch = &executable->launch;
    const redtune_match match = executable->info.match;
    return launch->segments && plan->problem.order == REDTUNE_ORDER_FREE && !has_beside(plan) &&
           ((launch->packed && (!launch->results || match != REDTUNE_MATCH_PINNED)) ||
            (launch->results && !plan->problem.greatest && match == REDTUNE_MATCH_DEFAULT));
}

/* What is still to come may leave them, too. */
static bool needs_scattered(const redtune_plan *plan) {
    const bool may_leave = plan->first->info.pending && plan->first->launch.segments &&
                           plan->problem.order == REDTUNE_ORDER_FREE && !has_beside(plan);
    return may_leave || rdt_plan_leaves_scattered(plan, plan->first);
}

static redtune_status make_plan(redtune *rt, const rdt_need *need, redtune_plan **out,
                                redtune_error *err) {
    redtune_plan *plan = calloc(1, sizeof *plan);
    if (!plan) return rdt_fail_memory(err, sizeof *plan);
    plan->rt = rt;
    plan->yield = need->yield;
    plan->for_scattered = need->scattered;
    redtune_status status = make_executable(rt, need, rt->background, &plan->first, err);
    if (status) {
        free(plan);
        return status;
    }
    plan->problem = *need->problem;
    plan->problem.config = NULL; /* the caller's */
    plan->signature = rdt_operands_signature(&plan->problem, output_bytes(&plan->first->launch));
    atomic_init(&plan->now, plan->first);
    /* What is pinned or a part of something is nothing to tune. */
    const bool is_tuned = !plan->yield && plan->first->info.match != REDTUNE_MATCH_PINNED &&
                          !rdt_problem_strided_refuse_tuning(&plan->problem, NULL);
    if (plan->first->launch.reorders) status = rdt_reordered_prepare(plan, err);
    if (status) {
        redtune_plan_destroy(plan);
        return status;
    }
    if (rt->recorder && is_tuned) plan->tally = calloc(1, sizeof *plan->tally);
    if (plan->first->info.pending) finish_in_background(plan);
    *out = plan;
    return REDTUNE_OK;
}

static redtune_status make_scattered(redtune_plan *plan, redtune_plan **out, redtune_error *err) {
    const rdt_need rest = {&plan->problem, plan->yield, .scattered = true};
    redtune_plan *made = NULL, *found = NULL;
    redtune_status status = make_plan(plan->rt, &rest, &made, err);
    if (status) return status;
    if (!atomic_compare_exchange_strong(&plan->scattered, &found, made)) redtune_plan_destroy(made);
    *out = found ? found : made;
    return REDTUNE_OK;
}

redtune_status rdt_plan_prepare_scattered(redtune_plan *plan, redtune_plan **out,
                                          redtune_error *err) {
    redtune_plan *found = atomic_load(&plan->scattered);
    *out = found;
    return found || !needs_scattered(plan) ? REDTUNE_OK : make_scattered(plan, out, err);
}

redtune_status rdt_plan_take_scattered(redtune_plan *plan, CUstream stream, redtune_plan **out,
                                       redtune_error *err) {
    bool capturing = false;
    *out = atomic_load_explicit(&plan->scattered, memory_order_acquire);
    if (*out) return REDTUNE_OK;
    redtune_status status =
        rdt_workspace_is_capturing(plan->rt->workspace, stream, &capturing, err);
    if (status || !capturing) return status ? status : make_scattered(plan, out, err);
    return rdt_fail(err, REDTUNE_UNPREPARED, 0,
                    "cannot reduce segments whose tables have ends or arrays for the first time "
                    "within a capture: run the plan on such tables before the capture, or call "
                    "redtune_prepare for its problem and redtune_run_segments");
}

redtune_status rdt_plan_make(redtune *rt, const redtune_problem *problem, rdt_yield yield,
                             redtune_plan **out, redtune_error *err) {
    if (!rt || !out)
        return rdt_fail(err, REDTUNE_INVALID, 0, "cannot create a plan: %s is NULL",
                        rt ? "out" : "rt");
    redtune_problem resolved;
    redtune_status status = rdt_runtime_resolve(rt, problem, &resolved, err);
    const rdt_need need = {&resolved, yield, .scattered = false};
    if (!status && yield) status = rdt_problem_strided_refuse_parts(&resolved, "join parts", err);
    if (status) return status;
    return rdt_runtime_name_order(rt, &resolved, make_plan(rt, &need, out, err), err);
}

redtune_status redtune_plan_create(redtune *rt, const redtune_problem *problem, redtune_plan **out,
                                   redtune_error *err) {
    redtune_problem room;
    if (rt) problem = rdt_runtime_order(rt, problem, &room);
    redtune_status status = rdt_plan_make(rt, problem, RDT_YIELD_RESULT, out, err);
    if (!status) (*out)->calls = rt->calls;
    return status;
}

void redtune_plan_destroy(redtune_plan *plan) {
    if (!plan) return;
    if (plan->threaded) pthread_join(plan->thread, NULL);
    redtune_plan_destroy(atomic_load(&plan->parts));
    redtune_plan_destroy(atomic_load(&plan->scattered));
    redtune_plan_destroy(atomic_load(&plan->segments));
    const rdt_executable *served = rdt_plan_executable(plan);
    rdt_recorder_add(plan->rt->recorder, plan->tally,
                     &(rdt_served){&plan->problem, &served->measured, served->info.match,
                                   served->info.tuned_ns});
    rdt_executable_destroy(plan->rt, plan->first);
    rdt_executable_destroy(plan->rt, plan->later);
    free(plan);
}

void redtune_plan_info(const redtune_plan *plan, redtune_info *info) {
    if (info) *info = plan ? rdt_plan_executable(plan)->info : (redtune_info){.tuned_count = 0};
}

const char *redtune_plan_config(const redtune_plan *plan) {
    return plan ? rdt_plan_executable(plan)->text : "";
}

/* ---- running --------------------------------------------------------------------------------- */

static redtune_status start_kernel(const redtune_plan *plan, const rdt_executable *executable,
                                   const rdt_operands *operands, const rdt_traffic *traffic,
                                   CUstream stream, redtune_error *err) {
    redtune_status status =
        rdt_kernel_start(executable->kernel, &executable->launch, operands, stream, err);
    if (status || !executable->launch.reorders) return status;
    return rdt_reordered_run(plan, executable, operands, traffic, stream, err);
}

/* In scratch of the stream's. */
static redtune_status run_here(redtune_plan *plan, const rdt_executable *executable,
                               const rdt_traffic *traffic, rdt_operands *operands, CUstream stream,
                               redtune_error *err) {
    rdt_workspace *workspace = plan->rt->workspace;
    const rdt_launch *launch = &executable->launch;
    const rdt_call call = {
        .stream = stream,
        .traffic = traffic,
        .two_launches = launch->keyed || (rdt_launch_has_prefix(launch) && operands->segments.end),
    };
    rdt_turn turn;
    redtune_status status = REDTUNE_OK;
    if (launch->keyed)
        status = rdt_tables_find(plan->rt, rdt_launch_keyed_bytes(launch, &operands->keyed),
                                 &workspace, err);
    if (!status) status = rdt_workspace_begin(workspace, &call, &turn, err);
    if (status) return status;
    operands->scratch = turn.scratch;
    operands->chained = turn.chained;
    status = start_kernel(plan, executable, operands, traffic, stream, err);
    rdt_workspace_end(workspace, &call, &turn, !status);
    return status;
}

/* The tables of a run by key may be larger than the caller's scratch. */
static bool has_room(const rdt_executable *executable, const rdt_operands *operands) {
    return !executable->launch.keyed || !operands->scratch ||
           rdt_launch_keyed_bytes(&executable->launch, &operands->keyed) <= operands->scratch_bytes;
}

redtune_status rdt_plan_start(redtune_plan *plan, rdt_operands *operands,
                              const rdt_traffic *traffic, CUstream stream, redtune_error *err) {
    const rdt_executable *executable = rdt_plan_executable(plan);
    /* redtune_keyed_workspace_bytes gives the first one's, whichever has come since. */
    if (!has_room(executable, operands)) executable = plan->first;
    if (!has_room(executable, operands))
        return rdt_fail(err, REDTUNE_INVALID, 0,
                        "cannot reduce by %" PRIu64 " keys in a workspace of %" PRIu64
                        " bytes: %" PRIu64 " elements take %" PRIu64
                        "; redtune_keyed_workspace_bytes says it of a plan for as many",
                        operands->keyed.keys / operands->keyed.width, operands->scratch_bytes,
                        operands->keyed.count,
                        rdt_launch_keyed_bytes(&executable->launch, &operands->keyed));
    rdt_trace_push("redtune run");
    const redtune_status status =
        operands->scratch ? start_kernel(plan, executable, operands, traffic, stream, err)
                          : run_here(plan, executable, traffic, operands, stream, err);
    rdt_trace_pop();
    return status;
}

redtune_status rdt_plan_take_operands(const redtune_plan *plan, const redtune_problem *problem,
                                      const redtune_operands *more, rdt_operands *operands,
                                      rdt_strides *strides, rdt_traffic *traffic,
                                      redtune_error *err) {
    if (__builtin_expect(plan->signature.layout != RDT_LAYOUT_STRIDED, 1))
        return rdt_operands_take(&plan->signature, more, operands, traffic, err);
    return rdt_operands_take_strided(&plan->signature, problem ? problem : &plan->problem, more,
                                     operands, strides, traffic, err);
}

redtune_status rdt_plan_run(redtune_plan *plan, const redtune_problem *problem,
                            rdt_operands *operands, const redtune_operands *more, CUstream stream,
                            redtune_error *err) {
    rdt_traffic traffic;
    rdt_strides strides;
    if (!plan) return rdt_fail(err, REDTUNE_INVALID, 0, "cannot reduce: the plan is NULL");
    redtune_status status =
        rdt_plan_take_operands(plan, problem, more, operands, &strides, &traffic, err);
    if (status) return status;
    const rdt_context *context = plan->rt->context;
    bool entered = false;
    status = rdt_context_enter(context, &entered, err);
    if (status) return status;
    if (plan->rt->check) status = rdt_operands_check_pointers(context, &traffic, "d_in[1]", err);
    if (!status) status = rdt_plan_start(plan, operands, &traffic, stream, err);
    rdt_context_leave(context, entered);
    if (__builtin_expect(plan->tally != NULL, 0) && !status)
        rdt_recorder_count(plan->tally, &operands->extents);
    return status;
}

void rdt_plan_log(rdt_call_log *calls, const char *call, const redtune_plan *plan,
                  const rdt_extents *extents, double ns) {
    redtune_problem problem = plan->problem;
    if (extents && !rdt_problem_is_strided(&problem))
        rdt_problem_segments_set_shape(&problem, *extents);
    rdt_call_log_write(calls, call, &problem, &rdt_plan_executable(plan)->info, ns);
}

redtune_status redtune_plan_reduce(redtune_plan *plan, const void *d_in, uint64_t count,
                                   void *d_out, struct CUstream_st *stream, redtune_error *err) {
    rdt_operands operands;
    rdt_operands_set(&operands, d_in, d_out, count);
    rdt_call_log *calls = plan ? plan->calls : NULL;
    const double begun = rdt_call_log_begin(calls);
    redtune_status status = rdt_plan_run(plan, NULL, &operands, NULL, stream, err);
    if (__builtin_expect(calls != NULL, 0) && !status)
        rdt_plan_log(calls, __func__, plan, &operands.extents, rdt_clock_ns() - begun);
    return status;
}

redtune_status rdt_plan_take_workspace(const redtune *rt, const redtune_workspace *workspace,
                                       rdt_operands *out, redtune_error *err) {
    if (!workspace) return REDTUNE_OK;
    if (rt && workspace->rt != rt)
        return rdt_fail(err, REDTUNE_INVALID, 0,
                        "cannot reduce: the workspace is of another redtune than the plan");
    out->scratch = workspace->address;
    out->scratch_bytes = workspace->bytes;
    return REDTUNE_OK;
}

redtune_status rdt_plan_set_operands(const redtune *rt, const redtune_operands *given,
                                     rdt_operands *out, const redtune_operands **more,
                                     redtune_error *err) {
    if (!given) return rdt_fail(err, REDTUNE_INVALID, 0, "cannot reduce: the operands are NULL");
    rdt_operands_set(out, given->d_in[0], given->d_out[0], 0);
    redtune_status status = rdt_plan_take_workspace(rt, given->workspace, out, err);
    if (!status) status = rdt_reserved_check(RDT_RESERVED(given), "redtune_operands", err);
    if (status) return status;
    *more = rdt_operands_have_more(given) ? given : NULL;
    return REDTUNE_OK;
}

redtune_status redtune_plan_run(redtune_plan *plan, const redtune_operands *operands,
                                struct CUstream_st *stream, redtune_error *err) {
    rdt_operands own;
    const redtune_operands *more = NULL;
    rdt_call_log *calls = plan ? plan->calls : NULL;
    const double begun = rdt_call_log_begin(calls);
    redtune_status status =
        rdt_plan_set_operands(plan ? plan->rt : NULL, operands, &own, &more, err);
    if (status) return status;
    const rdt_extents extents = {operands->count, operands->outer, operands->inner,
                                 operands->outer_step, operands->step};
    own.extents = extents;
    status = rdt_plan_run(plan, NULL, &own, more, stream, err);
    if (__builtin_expect(calls != NULL, 0) && !status)
        rdt_plan_log(calls, __func__, plan, &extents, rdt_clock_ns() - begun);
    return status;
}
