/* Array file: an array in a file, reduced along its axes. */
#include "cli/array_file.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "cli/message.h"
#include "redtune/list.h"

redtune_status rdt_array_file_shape(const rdt_options *options, const rdt_element_file *input,
                                    rdt_shape_array *out, redtune_error *err) {
    rdt_shape_array shape = {.dimensions = input->rank};
    const char *list = options->shape;
    bool more = false;
    uint64_t count = 1;
    if (input->is_npy && options->shape)
        return rdt_message_set(err, REDTUNE_INVALID, 0,
                               "cannot use --shape with %s: its .npy header has the array; leave "
                               "--shape out",
                               options->argument);
    if (!input->is_npy && !options->shape)
        return rdt_message_set(err, REDTUNE_INVALID, 0,
                               "cannot reduce %s along axes: raw elements have none; give their "
                               "array, such as --shape 64x512",
                               options->argument);
    for (size_t i = 0; i < input->rank; i++) shape.sizes[i] = (int64_t)input->shape[i];
    redtune_status status = rdt_shape_read_next(&list, &shape, &more, err);
    if (status) return status;
    for (size_t i = 0; more && i < shape.dimensions; i++)
        if (__builtin_mul_overflow(count, (uint64_t)shape.sizes[i], &count)) count = UINT64_MAX;
    if (more && input->count && count != input->count)
        return rdt_message_set(err, REDTUNE_INVALID, 0,
                               "cannot use --shape %.200s with %s: the array has %" PRIu64
                               " elements, the file %" PRIu64 " of %s",
                               options->shape, options->argument, count, input->count,
                               redtune_dtype_name(input->dtype));
    *out = shape;
    return REDTUNE_OK;
}

/* Which axes are reduced; none named: all. */
static redtune_status mark_axes(const rdt_axes *axes, size_t rank,
                                bool reduced[RDT_SHAPE_DIMENSIONS_MAX], redtune_error *err) {
    for (size_t i = 0; i < rank; i++) reduced[i] = !axes->count;
    for (size_t i = 0; i < axes->count; i++) {
        const int axis = axes->axis[i];
        const int at = axis < 0 ? axis + (int)rank : axis;
        if (at < 0 || at >= (int)rank)
            return rdt_message_set(err, REDTUNE_INVALID, 0,
                                   "cannot use --axis %d: the array has %zu dimension%s", axis,
                                   rank, rank == 1 ? "" : "s");
        if (reduced[at])
            return rdt_message_set(err, REDTUNE_INVALID, 0,
                                   "cannot use --axis: axis %d is named twice", at);
        reduced[at] = true;
    }
    return REDTUNE_OK;
}

/* As redtune_open will decide. */
static bool is_order_fixed(const rdt_options *options) {
    const char *wanted = getenv("REDTUNE_ORDER");
    if (options->order != REDTUNE_ORDER_FREE) return options->order == REDTUNE_ORDER_FIXED;
    return wanted && !strcmp(wanted, "fixed");
}

bool rdt_array_file_is_turned(const rdt_options *options, const rdt_input_files *files) {
    const rdt_element_file *a = &files->file[0];
    const bool counts = files->info.indexed || is_order_fixed(options);
    bool turned = a->fortran_order && counts && options->axes.count != 1;
    for (size_t i = 1; i < files->count; i++) {
        const rdt_element_file *b = &files->file[i];
        turned |= a->is_npy && b->is_npy && a->fortran_order != b->fortran_order;
    }
    return turned;
}

/* The steps of the axes of a packed array. */
static void pack_file_steps(const rdt_shape_array *shape, bool fortran_order, redtune_array array,
                            redtune_axis axes[RDT_SHAPE_DIMENSIONS_MAX]) {
    int64_t step = 1;
    for (size_t i = 0; i < shape->dimensions; i++) {
        const size_t at = fortran_order ? i : shape->dimensions - 1 - i;
        axes[at].step[array] = step;
        step *= shape->sizes[at];
    }
}

