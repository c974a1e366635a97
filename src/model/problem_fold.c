/* Problem fold: an array's shape, strides and axes as the extents of one problem, as far as its
 * axes join (axis_list.h). */
#include <inttypes.h>
#include <string.h>
#include "model/axis_list.h"

enum { DIMENSIONS_MAX = RDT_AXIS_LIST_MAX };

typedef struct array {
    const int64_t *shape;
    const int64_t *strides; /* NULL: packed, row-major */
    size_t dimensions;
    bool reduced[DIMENSIONS_MAX];
} array;

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

/* Extents of an array without elements: of an empty axis that is kept, there is no result. */
static redtune_status fold_empty(const array *array, rdt_extents *out, redtune_error *err) {
    uint64_t results = 1;
    for (size_t i = 0; i < array->dimensions; i++) {
        if (array->reduced[i]) continue;
        if (!array->shape[i]) return rdt_axis_list_refuse_empty("cannot fold the array", i, err);
        results *= (uint64_t)array->shape[i];
    }
    *out = (rdt_extents){.count = 0, .outer = results};
    return REDTUNE_OK;
}

/* Lists the axes, each with its stride, which does not lead too far; *fits, which is true: whether
 * there may be extents of them. */
static redtune_status list_axes(const array *array, redtune_dtype dtype, rdt_axis_lists *lists,
                                bool *fits, redtune_error *err) {
    uint64_t offset = 0, offset_max = rdt_problem_count_max(dtype) - 1; /* of the last element */
    int64_t packed[DIMENSIONS_MAX], step = 1;
    for (size_t i = array->dimensions; i-- > 0; step *= array->shape[i]) packed[i] = step;
    for (size_t i = 0; i < array->dimensions; i++) {
        const int64_t size = array->shape[i],
                      stride = (array->strides ? array->strides : packed)[i];
        *fits = rdt_axis_list_add(lists, array->reduced[i], (uint64_t)size, stride);
        if (!*fits) return REDTUNE_OK;
        if (size == 1) continue;
        if ((uint64_t)stride > (offset_max - offset) / (uint64_t)(size - 1))
            return rdt_fail(err, REDTUNE_INVALID, 0,
                            "cannot fold the array: axis %zu, of size %" PRId64
                            " and stride %" PRId64 ", goes beyond element %" PRIu64
                            ", the last there may be",
                            i, size, stride, offset_max);
        offset += (uint64_t)(size - 1) * (uint64_t)stride;
    }
    return REDTUNE_OK;
}

/* Where the axes are not of a form that rows or columns have. The results are packed. */
static redtune_status fold_strided(const array *array, redtune_problem *problem,
                                   redtune_error *err) {
    redtune_axis kept[DIMENSIONS_MAX], reduced[DIMENSIONS_MAX];
    size_t kept_count = 0, reduced_count = 0;
    int64_t packed = 1, results = 1;
    for (size_t i = array->dimensions; i-- > 0; packed *= array->shape[i]) {
        const int64_t step = array->strides ? array->strides[i] : packed;
        redtune_axis axis = {
            (uint64_t)array->shape[i],
            {[REDTUNE_ARRAY_X] = step, [REDTUNE_ARRAY_Y] = step, [REDTUNE_ARRAY_MASK] = step}};
        if (array->reduced[i]) {
            reduced[DIMENSIONS_MAX - ++reduced_count] = axis;
            continue;
        }
        axis.step[REDTUNE_ARRAY_RESULTS] = results;
        results *= array->shape[i];
        kept[DIMENSIONS_MAX - ++kept_count] = axis;
    }
    return rdt_problem_strided_set(problem, kept + DIMENSIONS_MAX - kept_count, kept_count,
                                   reduced + DIMENSIONS_MAX - reduced_count, reduced_count, err);
}

/* *fits: whether there are extents of the array. */
static redtune_status fold_axes(const array *array, const redtune_problem *problem,
                                rdt_extents *out, bool *fits, redtune_error *err) {
    rdt_axis_lists lists;
    lists.kept.count = lists.reduced.count = 0;
    *fits = true;
    for (size_t i = 0; i < array->dimensions; i++)
        if (!array->shape[i]) return fold_empty(array, out, err);
    redtune_status status = list_axes(array, problem->dtype, &lists, fits, err);
    if (!status && *fits)
        *fits =
            rdt_axis_list_fit(&lists, problem, out) && !rdt_axis_list_shares_sectors(problem, out);
    return status;
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
    rdt_extents extents;
    bool fits;
    status = fold_axes(&array, &resolved, &extents, &fits, err);
    if (!status && fits)
        rdt_problem_axes_set(&folded, extents);
    else if (!status)
        status = fold_strided(&array, &folded, err);
    if (status) return status;
    rdt_problem_copy(problem, &folded);
    return REDTUNE_OK;
}
