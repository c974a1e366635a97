/* Problem axes: the kept and the reduced axes of a problem, and the extents that kernels take.
 *
 * Resolving brings the axes into one form, so that equal problems have equal ones: neighbours are
 * joined (axis_list.h), and what is left are the extents of a launch. The reduced axis is there
 * even where it has one element. Steps are given, of x, y and the mask alike, unless x is packed.
 */
#include <inttypes.h>
#include "model/axis_list.h"

enum {
    X = REDTUNE_ARRAY_X,
    Y = REDTUNE_ARRAY_Y,
    MASK = REDTUNE_ARRAY_MASK,
    RESULTS = REDTUNE_ARRAY_RESULTS
};

static bool is_given(const redtune_problem *problem, int array) {
    return problem->steps & 1u << array;
}

/* ---- as extents ------------------------------------------------------------------------------ */

/* Zeros for what is usual. */
static rdt_extents shorten(const rdt_extents *complete) {
    rdt_extents out = *complete;
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

static redtune_axis axis_of(uint64_t size, uint64_t step) {
    return (redtune_axis){size, {[X] = (int64_t)step, [Y] = (int64_t)step, [MASK] = (int64_t)step}};
}

void rdt_problem_axes_set(redtune_problem *problem, rdt_extents written) {
    const rdt_extents extents = rdt_launch_complete(written);
    const bool several = extents.outer > 1;
    const bool packed = problem->segmented || (extents.inner == 1 && extents.step == 1 &&
                                               (!several || extents.outer_step == extents.count));
    problem->steps = packed ? 0 : RDT_STEPS_INPUTS;
    problem->kept_axes = 0;
    problem->reduced_axes = 1;
    problem->reduced[0] = axis_of(extents.count, packed ? 0 : extents.step);
    if (several)
        problem->kept[problem->kept_axes++] =
            axis_of(extents.outer, packed ? 0 : extents.outer_step);
    if (extents.inner > 1 && !problem->segmented)
        problem->kept[problem->kept_axes++] = axis_of(extents.inner, 1);
}

void rdt_problem_axes_set_count(redtune_problem *problem, uint64_t count) {
    rdt_extents extents = rdt_problem_axes_written(problem);
    extents.count = count;
    rdt_problem_axes_set(problem, extents);
}

/* An input without steps is not read. */
static bool is_plain(const redtune_problem *problem, const redtune_axis *axis) {
    redtune_axis complete = *axis;
    for (int array = Y; array <= MASK; array++)
        if (!is_given(problem, array)) complete.step[array] = axis->step[X];
    return rdt_problem_axis_is_plain(&complete);
}

bool rdt_problem_axes_are_plain(const redtune_problem *problem) {
    const uint32_t steps = problem->steps, count = problem->kept_axes;
    if (steps & ~RDT_STEPS_INPUTS || !(steps & 1u << X) || count > 2) return false;
    if (count == 2 && problem->kept[1].step[X] != 1) return false;
    if (steps != RDT_STEPS_INPUTS) {
        const rdt_op_traits *op = rdt_op_find(problem->op);
        if (!op || (!is_given(problem, Y) && op->inputs > 1)) return false;
        if (!is_given(problem, MASK) && problem->mask) return false;
    }
    for (uint32_t i = 0; i < count; i++)
        if (!is_plain(problem, &problem->kept[i])) return false;
    return !problem->reduced_axes || is_plain(problem, &problem->reduced[0]);
}

/* ---- resolving ------------------------------------------------------------------------------- */

/* What this version has no kernels of. */
static redtune_status check_later(const redtune_problem *problem, redtune_error *err) {
    const uint32_t later = problem->steps >> REDTUNE_ARRAYS << REDTUNE_ARRAYS;
    if (later)
        return rdt_fail(err, REDTUNE_UNSUPPORTED, 0,
                        "cannot reduce: problem.steps is %" PRIu32
                        ", and this redtune has no kernels of it; leave it 0",
                        later);
    if (problem->kept_axes <= REDTUNE_AXES_MAX && problem->reduced_axes <= REDTUNE_AXES_MAX)
        return REDTUNE_OK;
    return rdt_fail(err, REDTUNE_INVALID, 0,
                    "cannot reduce %" PRIu32 " axes and keep %" PRIu32 ": a problem has %d of each",
                    problem->reduced_axes, problem->kept_axes, REDTUNE_AXES_MAX);
}

static redtune_status check_segments(const redtune_problem *problem, redtune_error *err) {
    if (problem->kept_axes <= 1 && problem->reduced_axes <= 1 && !problem->steps) return REDTUNE_OK;
    return rdt_fail(err, REDTUNE_INVALID, 0,
                    "cannot reduce segments with %" PRIu32 " kept axes, %" PRIu32
                    " reduced ones and problem.steps %" PRIu32
                    ": leave one each and 0, a run says where segments are",
                    problem->kept_axes, problem->reduced_axes, problem->steps);
}

/* An array packed over the axes, whose innermost step is `step`; the step before the outermost. */
static uint64_t pack(redtune_axis *axes, uint32_t count, int array, uint64_t step) {
    for (uint32_t i = count; i-- > 0;) {
        axes[i].step[array] = (int64_t)step;
        if (__builtin_mul_overflow(step, axes[i].size, &step)) step = UINT64_MAX;
    }
    return step;
}

/* Lists the axes with x's steps; false where other inputs have other ones. */
static bool list_axes(const redtune_problem *problem, bool reduced, rdt_axis_lists *lists) {
    const redtune_axis *axes = reduced ? problem->reduced : problem->kept;
    const uint32_t count = reduced ? problem->reduced_axes : problem->kept_axes;
    bool fits = true;
    for (uint32_t i = 0; i < count && fits; i++)
        fits = rdt_axis_list_add(lists, reduced, axes[i].size, axes[i].step[X]) &&
               (axes[i].size == 1 ||
                (axes[i].step[Y] == axes[i].step[X] && axes[i].step[MASK] == axes[i].step[X]));
    return fits;
}

/* Exact sums of columns are those of any axes. */
static bool fit_extents(const redtune_problem *problem, rdt_extents *out) {
    const bool exact = problem->accuracy == REDTUNE_ACCURACY_EXACT && rdt_op_find(problem->op) &&
                       rdt_dtype_find(problem->dtype) && rdt_problem_shows_order(problem);
    rdt_axis_lists lists;
    lists.kept.count = lists.reduced.count = 0;
    if (!list_axes(problem, false, &lists) || !list_axes(problem, true, &lists) ||
        !rdt_axis_list_fit(&lists, problem, out))
        return false;
    /* That of a plan which serves longer ones. */
    if (out->count == 1 && problem->reduced_axes == 1 && problem->reduced[0].step[X] > 0)
        out->step = (uint64_t)problem->reduced[0].step[X];
    const rdt_extents complete = rdt_launch_complete(*out);
    return !exact || rdt_problem_layout_of(&complete) != RDT_LAYOUT_COLUMNS;
}

/* The product of the sizes; *empty, which is -1: the first axis that has no element, if any. */
static uint64_t product(const redtune_axis *axes, uint32_t count, int *empty) {
    uint64_t all = 1;
    for (uint32_t i = 0; i < count; i++) {
        if (!axes[i].size && *empty < 0) *empty = (int)i;
        if (__builtin_mul_overflow(all, axes[i].size, &all)) all = UINT64_MAX;
    }
    return all;
}

/* Whether the results are packed in the order of the kept axes. */
static bool packs_results(const redtune_problem *problem) {
    redtune_axis packed[REDTUNE_AXES_MAX];
    if (!is_given(problem, RESULTS)) return true;
    for (uint32_t i = 0; i < problem->kept_axes; i++) packed[i] = problem->kept[i];
    pack(packed, problem->kept_axes, RESULTS, 1);
    for (uint32_t i = 0; i < problem->kept_axes; i++)
        if (packed[i].size > 1 && packed[i].step[RESULTS] != problem->kept[i].step[RESULTS])
            return false;
    return true;
}

/* Of the steps that are complete. Results that share memory would be written over each other. */
static redtune_status set_strided(redtune_problem *problem, redtune_error *err) {
    redtune_axis kept[REDTUNE_AXES_MAX], reduced[REDTUNE_AXES_MAX];
    if (!is_given(problem, RESULTS)) pack(problem->kept, problem->kept_axes, RESULTS, 1);
    for (uint32_t i = 0; i < problem->kept_axes; i++) {
        kept[i] = problem->kept[i];
        if (kept[i].size > 1 && !kept[i].step[RESULTS])
            return rdt_fail(err, REDTUNE_INVALID, 0,
                            "cannot reduce: kept axis %" PRIu32
                            " has step 0 for the results; give each a place of its own",
                            i);
    }
    for (uint32_t i = 0; i < problem->reduced_axes; i++) reduced[i] = problem->reduced[i];
    return rdt_problem_strided_set(problem, kept, problem->kept_axes, reduced,
                                   problem->reduced_axes, err);
}

static void copy_steps(redtune_axis *axes, uint32_t count, int array) {
    for (uint32_t i = 0; i < count; i++) axes[i].step[array] = axes[i].step[X];
}

/* Gives x, y and the mask the steps that the problem leaves out. An array that it has not has x's.
 */
static void complete_steps(redtune_problem *problem, bool two) {
    const bool has[] = {[X] = true, [Y] = two, [MASK] = problem->mask != REDTUNE_MASK_NONE};
    for (int array = X; array <= MASK; array++) {
        if (!has[array]) {
            copy_steps(problem->kept, problem->kept_axes, array);
            copy_steps(problem->reduced, problem->reduced_axes, array);
        } else if (!is_given(problem, array)) {
            pack(problem->kept, problem->kept_axes, array,
                 pack(problem->reduced, problem->reduced_axes, array, 1));
        }
    }
}

/* Whether no step of x goes back. */
static bool go_forwards(const redtune_problem *problem) {
    bool all = true;
    for (uint32_t i = 0; i < problem->kept_axes; i++) all &= problem->kept[i].step[X] >= 0;
    for (uint32_t i = 0; i < problem->reduced_axes; i++) all &= problem->reduced[i].step[X] >= 0;
    return all;
}

redtune_status rdt_problem_axes_resolve(redtune_problem *problem, redtune_error *err) {
    const rdt_op_traits *op = rdt_op_find(problem->op);
    /* Of an op that only measurements name, its problem tells. */
    const bool two = op && (op->inputs > 1 || (op->absent && is_given(problem, Y)));
    int no_results = -1, no_elements = -1;
    redtune_status status = check_later(problem, err);
    if (!status && problem->segmented) status = check_segments(problem, err);
    if (status) return status;
    const bool packed = packs_results(problem);
    rdt_extents extents = {.outer = product(problem->kept, problem->kept_axes, &no_results),
                           .count = product(problem->reduced, problem->reduced_axes, &no_elements)};
    if (no_results >= 0 && !problem->segmented)
        return rdt_axis_list_refuse_empty("cannot reduce", (size_t)no_results, err);
    const bool empty = no_elements >= 0 || !problem->reduced_axes;
    const bool pairs =
        rdt_problem_mask_pairs(problem) && !problem->segmented && !problem->key_dtype;
    if (empty) extents.count = 0;
    const bool given = is_given(problem, X) || (two && is_given(problem, Y)) ||
                       (problem->mask && is_given(problem, MASK));
    if (pairs && !problem->reduced_axes) problem->reduced[problem->reduced_axes++].size = 0;
    if (!packed || pairs || (given && !empty && !problem->segmented)) complete_steps(problem, two);
    if (!packed || pairs) return set_strided(problem, err);
    if (empty && is_given(problem, X) && problem->kept_axes < 3 && problem->reduced_axes < 2 &&
        go_forwards(problem) && problem->accuracy != REDTUNE_ACCURACY_EXACT) {
        /* Where the axes are those of rows or columns, their steps stay as they are. */
        const rdt_extents its = rdt_problem_extents(problem);
        if (its.outer * its.inner == extents.outer) extents = its;
    }
    if (given && !empty && !problem->segmented &&
        (!fit_extents(problem, &extents) ||
         (is_given(problem, RESULTS) && rdt_axis_list_shares_sectors(problem, &extents))))
        return set_strided(problem, err);
    rdt_problem_axes_set(problem, extents);
    return REDTUNE_OK;
}

/* ---- problems of the usual kinds ------------------------------------------------------------- */

static redtune_problem problem_of_extents(redtune_op op, redtune_dtype dtype, rdt_extents extents) {
    redtune_problem problem = {.op = op, .dtype = dtype};
    rdt_problem_axes_set(&problem, extents);
    return problem;
}

/* No results are not one. */
static redtune_problem with_none(redtune_problem problem, uint64_t results) {
    problem.kept_axes += !results;
    return problem;
}

redtune_problem redtune_problem_whole(redtune_op op, redtune_dtype dtype, uint64_t count) {
    return problem_of_extents(op, dtype, (rdt_extents){.count = count});
}

redtune_problem redtune_problem_rows(redtune_op op, redtune_dtype dtype, uint64_t rows,
                                     uint64_t columns) {
    return with_none(problem_of_extents(op, dtype, (rdt_extents){.count = columns, .outer = rows}),
                     rows);
}

redtune_problem redtune_problem_columns(redtune_op op, redtune_dtype dtype, uint64_t rows,
                                        uint64_t columns) {
    return with_none(problem_of_extents(op, dtype, (rdt_extents){.count = rows, .inner = columns}),
                     columns);
}

redtune_problem redtune_problem_segments(redtune_op op, redtune_dtype dtype, uint64_t segments,
                                         uint64_t length) {
    redtune_problem problem = {.op = op, .dtype = dtype, .segmented = REDTUNE_SEGMENTED_EACH};
    rdt_problem_axes_set(&problem, (rdt_extents){.count = length, .outer = segments});
    /* One segment is not any number of them. */
    problem.kept_axes = segments != 0;
    problem.kept[0].size = segments;
    return problem;
}
