/* Plan: what redtune_plan holds. */
#pragma once

#include "api/choosing/executable.h"
#include "api/running/operands.h"

/* Scratch of the caller's. */
struct redtune_workspace {
    redtune *rt;
    CUdeviceptr address;
    size_t bytes;
    bool owned;
};

struct redtune_plan {
    redtune *rt;
    rdt_signature signature;
    _Atomic(const rdt_executable *) now; /* first, or later once that is there */
    rdt_executable *first, *later; /* owned; both may be running until the plan is destroyed */
    redtune_problem problem;       /* resolved */
    rdt_tally *tally;              /* of its runs; NULL: they are not recorded */
    rdt_call_log *calls;           /* of a caller's own plan; NULL: its runs are not logged */
    rdt_yield yield;               /* what a run leaves in d_out, as in model/launch.h */
    bool for_scattered;            /* it is another plan's "scattered" */
    /* The same configuration for teams, whose runs leave messages; owned, NULL: not made yet. */
    _Atomic(redtune_plan *) parts;
    /* For segments that an executable leaves to it; owned, NULL: none have come yet. */
    _Atomic(redtune_plan *) scattered;
    /* Where an executable reorders by key: the plan of the segments; owned, NULL: none does. */
    _Atomic(redtune_plan *) segments;
    pthread_t thread; /* that makes later */
    bool threaded;
};

/* redtune_plan_create of a problem whose order is settled (rdt_runtime_order); yield: what its runs
 * leave. */
redtune_status rdt_plan_make(redtune *rt, const redtune_problem *problem, rdt_yield yield,
                             redtune_plan **out, redtune_error *err);

/* Takes what the caller of a plan of rt gives, except the extents, into *out, and *more if
 * there is more; rt may be NULL. */
redtune_status rdt_plan_set_operands(const redtune *rt, const redtune_operands *given,
                                     rdt_operands *out, const redtune_operands **more,
                                     redtune_error *err);
/* Checks and completes what rdt_plan_set_operands left, with the extents that the caller gave.
 * problem, operands and more: as for rdt_plan_run. strides: of a plan of the layout "strided", as
 * long as the operands. */
redtune_status rdt_plan_take_operands(const redtune_plan *plan, const redtune_problem *problem,
                                      const redtune_operands *more, rdt_operands *operands,
                                      rdt_strides *strides, rdt_traffic *traffic,
                                      redtune_error *err);
/* Runs it. problem: of a plan of the layout "strided" the one that is run, resolved; NULL: the
 * plan's own. operands: as rdt_operands_set leaves them, with the caller's scratch, if any; they
 * are completed. more: as for rdt_operands_take. */
redtune_status rdt_plan_run(redtune_plan *plan, const redtune_problem *problem,
                            rdt_operands *operands, const redtune_operands *more, CUstream stream,
                            redtune_error *err);

/* A call to the log, which there is: it ran the plan on a problem of these extents, as the caller
 * wrote them; NULL: those of the plan's own. */
void rdt_plan_log(rdt_call_log *calls, const char *call, const redtune_plan *plan,
                  const rdt_extents *extents, double ns);
/* The part of both that launches: the context is current, and the operands are complete. */
redtune_status rdt_plan_start(redtune_plan *plan, rdt_operands *operands,
                              const rdt_traffic *traffic, CUstream stream, redtune_error *err);
/* The caller's scratch, if any, into *out; rt as above. */
redtune_status rdt_plan_take_workspace(const redtune *rt, const redtune_workspace *workspace,
                                       rdt_operands *out, redtune_error *err);

/* The plan of the problem in rt's table, found or made, for a run on the stream: reduce.c. */
redtune_status rdt_reduce_take_plan(redtune *rt, const redtune_problem *problem, CUstream stream,
                                    redtune_plan **out, redtune_error *err);

/* What a run by key of the problem's extents takes. */
rdt_keyed rdt_reordered_sizes(const redtune_problem *problem);
/* Makes plan->segments, unless there are, and runs it on elements that the executable reordered, in
 * operands->scratch, which both have: reordered.c. */
redtune_status rdt_reordered_prepare(redtune_plan *plan, redtune_error *err);
redtune_status rdt_reordered_run(const redtune_plan *plan, const rdt_executable *executable,
                                 const rdt_operands *operands, const rdt_traffic *traffic,
                                 CUstream stream, redtune_error *err);

/* Whether segments that are not one after the other are left to plan->scattered. */
bool rdt_plan_leaves_scattered(const redtune_plan *plan, const rdt_executable *executable);

/* Both give plan->scattered, which is made when it is first needed: most programs have no such
 * segments. prepare gives NULL where the plan serves all segments. take is for a run on the stream,
 * and fails with REDTUNE_UNPREPARED within a capture. */
redtune_status rdt_plan_prepare_scattered(redtune_plan *plan, redtune_plan **out,
                                          redtune_error *err);
redtune_status rdt_plan_take_scattered(redtune_plan *plan, CUstream stream, redtune_plan **out,
                                       redtune_error *err);

/* The executable that it runs now. */
static inline const rdt_executable *rdt_plan_executable(const redtune_plan *plan) {
    return atomic_load_explicit(&plan->now, memory_order_acquire);
}