/* Gives the problem the axes with the steps of each file; the results are packed. */
static redtune_status list_steps(const rdt_input_files *files, const rdt_shape_array *shape,
                                 const bool *reduced, redtune_problem *problem,
                                 redtune_error *err) {
    redtune_axis axes[RDT_SHAPE_DIMENSIONS_MAX];
    int64_t results = 1;
    problem->steps = 1u << REDTUNE_ARRAY_RESULTS;
    for (size_t i = 0; i < files->count; i++) {
        const bool is_mask = files->masked && i + 1 == files->count;
        const redtune_array array = is_mask ? REDTUNE_ARRAY_MASK
                                    : i     ? REDTUNE_ARRAY_Y
                                            : REDTUNE_ARRAY_X;
        pack_file_steps(shape, files->file[i].fortran_order, array, axes);
        problem->steps |= 1u << array;
    }
    for (size_t i = shape->dimensions; i-- > 0; results *= reduced[i] ? 1 : shape->sizes[i]) {
        axes[i].size = (uint64_t)shape->sizes[i];
        axes[i].step[REDTUNE_ARRAY_RESULTS] = reduced[i] ? 0 : results;
    }
    problem->kept_axes = problem->reduced_axes = 0;
    for (size_t i = 0; i < shape->dimensions; i++) {
        uint32_t *count = reduced[i] ? &problem->reduced_axes : &problem->kept_axes;
        if (axes[i].size == 1 && (*count || !reduced[i])) continue;
        if (*count == REDTUNE_AXES_MAX)
            return rdt_message_set(err, REDTUNE_UNSUPPORTED, 0,
                                   "cannot reduce %s in Fortran order along more than %d axes, or "
                                   "keep more; save numpy.ascontiguousarray of it",
                                   files->file[0].path, REDTUNE_AXES_MAX);
        (reduced[i] ? problem->reduced : problem->kept)[(*count)++] = axes[i];
    }
    return REDTUNE_OK;
}

redtune_status rdt_array_file_fold(const rdt_options *options, const rdt_input_files *files,
                                   redtune_problem *problem,
                                   rdt_results results[RDT_RESULTS_ARRAYS_MAX],
                                   redtune_error *err) {
    const rdt_element_file *input = &files->file[0];
    const bool turned = rdt_array_file_is_turned(options, files);
    rdt_shape_array shape, folded;
    bool reduced[RDT_SHAPE_DIMENSIONS_MAX];
    rdt_axes axes = {.count = 0};
    rdt_results found = {.count = 1, .fortran_order = input->fortran_order && !turned};
    redtune_status status = rdt_array_file_shape(options, input, &shape, err);
    if (!status) status = mark_axes(&options->axes, shape.dimensions, reduced, err);
    if (status) return status;
    folded = shape;
    for (size_t i = 0; i < shape.dimensions; i++) {
        const size_t at = input->fortran_order ? shape.dimensions - 1 - i : i;
        folded.sizes[at] = shape.sizes[i];
        if (reduced[i]) axes.axis[axes.count++] = (int)at;
        if (!reduced[i]) found.count *= (uint64_t)shape.sizes[i];
        if (!reduced[i] || options->keepdims)
            found.shape[found.rank++] = reduced[i] ? 1 : (uint64_t)shape.sizes[i];
    }
    /* No axes would be all of them: so it is for an array of none, and it has one element. */
    status = turned ? list_steps(files, &shape, reduced, problem, err)
                    : rdt_shape_fold(&folded, NULL, &axes, problem, err);
    if (status && input->fortran_order)
        return rdt_message_within(err, "in Fortran order, which counts its axes from the last one");
    if (status) return status;
    for (int i = 0; i < RDT_RESULTS_ARRAYS_MAX; i++) results[i] = found;
    return rdt_results_take_dtypes(problem, input->is_bool, results, err);
}

redtune_status rdt_array_file_reduce(redtune *rt, const redtune_problem *problem,
                                     const uint64_t *offsets, rdt_input_files *files,
                                     rdt_results results[RDT_RESULTS_ARRAYS_MAX],
                                     redtune_reading *reading, redtune_error *err) {
    const redtune_input source = rdt_input_files_source(files);
    const uint64_t count = results[0].count;
    uint64_t bytes = count * redtune_dtype_bytes(results[0].dtype);
    const uint64_t second = (bytes + 15) / 16 * 16;
    if (results[1].dtype) bytes = second + count * redtune_dtype_bytes(results[1].dtype);
    results[0].values = malloc(bytes + 1);
    if (!results[0].values)
        return rdt_message_set(err, REDTUNE_MEMORY, 0,
                               "cannot hold the %" PRIu64 " results: cannot allocate %" PRIu64
                               " bytes of host memory",
                               count, bytes);
    results[1].values = (char *)results[0].values + second;
    void *values = results[0].values;
    redtune_status status =
        offsets ? redtune_reduce_segments_input(rt, problem, &source, offsets, values, bytes,
                                                reading, err)
                : redtune_reduce_array(rt, problem, &source, values, bytes, reading, err);
    return status ? status : rdt_input_files_finish(files, err);
}
