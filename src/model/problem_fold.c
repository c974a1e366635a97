/* Problem fold: an array's shape, strides and axes as the extents of one problem.
 *
 * The axes make two lists, innermost first: those that are reduced and those that are kept. Within
 * a list an axis joins the one inside it where it goes on where that one ends: its stride is that
 * one's size times stride. What is left must have the form of redtune_problem: at most one reduced
 * axis (count, step), and at most two kept ones (outer, inner), the inner one of stride 1. Where
 * elements may be combined in any order, the reduced axes are sorted by stride first.
 *
 * Joining finds all that there is: an axis that joins no other breaks the run of equal steps, and
 * the form has room for one break, at inner. So whatever a problem can say is folded. */
#include "model/problem.h"

#include <inttypes.h>
#include <string.h>

enum { DIMENSIONS_MAX = 64 };

/* How a message ends where no problem can say the array. */
#define COPY_IT "copy the array to a packed one with the reduced axes last"

typedef struct array {
    const int64_t *shape;
    const int64_t *strides; /* NULL: packed, row-major */
    size_t dimensions;
    bool reduced[DIMENSIONS_MAX];
} array;

/* Axes that joined: outermost to innermost, by their numbers in the array. */
typedef struct joined_axis {
    uint64_t size, stride;
    size_t outermost, innermost;
} joined_axis;

typedef struct axis_list {
    joined_axis axis[DIMENSIONS_MAX];
    size_t count;
} axis_list;

static redtune_status mark_reduced(array *array, const int *axes, size_t axis_count,
                                   redtune_error *err) {
    int dimensions = (int)array->dimensions;
    for (int i = 0; !axis_count && i < dimensions; i++) array->reduced[i] = true;
    for (size_t i = 0; i < axis_count; i++) {
        if (axes[i] < -dimensions || axes[i] >= dimensions)
            return rdt_fail(err, REDTUNE_INVALID, 0,
                            "cannot fold the array: it has %d dimensions and no axis %d",
                            dimensions, axes[i]);
        bool *reduced = &array->reduced[axes[i] < 0 ? axes[i] + dimensions : axes[i]];
        if (*reduced)
            return rdt_fail(err, REDTUNE_INVALID, 0,
                            "cannot fold the array: axis %d is named twice", axes[i]);
        *reduced = true;
    }
    return REDTUNE_OK;
}

/* A size of 0 counts as 1: so the others of an empty array are bounded, too. */
static redtune_status check_sizes(const array *array, redtune_dtype dtype, redtune_error *err) {
    uint64_t elements = 1, elements_max = rdt_problem_count_max(dtype);
    for (size_t i = 0; i < array->dimensions; i++) {
        if (array->shape[i] < 0)
            return rdt_fail(err, REDTUNE_INVALID, 0,
                            "cannot fold the array: axis %zu has size %" PRId64, i,
                            array->shape[i]);
        uint64_t size = array->shape[i] ? (uint64_t)array->shape[i] : 1;
        if (size > elements_max / elements)
            return rdt_fail(err, REDTUNE_INVALID, 0,
                            "cannot fold the array: it has more than %" PRIu64
                            " elements of %s, the most there may be",
                            elements_max, redtune_dtype_name(dtype));
        elements *= size;
    }
    return REDTUNE_OK;
}

static redtune_status check_strides(const array *array, redtune_dtype dtype, redtune_error *err) {
    uint64_t offset = 0, offset_max = rdt_problem_count_max(dtype) - 1; /* of the last element */
    for (size_t i = 0; array->strides && i < array->dimensions; i++) {
        if (array->shape[i] == 1) continue;
        if (array->strides[i] <= 0)
            return rdt_fail(err, REDTUNE_UNSUPPORTED, 0,
                            "cannot fold the array: axis %zu has stride %" PRId64 "; " COPY_IT, i,
                            array->strides[i]);
        uint64_t steps = (uint64_t)array->shape[i] - 1, stride = (uint64_t)array->strides[i];
        if (stride > (offset_max - offset) / steps)
            return rdt_fail(err, REDTUNE_INVALID, 0,
                            "cannot fold the array: axis %zu, of size %" PRId64
                            " and stride %" PRId64 ", goes beyond element %" PRIu64
                            ", the last there may be",
                            i, array->shape[i], array->strides[i], offset_max);
        offset += steps * stride;
    }
    return REDTUNE_OK;
}

/* Extents of an array without elements: of an empty axis that is kept, there is no result. */
static redtune_status fold_empty(const array *array, redtune_problem *problem, redtune_error *err) {
    uint64_t results = 1;
    for (size_t i = 0; i < array->dimensions; i++) {
        if (array->reduced[i]) continue;
        if (!array->shape[i])
            return rdt_fail(err, REDTUNE_UNSUPPORTED, 0,
                            "cannot fold the array: axis %zu is kept and has size 0, so there are "
                            "no results; leave out the reduction",
                            i);
        results *= (uint64_t)array->shape[i];
    }
    rdt_problem_axes_set(problem, (rdt_extents){.count = 0, .outer = results});
    return REDTUNE_OK;
}

