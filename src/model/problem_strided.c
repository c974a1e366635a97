/* Problem strided: problems whose axes have no form that kernels of rows or columns take.
 *
 * Resolved, such a problem gives the steps of all arrays for all of its axes; those of a second
 * input or a mask that it has not are like x's. No size is 1, except where there is one reduced
 * axis, and neighbours that go on from each other in all arrays are one axis. */
#include <inttypes.h>
#include <stdio.h>
#include "model/problem.h"

enum { RESULTS = REDTUNE_ARRAY_RESULTS, ARRAYS = REDTUNE_ARRAYS };

static uint64_t product_of_sizes(const redtune_axis *axes, uint32_t count) {
    uint64_t all = 1;
    for (uint32_t i = 0; i < count; i++)
        if (__builtin_mul_overflow(all, axes[i].size, &all)) return UINT64_MAX;
    return all;
}

rdt_extents rdt_problem_strided_extents(const redtune_problem *problem) {
    rdt_extents out = {product_of_sizes(problem->reduced, problem->reduced_axes),
                       product_of_sizes(problem->kept, problem->kept_axes), 1, 0, 1};
    out.outer_step = out.count;
    return out;
}

/* ---- making ---------------------------------------------------------------------------------- */

/* Whether the axis outside goes on where the one inside ends. */
static bool continues(const redtune_axis *outside, const redtune_axis *inside) {
    for (int i = 0; i < ARRAYS; i++) {
        int64_t behind;
        if (__builtin_mul_overflow((int64_t)inside->size, inside->step[i], &behind) ||
            behind != outside->step[i])
            return false;
    }
    return true;
}

/* How many are left; an axis without elements stays. */
static size_t join_neighbours(redtune_axis *axes, size_t count) {
    size_t left = 0;
    for (size_t i = 0; i < count; i++) {
        if (axes[i].size == 1) continue;
        redtune_axis *outside = left ? &axes[left - 1] : NULL;
        uint64_t size;
        if (outside && continues(outside, &axes[i]) &&
            !__builtin_mul_overflow(outside->size, axes[i].size, &size)) {
            *outside = axes[i];
            outside->size = size;
        } else {
            axes[left++] = axes[i];
        }
    }
    return left;
}

static redtune_status check_axes_left(const char *kind, size_t count, redtune_error *err) {
    if (count <= REDTUNE_AXES_MAX) return REDTUNE_OK;
    return rdt_fail(err, REDTUNE_UNSUPPORTED, 0,
                    "cannot reduce: %zu %s axes are left after neighbours have joined, and kernels "
                    "take %d; copy the array to a packed one",
                    count, kind, REDTUNE_AXES_MAX);
}

/* Adds how far the axes lead from the first element, either way. */
static bool add_distance(const redtune_axis *axes, uint32_t count, int array, uint64_t most,
                         uint64_t *reach) {
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t far = rdt_problem_step_length(axes[i].step[array]);
        uint64_t along = 0;
        if (!axes[i].size) continue;
        if (__builtin_mul_overflow(axes[i].size - 1, far, &along) ||
            __builtin_add_overflow(*reach, along, reach) || *reach >= most)
            return false;
    }
    return true;
}

uint64_t rdt_problem_strided_reach(const redtune_problem *problem) {
    const bool has[] = {[REDTUNE_ARRAY_X] = true,
                        [REDTUNE_ARRAY_Y] = rdt_op_find(problem->op)->inputs > 1,
                        [REDTUNE_ARRAY_MASK] = problem->mask != REDTUNE_MASK_NONE};
    uint64_t most = 0;
    for (int i = REDTUNE_ARRAY_X; i <= REDTUNE_ARRAY_MASK; i++) {
        uint64_t reach = 1;
        if (!has[i]) continue;
        add_distance(problem->kept, problem->kept_axes, i, UINT64_MAX, &reach);
        add_distance(problem->reduced, problem->reduced_axes, i, UINT64_MAX, &reach);
        if (most < reach) most = reach;
    }
    return most;
}

static redtune_status check_distance(const redtune_problem *problem, redtune_error *err) {
    const uint64_t most = rdt_problem_count_max(problem->dtype ? problem->dtype : REDTUNE_I8);
    for (int i = 0; i < ARRAYS; i++) {
        uint64_t reach = 0;
        if (add_distance(problem->kept, problem->kept_axes, i, most, &reach) &&
            (i == RESULTS ||
             add_distance(problem->reduced, problem->reduced_axes, i, most, &reach)))
            continue;
        return rdt_fail(err, REDTUNE_INVALID, 0,
                        "cannot reduce: the axes lead beyond element %" PRIu64
                        ", the last there may be",
                        most - 1);
    }
    return REDTUNE_OK;
}

redtune_status rdt_problem_strided_set(redtune_problem *problem, redtune_axis *kept,
                                       size_t kept_count, redtune_axis *reduced,
                                       size_t reduced_count, redtune_error *err) {
    for (size_t i = 0; i < reduced_count; i++) reduced[i].step[RESULTS] = 0;
    kept_count = join_neighbours(kept, kept_count);
    reduced_count = join_neighbours(reduced, reduced_count);
    if (!reduced_count) reduced[reduced_count++] = (redtune_axis){.size = 1};
    redtune_status status = check_axes_left("kept", kept_count, err);
    if (!status) status = check_axes_left("reduced", reduced_count, err);
    if (status) return status;
    redtune_problem made;
    rdt_problem_copy(&made, problem);
    made.steps = (1u << ARRAYS) - 1;
    made.kept_axes = (uint32_t)kept_count;
    made.reduced_axes = (uint32_t)reduced_count;
    for (size_t i = 0; i < kept_count; i++) made.kept[i] = kept[i];
    for (size_t i = 0; i < reduced_count; i++) made.reduced[i] = reduced[i];
    status = check_distance(&made, err);
    if (!status) rdt_problem_copy(problem, &made);
    return status;
}

