/* Beside: arrays that lie beside the first one of a problem, as people write them. */
#include "cli/beside.h"

#include <string.h>
#include "cli/message.h"

enum { X = REDTUNE_ARRAY_X, Y = REDTUNE_ARRAY_Y };

static redtune_status refuse_second(const char *reason, redtune_error *err) {
    return rdt_message_set(err, REDTUNE_INVALID, 0, "cannot use --second-shape %s", reason);
}

redtune_status rdt_beside_check(const rdt_options *options, redtune_error *err) {
    redtune_op_info op;
    if (!options->second_shape) return REDTUNE_OK;
    if (!options->shape && !options->rows.count_count)
        return refuse_second(
            "without --shape: name the array that the first input is, such as --shape "
            "16384x1024",
            err);
    if (options->key_count || options->keys.count_count)
        return refuse_second("with --keys: by key both inputs have the elements of --shape", err);
    for (size_t i = 0; i < options->op_count; i++) {
        redtune_status status = redtune_op_get(options->ops[i], &op, err);
        if (status) return status;
        if (op.inputs > 1) continue;
        return rdt_message_set(err, REDTUNE_INVALID, 0,
                               "cannot use --second-shape with --op %s: it has one input; name an "
                               "op of two, such as dot",
                               op.name);
    }
    return options->op_count
               ? REDTUNE_OK
               : refuse_second("without --op: name one of two inputs, such as dot", err);
}

static redtune_status refuse_broadcast(const char *text, redtune_error *err) {
    return rdt_message_set(err, REDTUNE_INVALID, 0,
                           "cannot use --second-shape %.60s: it does not broadcast to --shape; "
                           "give the same sizes, or 1, from the last one on, such as 1024 beside "
                           "16384x1024",
                           text);
}

/* The steps of a packed array that broadcasts to the first one's, by the axes of that. */
static redtune_status broadcast_steps(const char *text, const rdt_shape_array *shape,
                                      int64_t steps[RDT_SHAPE_DIMENSIONS_MAX], redtune_error *err) {
    rdt_shape_array own;
    redtune_status status = rdt_shape_read(text, strlen(text), &own, err);
    if (status) return status;
    if (own.dimensions > shape->dimensions) return refuse_broadcast(text, err);
    const size_t before = shape->dimensions - own.dimensions;
    int64_t step = 1;
    for (size_t i = shape->dimensions; i-- > 0;) {
        const int64_t size = i < before ? 1 : own.sizes[i - before];
        if (size != 1 && size != shape->sizes[i]) return refuse_broadcast(text, err);
        steps[i] = size == 1 ? 0 : step;
        step *= size;
    }
    return REDTUNE_OK;
}

static void mark_reduced(const rdt_shape_array *shape, const rdt_axes *axes, bool *reduced) {
    for (size_t i = 0; i < shape->dimensions; i++) reduced[i] = !axes->count;
    for (size_t i = 0; i < axes->count; i++)
        reduced[axes->axis[i] < 0 ? axes->axis[i] + (int)shape->dimensions : axes->axis[i]] = true;
}

/* Neighbours that go on from each other are joined later; a problem has room for so many. */
static redtune_status refuse_dimensions(size_t dimensions, redtune_error *err) {
    return rdt_message_set(err, REDTUNE_INVALID, 0,
                           "cannot use --second-shape beside an array of %zu axes: at most %d are "
                           "taken; join those that lie behind each other in both arrays",
                           dimensions, REDTUNE_AXES_MAX);
}

redtune_status rdt_beside_fold(const rdt_options *options, const rdt_shape_array *shape,
                               redtune_problem *problem, redtune_error *err) {
    int64_t second[RDT_SHAPE_DIMENSIONS_MAX], step = 1;
    bool reduced[RDT_SHAPE_DIMENSIONS_MAX];
    /* Says what is wrong with the array or the axes. */
    redtune_status status = rdt_shape_fold(shape, &options->axes, problem, err);
    if (status || !options->second_shape) return status;
    if (shape->dimensions > REDTUNE_AXES_MAX) return refuse_dimensions(shape->dimensions, err);
    status = broadcast_steps(options->second_shape, shape, second, err);
    if (status) return status;
    mark_reduced(shape, &options->axes, reduced);
    problem->steps = 1u << X | 1u << Y;
    problem->kept_axes = problem->reduced_axes = 0;
    for (size_t i = 0; i < shape->dimensions; i++) step *= shape->sizes[i];
    for (size_t i = 0; i < shape->dimensions; i++) {
        step /= shape->sizes[i] ? shape->sizes[i] : 1;
        const redtune_axis axis = {(uint64_t)shape->sizes[i], {[X] = step, [Y] = second[i]}};
        if (reduced[i])
            problem->reduced[problem->reduced_axes++] = axis;
        else
            problem->kept[problem->kept_axes++] = axis;
    }
    return REDTUNE_OK;
}
