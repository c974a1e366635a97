/* Reduce: reductions through the table of plans. */
#define _POSIX_C_SOURCE 200809L
#include "api/running/plan.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/reserved.h"

/* The plan for a problem as the caller wrote it, and its extents; NULL: not made yet, or something
 * is wrong. */
static inline redtune_plan *find_plan_at(redtune *rt, const redtune_problem *problem,
                                         rdt_extents *extents) {
    if (problem->config || !rdt_reserved_is_clear(RDT_RESERVED(problem)) ||
        !rdt_problem_is_settled(problem))
        return NULL;
    *extents = rdt_problem_extents(problem);
    return rdt_plan_table_find_plain(&rt->plans, problem, extents);
}

static redtune_plan *find_plan(redtune *rt, const redtune_problem *problem) {
    rdt_extents extents;
    return find_plan_at(rt, problem, &extents);
}

/* A plan cannot be made within a capture, and trying would end it: there the plan of the key serves
 * a problem whose own is not made. */
static redtune_status take_in_capture(redtune *rt, const redtune_problem *problem,
                                      struct CUstream_st *stream, redtune_plan **out,
                                      redtune_error *err) {
    bool capturing = false;
    rdt_plan_own *own = NULL;
    redtune_status status = rdt_workspace_is_capturing(rt->workspace, stream, &capturing, err);
    if (status || !capturing) return status;
    *out = rdt_plan_table_find_key(&rt->plans, problem, &own);
    if (*out) return REDTUNE_OK;
    char what[RDT_PROBLEM_TEXT_BYTES];
    rdt_problem_describe(problem, what);
    return rdt_fail(err, REDTUNE_UNPREPARED, 0,
                    "cannot compute the %s for the first time within a capture: call "
                    "redtune_prepare for it before the capture, or create a plan and run that",
                    what);
}

/* Makes the plan of the resolved problem's key. */
static redtune_status add_key(redtune *rt, const redtune_problem *resolved, redtune_plan **out,
                              redtune_error *err) {
    const redtune_problem typical = rdt_plan_table_typical(resolved);
    redtune_plan *made = NULL;
    redtune_status status = rdt_plan_make(rt, &typical, RDT_YIELD_RESULT, &made, err);
    if (status) return status;
    const rdt_executable *executable = rdt_plan_executable(made);
    rdt_plan_own *own = executable->own_count ? calloc(1, sizeof *own) : NULL;
    if (own) {
        own->count = executable->own_count;
        memcpy(own->extents, executable->own, sizeof own->extents);
    }
    status = rdt_plan_table_add(&rt->plans, resolved, made, own, true, out, err);
    /* Another thread may have been faster; its plan may be in use already. */
    if (status || made != *out) redtune_plan_destroy(made);
    return status;
}

/* Makes the problem's own plan, which goes where it has its place. */
static redtune_status add_own_plan(redtune *rt, const redtune_problem *resolved,
                                   _Atomic(redtune_plan *) *place, redtune_plan **out,
                                   redtune_error *err) {
    redtune_plan *made = NULL, *found = NULL;
    redtune_status status = rdt_plan_make(rt, resolved, RDT_YIELD_RESULT, &made, err);
    if (status) return status;
    if (!atomic_compare_exchange_strong(place, &found, made)) redtune_plan_destroy(made);
    *out = found ? found : made;
    return REDTUNE_OK;
}

/* Finds or makes the plan of the resolved problem, and puts it where the problem as it was written
 * is looked for. */
static redtune_status add_plan(redtune *rt, const redtune_problem *problem,
                               const redtune_problem *resolved, redtune_plan **out,
                               redtune_error *err) {
    rdt_plan_own *own = NULL;
    redtune_plan *plan = rdt_plan_table_find_key(&rt->plans, resolved, &own);
    redtune_status status = plan ? REDTUNE_OK : add_key(rt, resolved, &plan, err);
    if (status) return status;
    rdt_plan_table_find_key(&rt->plans, resolved, &own);
    if (rdt_problem_is_settled(problem))
        status = rdt_plan_table_add(&rt->plans, problem, plan, own, false, &plan, err);
    _Atomic(redtune_plan *) *place = rdt_plan_table_place(own, resolved);
    if (!status && place) {
        plan = atomic_load_explicit(place, memory_order_acquire);
        if (!plan) status = add_own_plan(rt, resolved, place, &plan, err);
    }
    if (!status) *out = plan;
    return status;
}

static redtune_status resolve(const redtune *rt, const redtune_problem *problem,
                              redtune_problem *out, redtune_error *err) {
    redtune_status status = rdt_runtime_resolve(rt, problem, out, err);
    if (status || !problem->config) return status;
    return rdt_fail(err, REDTUNE_INVALID, 0,
                    "cannot reduce with config %.100s: redtune_reduce chooses by itself; create a "
                    "plan with it",
                    problem->config);
}