/* ---- what is said of it ---------------------------------------------------------------------- */

redtune_status rdt_problem_strided_refuse(const redtune_problem *problem, const char *verb,
                                          redtune_error *err) {
    if (!rdt_problem_is_strided(problem)) return rdt_problem_keyed_refuse(problem, verb, err);
    if (rdt_problem_mask_pairs(problem))
        return rdt_fail(err, REDTUNE_UNSUPPORTED, 0,
                        "cannot compute the %s with a mask in parts along axes: it has two inputs; "
                        "use redtune_run or redtune_reduce_array",
                        rdt_op_find(problem->op)->name);
    return rdt_fail(err, REDTUNE_UNSUPPORTED, 0,
                    "cannot %s axes that are neither rows nor columns of memory; copy the array to "
                    "a packed one",
                    verb);
}

bool rdt_problem_strided_packs_results(const redtune_problem *problem) {
    uint64_t packed = 1;
    if (!rdt_problem_is_strided(problem)) return true;
    for (uint32_t i = problem->kept_axes; i-- > 0; packed *= problem->kept[i].size)
        if (problem->kept[i].step[RESULTS] != (int64_t)packed) return false;
    return true;
}

uint64_t rdt_problem_strided_results_reach(const redtune_problem *problem) {
    uint64_t reach = 1;
    if (!rdt_problem_is_strided(problem)) return rdt_problem_results(problem);
    add_distance(problem->kept, problem->kept_axes, RESULTS, UINT64_MAX, &reach);
    return reach;
}

uint64_t rdt_problem_strided_results_lead(const redtune_problem *problem) {
    uint64_t lead = 0;
    for (uint32_t i = 0; rdt_problem_is_strided(problem) && i < problem->kept_axes; i++)
        if (problem->kept[i].step[RESULTS] < 0)
            lead += (problem->kept[i].size - 1) *
                    rdt_problem_step_length(problem->kept[i].step[RESULTS]);
    return lead;
}

redtune_status rdt_problem_strided_refuse_parts(const redtune_problem *problem, const char *verb,
                                                redtune_error *err) {
    if (rdt_problem_is_keyed(problem))
        return rdt_problem_keyed_refuse(problem, "reduce by a team along", err);
    if (!rdt_problem_is_strided(problem)) return REDTUNE_OK;
    if (rdt_problem_strided_packs_results(problem)) return REDTUNE_OK;
    return rdt_fail(err, REDTUNE_UNSUPPORTED, 0,
                    "cannot %s into results with gaps or in another order; give packed ones, in "
                    "row-major order of the kept axes, and copy them",
                    verb);
}

static const redtune_axis *find_axis(const redtune_problem *problem, uint32_t i) {
    const uint32_t kept = problem->kept_axes;
    return i < kept ? &problem->kept[i] : &problem->reduced[i - kept];
}

/* An axis must lead beyond all that those with shorter steps lead to. */
bool rdt_problem_strided_is_disjoint(const redtune_problem *problem, redtune_array array) {
    const uint32_t count = problem->kept_axes + problem->reduced_axes;
    for (uint32_t i = 0; i < count; i++) {
        const redtune_axis *axis = find_axis(problem, i);
        const uint64_t step = rdt_problem_step_length(axis->step[array]);
        uint64_t within = 0;
        if (axis->size < 2) continue;
        for (uint32_t k = 0; k < count; k++) {
            const redtune_axis *other = find_axis(problem, k);
            const uint64_t shorter = rdt_problem_step_length(other->step[array]);
            if (k == i || other->size < 2 || shorter > step) continue;
            within += (other->size - 1) * shorter;
        }
        if (step <= within) return false;
    }
    return true;
}

redtune_status rdt_problem_strided_refuse_tuning(const redtune_problem *problem,
                                                 redtune_error *err) {
    char text[RDT_AXES_TEXT_BYTES];
    const bool strided = rdt_problem_is_strided(problem);
    if (problem->mask && (!strided || problem->order == REDTUNE_ORDER_FIXED))
        return rdt_fail(err, REDTUNE_UNSUPPORTED, 0,
                        "cannot tune with a mask%s: its kernel is the default; tune for the same "
                        "problem without",
                        strided ? " in fixed order" : ", but for one with steps of its own");
    if (!strided) return rdt_problem_keyed_refuse_tuning(problem, err);
    if (rdt_problem_axes_text_write(problem, true, text) &&
        rdt_problem_axes_text_write(problem, false, text))
        return REDTUNE_OK;
    return rdt_fail(err, REDTUNE_UNSUPPORTED, 0,
                    "cannot tune: the text of the axes is longer than databases hold; tune for "
                    "an array of fewer axes");
}

void rdt_problem_strided_describe(const redtune_problem *problem,
                                  char out[RDT_PROBLEM_TEXT_BYTES]) {
    char kept[RDT_AXES_TEXT_BYTES], reduced[RDT_AXES_TEXT_BYTES];
    rdt_problem_axes_text_write(problem, true, kept);
    rdt_problem_axes_text_write(problem, false, reduced);
    snprintf(out, RDT_PROBLEM_TEXT_BYTES, " along %.110s%s%.110s", reduced, *kept ? " of " : "",
             kept);
}
