/* Plan: what redtune_plan holds. */
#pragma once

#include "api/runtime/executable.h"

struct redtune_plan {
    redtune *rt;
    size_t input_bytes, result_bytes;    /* of one element */
    uint64_t count_max;                  /* elements that an input spans */
    rdt_layout layout;                   /* it serves extents of this one and of those before */
    _Atomic(const rdt_executable *) now; /* first, or later once that is there */
    rdt_executable *first, *later; /* owned; both may be running until the plan is destroyed */
    redtune_problem problem;       /* resolved */
    rdt_tally *tally;              /* of its runs; NULL: they are not recorded */
    bool accumulates;              /* d_out of a run is an accumulator, as in model/launch.h */
    pthread_t thread;              /* that makes later */
    bool threaded;
};

/* redtune_plan_create; accumulates: its runs leave accumulators, which the kernel combines. */
redtune_status rdt_plan_make(redtune *rt, const redtune_problem *problem, bool accumulates,
                             redtune_plan **out, redtune_error *err);

/* Runs it on these extents, where zeros mean the usual. */
redtune_status rdt_plan_reduce(redtune_plan *plan, const void *d_in, rdt_extents extents,
                               void *d_out, CUstream stream, redtune_error *err);

/* The executable that it runs now. */
static inline const rdt_executable *rdt_plan_executable(const redtune_plan *plan) {
    return atomic_load_explicit(&plan->now, memory_order_acquire);
}
