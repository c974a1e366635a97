/* Axis list: the kept and the reduced axes of an array, joined as far as kernels need it. */
#include "model/axis_list.h"

bool rdt_axis_list_add(rdt_axis_lists *lists, bool reduced, uint64_t size, int64_t step) {
    rdt_axis_list *list = reduced ? &lists->reduced : &lists->kept;
    if (size == 1) return true;
    if (step <= 0) return false;
    list->axis[list->count++] = (rdt_joined_axis){size, (uint64_t)step};
    return true;
}

static void sort_axes(rdt_axis_list *list) {
    for (size_t i = 1; i < list->count; i++)
        for (size_t k = i; k && list->axis[k - 1].step < list->axis[k].step; k--) {
            const rdt_joined_axis axis = list->axis[k];
            list->axis[k] = list->axis[k - 1];
            list->axis[k - 1] = axis;
        }
}

/* The step with which an axis goes on behind this one. One that is too large for 64 bits may join
 * what it should not: the extents then span more than any array (rdt_problem_span). */
static uint64_t step_behind(const rdt_joined_axis *axis) { return axis->size * axis->step; }

static void join_axes(rdt_axis_list *list) {
    size_t last = 0;
    for (size_t i = 1; i < list->count; i++) {
        rdt_joined_axis *outside = &list->axis[last], *axis = &list->axis[i];
        uint64_t size = 0;
        if (outside->step == step_behind(axis) &&
            !__builtin_mul_overflow(outside->size, axis->size, &size))
            *outside = (rdt_joined_axis){size, axis->step};
        else
            list->axis[++last] = *axis;
    }
    if (list->count) list->count = last + 1;
}

bool rdt_axis_list_fit(rdt_axis_lists *lists, const redtune_problem *problem, rdt_extents *out) {
    rdt_axis_list *kept = &lists->kept, *reduced = &lists->reduced;
    if (!rdt_problem_ordering_has_places(problem)) sort_axes(reduced);
    join_axes(reduced);
    join_axes(kept);
    const size_t inner = kept->count && kept->axis[kept->count - 1].step == 1;
    if (reduced->count > 1 || kept->count > inner + 1) return false;
    *out = (rdt_extents){.count = 1};
    if (reduced->count) {
        out->count = reduced->axis[0].size;
        out->step = reduced->axis[0].step;
    }
    if (inner) out->inner = kept->axis[kept->count - 1].size;
    if (kept->count > inner) {
        out->outer = kept->axis[0].size;
        out->outer_step = kept->axis[0].step;
    }
    return true;
}

bool rdt_axis_list_shares_sectors(const redtune_problem *problem, const rdt_extents *rows) {
    enum { SECTOR_BYTES = 32 };
    const rdt_extents its = rdt_launch_complete(*rows);
    return problem->order == REDTUNE_ORDER_FREE && its.inner == 1 && its.outer > 1 &&
           its.count > 1 && its.outer_step < its.step &&
           its.outer_step * redtune_dtype_bytes(problem->dtype) < SECTOR_BYTES;
}

redtune_status rdt_axis_list_refuse_empty(const char *cannot, size_t number, redtune_error *err) {
    return rdt_fail(err, REDTUNE_UNSUPPORTED, 0,
                    "%s: kept axis %zu has size 0, so there are no results; leave out the "
                    "reduction",
                    cannot, number);
}
