/* Problem of segments: what it may be, and what their lengths are like. */
#include <inttypes.h>
#include <stdio.h>
#include "model/problem.h"

redtune_status rdt_problem_segments_refuse(const redtune_problem *problem, const char *verb,
                                           redtune_error *err) {
    if (!problem->segmented) return REDTUNE_OK;
    return rdt_fail(err, REDTUNE_UNSUPPORTED, 0,
                    "cannot %s segments: run them by redtune_plan_run_segments or "
                    "redtune_run_segments",
                    verb);
}

rdt_lengths rdt_problem_segments_lengths(const redtune_problem *problem) {
    const uint64_t count = rdt_problem_count(problem);
    if (!problem->segmented) return (rdt_lengths){count, count};
    return (rdt_lengths){problem->median ? problem->median : count,
                         problem->greatest ? problem->greatest : count};
}

rdt_extents rdt_problem_segments_shape(const redtune_problem *problem) {
    rdt_extents shape = rdt_problem_extents(problem);
    if (!problem->segmented) return shape;
    shape.outer_step = problem->greatest;
    shape.step = problem->median;
    return shape;
}

void rdt_problem_segments_set_shape(redtune_problem *problem, rdt_extents shape) {
    rdt_problem_axes_set(problem, shape);
    if (!problem->segmented) return;
    problem->greatest = shape.outer_step;
    problem->median = shape.step;
}

uint64_t rdt_problem_segments_count(const redtune_problem *problem) {
    return problem->kept_axes ? problem->kept[0].size : 0;
}

uint64_t rdt_problem_segments_longest(const redtune_problem *problem) {
    if (problem->segmented == REDTUNE_SEGMENTED_ALL) return rdt_problem_elements(problem);
    return rdt_problem_segments_lengths(problem).greatest;
}

uint64_t rdt_problem_segments_of(rdt_layout layout) {
    return layout == RDT_LAYOUT_RAGGED ? REDTUNE_SEGMENTED_EACH
           : layout == RDT_LAYOUT_LIST ? REDTUNE_SEGMENTED_ALL
                                       : REDTUNE_SEGMENTED_NOT;
}

/* Why there are no segments of such lengths; NULL: there may be. Half of all have the median's
 * elements at least, so that it is at most twice the average. */
static const char *wrong_lengths(const redtune_problem *problem) {
    const rdt_lengths lengths = rdt_problem_segments_lengths(problem);
    const uint64_t count = rdt_problem_count(problem);
    if (lengths.greatest < count) return "the greatest is below the average";
    if (lengths.greatest < lengths.median) return "the greatest is below the median";
    if (lengths.median / 2 > count) return "the median is above twice the average";
    if (rdt_problem_segments_count(problem) && lengths.greatest > rdt_problem_elements(problem))
        return "the greatest is above the elements of all";
    return NULL;
}

void rdt_problem_segments_describe(const redtune_problem *problem,
                                   char before[RDT_SEGMENTS_TEXT_BYTES],
                                   char behind[RDT_SEGMENTS_TEXT_BYTES]) {
    const rdt_lengths lengths = rdt_problem_segments_lengths(problem);
    char number[24] = "";
    const uint64_t count = rdt_problem_segments_count(problem);
    if (count) snprintf(number, sizeof number, "%" PRIu64 " ", count);
    snprintf(before, RDT_SEGMENTS_TEXT_BYTES, "%s%ssegments of about ",
             problem->segmented == REDTUNE_SEGMENTED_ALL ? "all of " : "", number);
    if (problem->median || problem->greatest)
        snprintf(behind, RDT_SEGMENTS_TEXT_BYTES, ", median %" PRIu64 ", greatest %" PRIu64,
                 lengths.median, lengths.greatest);
}

/* Of an op of two inputs. */
static redtune_status check_pairs(const redtune_problem *problem, const rdt_op_traits *op,
                                  redtune_error *err) {
    if (problem->segmented == REDTUNE_SEGMENTED_ALL)
        return rdt_fail(err, REDTUNE_UNSUPPORTED, 0,
                        "cannot compute the %s of all segments together: it has two inputs; "
                        "compute it of each segment, or of whole arrays by redtune_run",
                        op->name);
    if (rdt_problem_mask_listed(problem->mask))
        return rdt_fail(err, REDTUNE_UNSUPPORTED, 0,
                        "cannot compute the %s with a mask for each array: it has two inputs, and "
                        "arrays of their own have one; set problem.mask to REDTUNE_MASK_BYTES or "
                        "_BITS, for segments of two buffers",
                        op->name);
    return REDTUNE_OK;
}

redtune_status rdt_problem_segments_check(const redtune_problem *problem, redtune_error *err) {
    const rdt_op_traits *op = rdt_op_find(problem->op);
    redtune_status status = REDTUNE_OK;
    if (!problem->segmented) return REDTUNE_OK;
    if (problem->segmented > REDTUNE_SEGMENTED_ALL)
        return rdt_fail(err, REDTUNE_UNSUPPORTED, 0,
                        "cannot reduce: problem.segmented is %" PRIu32
                        ", which this redtune does not know",
                        problem->segmented);
    const char *wrong = wrong_lengths(problem);
    if (wrong)
        return rdt_fail(err, REDTUNE_INVALID, 0,
                        "cannot reduce %" PRIu64 " segments of %" PRIu64
                        " elements on average, median %" PRIu64 ", greatest %" PRIu64 ": %s",
                        rdt_problem_segments_count(problem), rdt_problem_count(problem),
                        problem->median, problem->greatest, wrong);
    if (op->inputs > 1 && (status = check_pairs(problem, op, err))) return status;
    if (problem->uses & REDTUNE_USE_DEVICE_COUNT)
        return rdt_fail(err, REDTUNE_UNSUPPORTED, 0,
                        "cannot compute the %s of segments with a count on the GPU: their tables "
                        "are there; leave out REDTUNE_USE_DEVICE_COUNT",
                        op->name);
    return REDTUNE_OK;
}