/* Before a plan is made for a call that could not run it. */
static redtune_status check_simple(const redtune_problem *problem, redtune_error *err) {
    const rdt_op_traits *op = rdt_op_find(problem->op);
    if (problem->mask)
        return rdt_fail(err, REDTUNE_INVALID, 0,
                        "cannot compute the %s by redtune_reduce: the problem has a mask; give "
                        "redtune_run the operands, with d_mask",
                        op->name);
    if (op->inputs == 1 && op->outputs == 1) return REDTUNE_OK;
    return rdt_fail(err, REDTUNE_INVALID, 0,
                    "cannot compute the %s by redtune_reduce: it has %d input%s and %d result%s; "
                    "give redtune_run the operands",
                    op->name, op->inputs, op->inputs > 1 ? "s" : "", op->outputs,
                    op->outputs > 1 ? "s" : "");
}

/* The plan of the problem, found or made, and the problem resolved; *out is NULL before. For a run
 * on the stream. simple: the run has one input and one output. */
static redtune_status take_plan(redtune *rt, const redtune_problem *problem, bool simple,
                                struct CUstream_st *stream, redtune_plan **out,
                                redtune_problem *resolved, redtune_error *err) {
    rdt_plan_own *own = NULL;
    redtune_status status = resolve(rt, problem, resolved, err);
    if (!status && simple) status = check_simple(resolved, err);
    if (status) return status;
    if (rdt_problem_is_strided(resolved) || rdt_problem_is_keyed(resolved))
        *out = rdt_plan_table_find_key(&rt->plans, resolved, &own);
    if (*out) return REDTUNE_OK;
    if (!find_plan(rt, resolved)) status = take_in_capture(rt, resolved, stream, out, err);
    if (!status && !*out) status = add_plan(rt, problem, resolved, out, err);
    return status;
}

redtune_status rdt_reduce_take_plan(redtune *rt, const redtune_problem *problem, CUstream stream,
                                    redtune_plan **out, redtune_error *err) {
    redtune_problem resolved, room;
    problem = rdt_runtime_order(rt, problem, &room);
    *out = problem ? find_plan(rt, problem) : NULL;
    return *out ? REDTUNE_OK : take_plan(rt, problem, false, stream, out, &resolved, err);
}

/* Runs a problem, with its order set, whose plan was not found at once. */
static redtune_status run_resolved(redtune *rt, const redtune_problem *problem,
                                   rdt_operands *operands, const redtune_operands *more,
                                   bool simple, struct CUstream_st *stream, redtune_error *err) {
    redtune_problem resolved;
    redtune_plan *plan = NULL;
    if (problem && rdt_problem_is_keyed(problem))
        return rdt_problem_keyed_refuse(problem, "reduce without", err);
    redtune_status status = take_plan(rt, problem, simple, stream, &plan, &resolved, err);
    if (status) return status;
    operands->extents = rdt_problem_extents(&resolved);
    return rdt_plan_run(plan, &resolved, operands, more, stream, err);
}

/* Runs it on the problem's extents. simple: it has one input and one output. */
static inline redtune_status run_problem(redtune *rt, const redtune_problem *problem,
                                         rdt_operands *operands, const redtune_operands *more,
                                         bool simple, struct CUstream_st *stream,
                                         redtune_error *err) {
    redtune_problem room;
    problem = rdt_runtime_order(rt, problem, &room);
    redtune_plan *plan = problem ? find_plan_at(rt, problem, &operands->extents) : NULL;
    if (__builtin_expect(plan != NULL, 1))
        return rdt_plan_run(plan, problem, operands, more, stream, err);
    return run_resolved(rt, problem, operands, more, simple, stream, err);
}

/* What the call ran is looked for again. */
static void log_problem(redtune *rt, const char *call, const redtune_problem *problem, double ns) {
    redtune_problem resolved, room;
    problem = rdt_runtime_order(rt, problem, &room);
    if (rdt_problem_resolve(problem, &resolved, NULL)) return;
    rdt_plan_own *own = NULL;
    const redtune_plan *plan = rdt_plan_table_find(&rt->plans, &resolved);
    if (!plan) plan = rdt_plan_table_find_key(&rt->plans, &resolved, &own); /* in a capture */
    if (plan) rdt_call_log_write(rt->calls, call, &resolved, &rdt_plan_executable(plan)->info, ns);
}

redtune_status redtune_reduce(redtune *rt, const redtune_problem *problem, const void *d_in,
                              void *d_out, struct CUstream_st *stream, redtune_error *err) {
    rdt_operands operands;
    if (!rt) return rdt_fail(err, REDTUNE_INVALID, 0, "cannot reduce: rt is NULL");
    rdt_operands_set(&operands, d_in, d_out, 0);
    const double begun = rdt_call_log_begin(rt->calls);
    redtune_status status = run_problem(rt, problem, &operands, NULL, true, stream, err);
    if (__builtin_expect(rt->calls != NULL, 0) && !status)
        log_problem(rt, __func__, problem, rdt_clock_ns() - begun);
    return status;
}

