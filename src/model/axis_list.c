/* Axis list: the kept and the reduced axes of an array, joined as far as kernels need it. */
#include "model/axis_list.h"

#include <inttypes.h>

void rdt_axis_list_begin(rdt_axis_lists *lists, const char *cannot, const char *step) {
    lists->cannot = cannot;
    lists->step = step;
    lists->lacking = "";
    lists->kept.count = lists->reduced.count = 0;
}

redtune_status rdt_axis_list_add(rdt_axis_lists *lists, bool reduced, size_t number, uint64_t size,
                                 int64_t step, redtune_error *err) {
    rdt_axis_list *list = reduced ? &lists->reduced : &lists->kept;
    if (size == 1) return REDTUNE_OK;
    if (step <= 0)
        return rdt_fail(err, REDTUNE_UNSUPPORTED, 0,
                        "%s%s: %s axis %zu has %s %" PRId64 "; " RDT_AXIS_LIST_COPY_IT,
                        lists->cannot, lists->lacking, reduced ? "reduced" : "kept", number,
                        lists->step, step);
    list->axis[list->count++] = (rdt_joined_axis){size, (uint64_t)step, number, number};
    return REDTUNE_OK;
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
            *outside = (rdt_joined_axis){size, axis->step, outside->outermost, axis->innermost};
        else
            list->axis[++last] = *axis;
    }
    if (list->count) list->count = last + 1;
}

/* Names the two outermost axes that did not join. */
static redtune_status refuse_gap(const rdt_axis_lists *lists, const rdt_axis_list *list,
                                 size_t most, const char *remedy, redtune_error *err) {
    const rdt_joined_axis *axis = &list->axis[0], *inside = &list->axis[1];
    return rdt_fail(err, REDTUNE_UNSUPPORTED, 0,
                    "%s%s: %s axes %zu and %zu are not one run of memory (the %s of axis %zu is "
                    "%" PRIu64 ", not %" PRIu64 "), and kernels take %zu; " RDT_AXIS_LIST_COPY_IT
                    "%s",
                    lists->cannot, lists->lacking, list == &lists->kept ? "kept" : "reduced",
                    axis->innermost, inside->outermost, lists->step, axis->innermost, axis->step,
                    step_behind(inside), most, remedy);
}

redtune_status rdt_axis_list_fit(rdt_axis_lists *lists, const redtune_problem *problem,
                                 rdt_extents *out, redtune_error *err) {
    rdt_axis_list *kept = &lists->kept, *reduced = &lists->reduced;
    const rdt_op_traits *op = rdt_op_find(problem->op);
    const bool indexed = op && op->indexed;
    if (!indexed && problem->order == REDTUNE_ORDER_FREE) sort_axes(reduced);
    join_axes(reduced);
    join_axes(kept);
    const size_t inner = kept->count && kept->axis[kept->count - 1].step == 1;
    if (reduced->count > 1)
        return refuse_gap(lists, reduced, 1, indexed ? "" : ", or reduce one axis after the other",
                          err);
    if (kept->count > inner + 1) return refuse_gap(lists, kept, inner + 1, "", err);
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
    return REDTUNE_OK;
}

redtune_status rdt_axis_list_refuse_empty(const rdt_axis_lists *lists, size_t number,
                                          redtune_error *err) {
    return rdt_fail(err, REDTUNE_UNSUPPORTED, 0,
                    "%s: kept axis %zu has size 0, so there are no results; leave out the "
                    "reduction",
                    lists->cannot, number);
}
