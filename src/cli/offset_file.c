/* Offset file: where the segments of a file begin and end. */
#include "cli/offset_file.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "cli/message.h"

static redtune_status check_beside_offsets(const rdt_options *options, redtune_error *err) {
    const char *other = options->axes.count ? "axis"
                        : options->shape    ? "shape"
                        : options->keepdims ? "keepdims"
                                            : NULL;
    if (other)
        return rdt_message_set(err, REDTUNE_INVALID, 0,
                               "cannot use --%s with --offsets: segments are of all elements in "
                               "their order",
                               other);
    if (strcmp(options->offsets, "-") || strcmp(options->argument, "-")) return REDTUNE_OK;
    return rdt_message_set(err, REDTUNE_INVALID, 0,
                           "cannot read elements and offsets from standard input: name a file");
}

static redtune_status open_offsets(const char *path, rdt_element_file *file, redtune_error *err) {
    redtune_status status = rdt_element_file_open_npy("offsets", path, file, err);
    if (status) return status;
    redtune_dtype_info dtype;
    if ((status = redtune_dtype_get(file->dtype, &dtype, err))) return status;
    if (dtype.kind == 'f' || dtype.bytes < sizeof(uint32_t) || file->is_bool || file->rank != 1 ||
        !file->count)
        return rdt_message_set(err, REDTUNE_FILE, 0,
                               "cannot read offsets from %.300s: it has %zu dimension%s of %" PRIu64
                               " %s; give one of 32 or 64 bit integers, one more than segments",
                               path, file->rank, file->rank == 1 ? "" : "s", file->count,
                               dtype.name);
    return REDTUNE_OK;
}

static redtune_status read_offsets(rdt_element_file *file, unsigned char *to, size_t bytes,
                                   redtune_error *err) {
    redtune_status status = REDTUNE_OK;
    for (size_t done = 0, more = 1; !status && more && done < bytes; done += more)
        status = rdt_element_file_read(file, to + done, bytes - done, &more, err);
    return status ? status : rdt_element_file_finish(file, err);
}

/* Of integers of the dtype, which lie in the first bytes of the same memory. */
static redtune_status widen_offsets(const char *path, redtune_dtype dtype, uint64_t *offsets,
                                    uint64_t count, redtune_error *err) {
    redtune_dtype_info info;
    redtune_status status = redtune_dtype_get(dtype, &info, err);
    if (status) return status;
    const bool narrow = info.bytes == sizeof(uint32_t), is_signed = info.kind == 'i';
    for (uint64_t i = count; i-- > 0;) {
        uint32_t half = 0;
        if (narrow) {
            memcpy(&half, (const char *)offsets + i * sizeof half, sizeof half);
            offsets[i] = is_signed ? (uint64_t)(int64_t)(int32_t)half : half;
        }
        if (is_signed && (int64_t)offsets[i] < 0)
            return rdt_message_set(err, REDTUNE_FILE, 0,
                                   "cannot use the offsets in %.300s: number %" PRIu64
                                   " is %" PRId64 "; they count elements from 0",
                                   path, i, (int64_t)offsets[i]);
    }
    return REDTUNE_OK;
}

static redtune_status check_segments(const char *path, const rdt_element_file *input,
                                     const uint64_t *offsets, uint64_t count, redtune_error *err) {
    for (uint64_t i = 0; i < count; i++)
        if (offsets[i] > offsets[i + 1])
            return rdt_message_set(err, REDTUNE_FILE, 0,
                                   "cannot use the offsets in %.300s: segment %" PRIu64
                                   " begins at %" PRIu64 " and ends at %" PRIu64
                                   "; they may not decrease",
                                   path, i, offsets[i], offsets[i + 1]);
    const bool known = input->is_npy || input->count;
    if (!known || offsets[count] <= input->count) return REDTUNE_OK;
    return rdt_message_set(err, REDTUNE_FILE, 0,
                           "cannot use the offsets in %.300s: the last segment ends at %" PRIu64
                           ", and %.300s has %" PRIu64 " elements",
                           path, offsets[count], input->path, input->count);
}

static redtune_status describe_results(uint64_t count, bool of_bools, redtune_problem *problem,
                                       rdt_results results[RDT_RESULTS_ARRAYS_MAX],
                                       redtune_error *err) {
    problem->segmented = REDTUNE_SEGMENTED_EACH;
    rdt_shape_set(problem, count, 0);
    for (int i = 0; i < RDT_RESULTS_ARRAYS_MAX; i++)
        results[i] = (rdt_results){.shape = {count}, .rank = 1, .count = count};
    return rdt_results_take_dtypes(problem, of_bools, results, err);
}

/* Elements of several files belong together by their numbers. */
static redtune_status check_orders(const rdt_input_files *files, redtune_error *err) {
    const rdt_element_file *a = &files->file[0];
    for (size_t i = 1; i < files->count; i++)
        if (a->fortran_order != files->file[i].fortran_order)
            return rdt_message_set(err, REDTUNE_FILE, 0,
                                   "cannot use --offsets with %.200s and %.200s: one array is in "
                                   "Fortran order; save numpy.ascontiguousarray of it",
                                   a->path, files->file[i].path);
    return REDTUNE_OK;
}

redtune_status rdt_offset_file_read(const rdt_options *options, const rdt_input_files *files,
                                    redtune_problem *problem, uint64_t **offsets,
                                    rdt_results results[RDT_RESULTS_ARRAYS_MAX],
                                    redtune_error *err) {
    const char *path = options->offsets;
    const rdt_element_file *input = &files->file[0];
    rdt_element_file file = {.file = -1};
    uint64_t *found = NULL;
    redtune_status status = check_beside_offsets(options, err);
    if (!status) status = check_orders(files, err);
    if (!status) status = open_offsets(path, &file, err);
    if (!status) {
        found = malloc(file.count * sizeof *found);
        if (!found)
            status = rdt_message_set(err, REDTUNE_MEMORY, 0,
                                     "cannot hold the %" PRIu64 " offsets: out of host memory",
                                     file.count);
    }
    if (!status)
        status = read_offsets(&file, (unsigned char *)found,
                              file.count * redtune_dtype_bytes(file.dtype), err);
    if (!status) status = widen_offsets(path, file.dtype, found, file.count, err);
    if (!status) status = check_segments(path, input, found, file.count - 1, err);
    if (!status) status = describe_results(file.count - 1, input->is_bool, problem, results, err);
    rdt_element_file_close(&file);
    if (status)
        free(found);
    else
        *offsets = found;
    return status;
}
