/* Problem of segments: what it may be, and where no other than elements a step apart will do. */
#include <inttypes.h>
#include "model/problem.h"

redtune_status rdt_problem_segments_refuse(const redtune_problem *problem, const char *verb,
                                           redtune_error *err) {
    if (!problem->segmented) return REDTUNE_OK;
    return rdt_fail(err, REDTUNE_UNSUPPORTED, 0,
                    "cannot %s segments: run them by redtune_plan_run_segments or "
                    "redtune_run_segments",
                    verb);
}

redtune_status rdt_problem_segments_check(const redtune_problem *problem, redtune_error *err) {
    const rdt_op_traits *op = rdt_op_find(problem->op);
    if (!problem->segmented) return REDTUNE_OK;
    if (problem->segmented > REDTUNE_SEGMENTED_ALL)
        return rdt_fail(err, REDTUNE_UNSUPPORTED, 0,
                        "cannot reduce: problem.segmented is %" PRIu64
                        ", which this redtune does not know",
                        problem->segmented);
    if (problem->inner > 1 || problem->outer_step || problem->step)
        return rdt_fail(err, REDTUNE_INVALID, 0,
                        "cannot reduce segments with problem.inner %" PRIu64 ", outer_step %" PRIu64
                        " and step %" PRIu64 ": leave them 0, a run says where segments are",
                        problem->inner, problem->outer_step, problem->step);
    if (op->inputs > 1)
        return rdt_fail(err, REDTUNE_UNSUPPORTED, 0,
                        "cannot compute the %s of segments: it has two inputs, and they have one",
                        op->name);
    if (problem->uses & REDTUNE_USE_DEVICE_COUNT)
        return rdt_fail(err, REDTUNE_UNSUPPORTED, 0,
                        "cannot compute the %s of segments with a count on the GPU: their tables "
                        "are there; leave out REDTUNE_USE_DEVICE_COUNT",
                        op->name);
    return REDTUNE_OK;
}
