/* Problem axes: problems of the usual kinds, and extents of a problem. */
#include "model/problem.h"

/* Zeros for what is usual. */
static rdt_extents shorten(const rdt_extents *written) {
    rdt_extents out = rdt_launch_complete(*written);
    const rdt_extents usual =
        rdt_launch_complete((rdt_extents){.count = out.count, .inner = out.inner});
    if (out.step == usual.step) out.step = 0;
    if (out.outer_step == usual.outer_step) out.outer_step = 0;
    if (out.outer <= 1) out.outer = out.outer_step = 0;
    if (out.inner == 1) out.inner = 0;
    return out;
}

rdt_extents rdt_problem_axes_written(const redtune_problem *problem) {
    const rdt_extents extents = rdt_problem_extents(problem);
    return shorten(&extents);
}

void rdt_problem_axes_set(redtune_problem *problem, rdt_extents extents) {
    extents = shorten(&extents);
    problem->count = extents.count;
    problem->outer = extents.outer;
    problem->inner = extents.inner;
    if (problem->segmented) return;
    problem->outer_step = extents.outer_step;
    problem->step = extents.step;
}

void rdt_problem_axes_set_count(redtune_problem *problem, uint64_t count) {
    rdt_extents extents = rdt_problem_axes_written(problem);
    extents.count = count;
    rdt_problem_axes_set(problem, extents);
}

static redtune_problem make(redtune_op op, redtune_dtype dtype, rdt_extents extents) {
    redtune_problem problem = {.op = op, .dtype = dtype};
    rdt_problem_axes_set(&problem, extents);
    return problem;
}

redtune_problem redtune_problem_whole(redtune_op op, redtune_dtype dtype, uint64_t count) {
    return make(op, dtype, (rdt_extents){.count = count});
}

redtune_problem redtune_problem_rows(redtune_op op, redtune_dtype dtype, uint64_t rows,
                                     uint64_t columns) {
    return make(op, dtype, (rdt_extents){.count = columns, .outer = rows});
}

redtune_problem redtune_problem_columns(redtune_op op, redtune_dtype dtype, uint64_t rows,
                                        uint64_t columns) {
    return make(op, dtype, (rdt_extents){.count = rows, .inner = columns});
}

redtune_problem redtune_problem_segments(redtune_op op, redtune_dtype dtype, uint64_t segments,
                                         uint64_t length) {
    redtune_problem problem = make(op, dtype, (rdt_extents){.count = length, .outer = segments});
    problem.segmented = REDTUNE_SEGMENTED_EACH;
    return problem;
}