/* Extents that the operands have are those of the problem. */
static redtune_status match_extents(const redtune_problem *problem,
                                    const redtune_operands *operands, redtune_error *err) {
    const rdt_extents own = rdt_problem_extents(problem);
    const struct {
        const char *name;
        uint64_t operand, problem;
    } extents[] = {
        {"count", operands->count, own.count}, {"outer", operands->outer, own.outer},
        {"inner", operands->inner, own.inner}, {"outer_step", operands->outer_step, own.outer_step},
        {"step", operands->step, own.step},
    };
    for (size_t i = 0; i < sizeof extents / sizeof *extents; i++)
        if (extents[i].operand && extents[i].operand != extents[i].problem)
            return rdt_fail(err, REDTUNE_INVALID, 0,
                            "cannot reduce: operands->%s is %" PRIu64
                            ", and that of the problem %" PRIu64
                            "; redtune_run goes by the problem's, so leave it 0",
                            extents[i].name, extents[i].operand, extents[i].problem);
    return REDTUNE_OK;
}

redtune_status redtune_run(redtune *rt, const redtune_problem *problem,
                           const redtune_operands *operands, struct CUstream_st *stream,
                           redtune_error *err) {
    rdt_operands own;
    const redtune_operands *more = NULL;
    if (!rt) return rdt_fail(err, REDTUNE_INVALID, 0, "cannot reduce: rt is NULL");
    redtune_status status = rdt_plan_set_operands(rt, operands, &own, &more, err);
    if (!status && problem) status = match_extents(problem, operands, err);
    if (status) return status;
    const double begun = rdt_call_log_begin(rt->calls);
    status = run_problem(rt, problem, &own, more, false, stream, err);
    if (__builtin_expect(rt->calls != NULL, 0) && !status)
        log_problem(rt, __func__, problem, rdt_clock_ns() - begun);
    return status;
}

/* ---- preparing ------------------------------------------------------------------------------- */

/* NVRTC holds a lock over most of its work: more threads than these gain nothing. */
enum { PREPARING_THREADS = 4 };

typedef struct preparation {
    redtune *rt;
    const redtune_problem *problems;
    size_t count;
    atomic_size_t next;
    pthread_mutex_t lock; /* guards what follows */
    size_t failed;        /* the first problem that failed; count: none */
    redtune_error failure;
} preparation;

static void *prepare_some(void *user) {
    preparation *self = user;
    for (;;) {
        size_t i = atomic_fetch_add(&self->next, 1);
        redtune_problem resolved, room;
        redtune_plan *plan = NULL, *scattered;
        redtune_error failure;
        if (i >= self->count) return NULL;
        const redtune_problem *problem = rdt_runtime_order(self->rt, &self->problems[i], &room);
        redtune_status status = resolve(self->rt, problem, &resolved, &failure);
        if (!status) status = add_plan(self->rt, problem, &resolved, &plan, &failure);
        /* So that a capture may have tables of any form. */
        if (!status) status = rdt_plan_prepare_scattered(plan, &scattered, &failure);
        if (!status) continue;
        pthread_mutex_lock(&self->lock);
        if (i < self->failed) {
            self->failed = i;
            self->failure = failure;
        }
        pthread_mutex_unlock(&self->lock);
    }
}

int redtune_is_prepared(redtune *rt, const redtune_problem *problem) {
    redtune_problem resolved, room;
    rdt_plan_own *own = NULL;
    if (!rt) return 0;
    problem = rdt_runtime_order(rt, problem, &room);
    if (!problem) return 0;
    if (find_plan(rt, problem)) return 1;
    if (resolve(rt, problem, &resolved, NULL)) return 0;
    if (rdt_problem_is_strided(&resolved) || rdt_problem_is_keyed(&resolved))
        return rdt_plan_table_find_key(&rt->plans, &resolved, &own) != NULL;
    return find_plan(rt, &resolved) != NULL;
}

redtune_status redtune_prepare(redtune *rt, const redtune_problem *problems, size_t count,
                               redtune_error *err) {
    if (!rt || (!problems && count))
        return rdt_fail(err, REDTUNE_INVALID, 0, "cannot prepare: %s is NULL",
                        rt ? "problems" : "rt");
    preparation self = {.rt = rt, .problems = problems, .count = count, .failed = count};
    pthread_t threads[PREPARING_THREADS];
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    size_t wanted = cores > 1 ? (size_t)cores : 1, started = 0;
    if (wanted > count) wanted = count;
    if (wanted > PREPARING_THREADS) wanted = PREPARING_THREADS;
    pthread_mutex_init(&self.lock, NULL);
    /* This thread is one of them, and does it all where no other can be had. */
    while (started + 1 < wanted &&
           !rdt_runtime_start_thread(prepare_some, &self, &threads[started], NULL))
        started++;
    prepare_some(&self);
    for (size_t i = 0; i < started; i++) pthread_join(threads[i], NULL);
    pthread_mutex_destroy(&self.lock);
    if (self.failed == count) return REDTUNE_OK;
    if (err) *err = self.failure;
    return self.failure.status;
}
