/* Beside: arrays that lie beside the first one of a problem, as people write them. */
#include "cli/beside.h"

#include <string.h>
#include "cli/message.h"

/* The options that name a shape; the array that it is of. */
typedef struct beside {
    const char *name, *shape;
    redtune_array array;
} beside;

static void list_beside(const rdt_options *options, beside out[2]) {
    out[0] = (beside){"second-shape", options->second_shape, REDTUNE_ARRAY_Y};
    out[1] = (beside){"where-shape", options->where_shape, REDTUNE_ARRAY_MASK};
}

static redtune_status refuse_option(const char *name, const char *reason, redtune_error *err) {
    return rdt_message_set(err, REDTUNE_INVALID, 0, "cannot use --%s %s", name, reason);
}

static redtune_status check_two_inputs(const rdt_options *options, redtune_error *err) {
    redtune_op_info op;
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
               : refuse_option("second-shape", "without --op: name one of two inputs, such as dot",
                               err);
}

static redtune_status check_steps(const rdt_options *options, redtune_error *err) {
    if (!options->steps.count) return REDTUNE_OK;
    if (!options->shape)
        return refuse_option("strides",
                             "without --shape: name the array whose steps these are, such as "
                             "--shape 16384x4096 --strides 8192,2",
                             err);
    if (!options->key_count && !options->keys.count_count) return REDTUNE_OK;
    return refuse_option("strides", "with --keys: by key arrays are packed", err);
}

redtune_status rdt_beside_check(const rdt_options *options, redtune_error *err) {
    beside all[2];
    list_beside(options, all);
    redtune_status status = check_steps(options, err);
    if (status) return status;
    for (int i = 0; i < 2; i++) {
        if (!all[i].shape) continue;
        if (!options->shape && !options->rows.count_count)
            return refuse_option(all[i].name,
                                 "without --shape: name the array that the first input is, such as "
                                 "--shape 16384x1024",
                                 err);
        if (options->key_count || options->keys.count_count)
            return refuse_option(all[i].name,
                                 "with --keys: by key all arrays have the elements of "
                                 "--shape",
                                 err);
    }
    return options->second_shape ? check_two_inputs(options, err) : REDTUNE_OK;
}

static redtune_status refuse_broadcast(const beside *of, redtune_error *err) {
    return rdt_message_set(err, REDTUNE_INVALID, 0,
                           "cannot use --%s %.60s: it does not broadcast to --shape; give the same "
                           "sizes, or 1, from the last one on, such as 1024 beside 16384x1024",
                           of->name, of->shape);
}

/* Sets the steps of a packed array that broadcasts to the first one, along the axes of that. */
static redtune_status set_broadcast_steps(const beside *of, const rdt_shape_array *shape,
                                          redtune_axis *axes, redtune_error *err) {
    rdt_shape_array own;
    redtune_status status = rdt_shape_read(of->shape, strlen(of->shape), &own, err);
    if (status) return status;
    if (own.dimensions > shape->dimensions) return refuse_broadcast(of, err);
    const size_t before = shape->dimensions - own.dimensions;
    int64_t step = 1;
    for (size_t i = shape->dimensions; i-- > 0;) {
        const int64_t size = i < before ? 1 : own.sizes[i - before];
        if (size != 1 && size != shape->sizes[i]) return refuse_broadcast(of, err);
        axes[i].step[of->array] = size == 1 ? 0 : step;
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
                           "cannot use --second-shape or --where-shape beside an array of %zu "
                           "axes: at most %d are taken; join those that lie behind each other in "
                           "all arrays",
                           dimensions, REDTUNE_AXES_MAX);
}

static void list_axes_of(const rdt_shape_array *shape, const rdt_shape_steps *steps,
                         redtune_axis *axes) {
    int64_t packed = 1;
    for (size_t i = shape->dimensions; i-- > 0; packed *= shape->sizes[i])
        axes[i] = (redtune_axis){(uint64_t)shape->sizes[i],
                                 {[REDTUNE_ARRAY_X] = steps->count ? steps->step[i] : packed}};
}

redtune_status rdt_beside_fold(const rdt_options *options, const rdt_shape_array *shape,
                               redtune_problem *problem, redtune_error *err) {
    beside all[2];
    redtune_axis axes[REDTUNE_AXES_MAX];
    bool reduced[RDT_SHAPE_DIMENSIONS_MAX];
    list_beside(options, all);
    /* Says what is wrong with the array or the axes. */
    redtune_status status = rdt_shape_fold(shape, &options->steps, &options->axes, problem, err);
    if (status || (!all[0].shape && !all[1].shape)) return status;
    if (shape->dimensions > REDTUNE_AXES_MAX) return refuse_dimensions(shape->dimensions, err);
    list_axes_of(shape, &options->steps, axes);
    problem->steps = 1u << REDTUNE_ARRAY_X;
    for (int i = 0; !status && i < 2; i++) {
        if (!all[i].shape) continue;
        problem->steps |= 1u << all[i].array;
        status = set_broadcast_steps(&all[i], shape, axes, err);
    }
    if (status) return status;
    if (all[1].shape) problem->mask = REDTUNE_MASK_BYTES;
    mark_reduced(shape, &options->axes, reduced);
    problem->kept_axes = problem->reduced_axes = 0;
    for (size_t i = 0; i < shape->dimensions; i++)
        *(reduced[i] ? &problem->reduced[problem->reduced_axes++]
                     : &problem->kept[problem->kept_axes++]) = axes[i];
    return REDTUNE_OK;
}
