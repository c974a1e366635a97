/* Reduce: reductions through a table of plans, one per op, dtype and power of two of the count. */
#include <inttypes.h>
#include "api/state.h"

/* 0 for no elements, else 1 + the floor of log2(count). */
static int size_class(uint64_t count) {
    int size = 0;
    for (; count; count >>= 1) size++;
    return size;
}

/* The problem that the class's plan is made for: its power of two, so that the plan does not depend
 * on which count happened to come first. */
static redtune_problem class_problem(const redtune_problem *problem, int size) {
    redtune_problem typical = *problem;
    typical.count = size ? UINT64_C(1) << (size - 1) : 0;
    return typical;
}

/* A plan cannot be made within a capture, and trying would end it. */
static redtune_status refuse_capture(redtune *rt, const redtune_problem *problem,
                                     struct CUstream_st *stream, redtune_error *err) {
    bool entered = false, capturing = false;
    redtune_status status = rdt_context_enter(rt->context, &entered, err);
    if (status) return status;
    status = rdt_workspace_is_capturing(rt->workspace, stream, &capturing, err);
    rdt_context_leave(rt->context, entered);
    if (status || !capturing) return status;
    return rdt_fail(err, REDTUNE_INVALID, 0,
                    "cannot reduce %" PRIu64
                    " %s for the first time within a capture: reduce as many "
                    "once before it, or create a plan and run that",
                    problem->count, redtune_dtype_name(problem->dtype));
}

static redtune_status add_plan(redtune *rt, const redtune_problem *problem, int size,
                               _Atomic(redtune_plan *) *slot, redtune_plan **out,
                               redtune_error *err) {
    redtune_problem typical = class_problem(problem, size);
    redtune_plan *plan = NULL, *other = NULL;
    redtune_status status = redtune_plan_create(rt, &typical, &plan, err);
    if (status) return status;
    /* Another thread may have been faster; its plan may be in use already. */
    if (!atomic_compare_exchange_strong(slot, &other, plan)) {
        redtune_plan_destroy(plan);
        plan = other;
    }
    *out = plan;
    return REDTUNE_OK;
}

redtune_status redtune_reduce(redtune *rt, const redtune_problem *problem, const void *d_in,
                              void *d_out, struct CUstream_st *stream, redtune_error *err) {
    if (!rt) return rdt_fail(err, REDTUNE_INVALID, 0, "cannot reduce: rt is NULL");
    redtune_problem resolved;
    redtune_status status = rdt_problem_resolve(problem, &resolved, err);
    if (status) return status;
    int size = size_class(resolved.count);
    _Atomic(redtune_plan *) *slot = &rt->plans[resolved.op][resolved.dtype][size];
    redtune_plan *plan = atomic_load_explicit(slot, memory_order_acquire);
    if (!plan) status = refuse_capture(rt, &resolved, stream, err);
    if (!status && !plan) status = add_plan(rt, &resolved, size, slot, &plan, err);
    if (status) return status;
    return redtune_plan_run(plan, d_in, resolved.count, d_out, stream, err);
}