/* Lists the axes that are reduced, or kept, innermost first; by stride where they may be sorted. */
static axis_list list_axes(const array *array, bool reduced, bool sorted) {
    axis_list list = {.count = 0};
    uint64_t packed = 1;
    for (size_t i = array->dimensions; i-- > 0;) {
        uint64_t size = (uint64_t)array->shape[i];
        uint64_t stride = array->strides ? (uint64_t)array->strides[i] : packed;
        packed *= size;
        if (size == 1 || array->reduced[i] != reduced) continue;
        size_t at = list.count++;
        for (; sorted && at && list.axis[at - 1].stride > stride; at--)
            list.axis[at] = list.axis[at - 1];
        list.axis[at] = (joined_axis){size, stride, i, i};
    }
    return list;
}

static void join_axes(axis_list *list) {
    size_t last = 0;
    for (size_t i = 1; i < list->count; i++) {
        joined_axis *inside = &list->axis[last], *axis = &list->axis[i];
        if (axis->stride == inside->size * inside->stride) {
            inside->size *= axis->size;
            inside->outermost = axis->outermost;
        } else {
            list->axis[++last] = *axis;
        }
    }
    if (list->count) list->count = last + 1;
}

/* Names the two outermost axes that did not join. */
static redtune_status refuse_gap(const axis_list *list, const char *which, const char *remedy,
                                 redtune_error *err) {
    const joined_axis *axis = &list->axis[list->count - 1], *inside = axis - 1;
    return rdt_fail(err, REDTUNE_UNSUPPORTED, 0,
                    "cannot fold the array: %s axes %zu and %zu are not one run of memory (the "
                    "stride of axis %zu is %" PRIu64 ", not %" PRIu64 "); " COPY_IT "%s",
                    which, axis->innermost, inside->outermost, axis->innermost, axis->stride,
                    inside->size * inside->stride, remedy);
}

static redtune_status fold_axes(const array *array, redtune_problem *problem, redtune_error *err) {
    bool indexed = rdt_op_find(problem->op)->indexed;
    axis_list reduced = list_axes(array, true, !indexed && problem->order == REDTUNE_ORDER_FREE);
    axis_list kept = list_axes(array, false, false);
    join_axes(&reduced);
    join_axes(&kept);
    size_t inner_axes = kept.count && kept.axis[0].stride == 1;
    if (reduced.count > 1)
        return refuse_gap(&reduced, "reduced",
                          indexed ? "" : ", or reduce one axis after the other", err);
    if (kept.count > inner_axes + 1) return refuse_gap(&kept, "kept", "", err);
    const joined_axis *outer = kept.count > inner_axes ? &kept.axis[inner_axes] : NULL;
    rdt_extents extents = {.count = 1};
    if (reduced.count) {
        extents.count = reduced.axis[0].size;
        extents.step = reduced.axis[0].stride;
    }
    if (inner_axes) extents.inner = kept.axis[0].size;
    if (outer) {
        extents.outer = outer->size;
        extents.outer_step = outer->stride;
    }
    rdt_problem_axes_set(problem, extents);
    return REDTUNE_OK;
}

redtune_status redtune_problem_fold(redtune_problem *problem, const int64_t *shape,
                                    const int64_t *strides, size_t dimensions, const int *axes,
                                    size_t axis_count, redtune_error *err) {
    if (!problem) return rdt_fail(err, REDTUNE_INVALID, 0, "cannot fold: problem is NULL");
    if ((!shape && dimensions) || (!axes && axis_count))
        return rdt_fail(err, REDTUNE_INVALID, 0, "cannot fold the array: %s is NULL",
                        !shape && dimensions ? "shape" : "axes");
    if (dimensions > DIMENSIONS_MAX)
        return rdt_fail(err, REDTUNE_UNSUPPORTED, 0,
                        "cannot fold the array: it has %zu dimensions, of at most %d", dimensions,
                        DIMENSIONS_MAX);
    array array = {shape, strides, dimensions, {false}};
    redtune_problem folded, resolved;
    memcpy(&folded, problem, offsetof(redtune_problem, kept));
    memcpy(folded.reserved, problem->reserved, sizeof folded.reserved);
    folded.kept_axes = folded.reduced_axes = folded.steps = 0;
    redtune_status status = rdt_problem_resolve(&folded, &resolved, err);
    if (!status) status = mark_reduced(&array, axes, axis_count, err);
    if (!status) status = check_sizes(&array, problem->dtype, err);
    if (status) return status;
    bool empty = false;
    for (size_t i = 0; i < dimensions; i++) empty |= !shape[i];
    if (empty) {
        status = fold_empty(&array, &folded, err);
    } else {
        status = check_strides(&array, problem->dtype, err);
        if (!status) status = fold_axes(&array, &folded, err);
    }
    if (!status) rdt_problem_copy(problem, &folded);
    return status;
}
