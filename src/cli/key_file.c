/* Key file: the keys of --by, one of each element of a file, or of each of its rows. */
#include "cli/key_file.h"

#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include "cli/array_file.h"
#include "cli/message.h"
#include "redtune/keys.h"

static redtune_status check_beside_by(const rdt_options *options, redtune_error *err) {
    const char *other = options->axes.count ? "axis"
                        : options->keepdims ? "keepdims"
                        : options->offsets  ? "offsets"
                                            : NULL;
    if (!other) return REDTUNE_OK;
    return rdt_message_set(err, REDTUNE_INVALID, 0,
                           "cannot use --%s with --by: keys say which elements, or rows, belong "
                           "together; leave it out",
                           other);
}

/* The greatest key and 1 of some; a negative one leaves it 0. */
static uint64_t ask_for(const unsigned char *keys, size_t bytes, const redtune_dtype_info *dtype) {
    const uint64_t sign = dtype->kind == 'i' ? UINT64_C(1) << (8 * dtype->bytes - 1) : 0;
    uint64_t most = 0;
    for (size_t at = 0; at < bytes; at += dtype->bytes) {
        uint64_t key = 0;
        memcpy(&key, keys + at, dtype->bytes);
        if (!(key & sign) && key >= most) most = key < UINT64_MAX ? key + 1 : key;
    }
    return most;
}

/* How many results the keys ask for, by a reading of their own. */
static redtune_status count_keys(const rdt_element_file *named, uint64_t *out, redtune_error *err) {
    unsigned char buffer[1 << 14];
    struct stat facts;
    rdt_element_file keys = {.file = -1};
    redtune_dtype_info dtype;
    size_t more = 1;
    if (fstat(named->file, &facts) || !S_ISREG(facts.st_mode) || !strcmp(named->path, "-"))
        return rdt_message_set(err, REDTUNE_INVALID, 0,
                               "cannot find the greatest key of %.200s: it is read once only; give "
                               "the number of keys by --keys",
                               strcmp(named->path, "-") ? named->path : "standard input");
    redtune_status status = redtune_dtype_get(named->dtype, &dtype, err);
    if (!status) status = rdt_element_file_open_npy("keys", named->path, &keys, err);
    for (*out = 0; !status && more;) {
        status = rdt_element_file_read(&keys, buffer, sizeof buffer, &more, err);
        const uint64_t most = status ? 0 : ask_for(buffer, more, &dtype);
        if (most > *out) *out = most;
    }
    rdt_element_file_close(&keys);
    if (status || *out) return status;
    return rdt_message_set(err, REDTUNE_FILE, 0,
                           "cannot find the greatest key of %.200s: no key is 0 or more; give the "
                           "number of keys by --keys",
                           named->path);
}

/* The array of values: one of --shape, that of the header, or as many as keys. */
static redtune_status read_value_shape(const rdt_options *options, const rdt_input_files *files,
                                       rdt_shape_array *out, redtune_error *err) {
    const rdt_element_file *values = &files->file[0], *keys = &files->file[1];
    redtune_status status = REDTUNE_OK;
    if (values->is_npy || options->shape)
        status = rdt_array_file_shape(options, values, out, err);
    else
        *out = (rdt_shape_array){{(int64_t)(values->count ? values->count : keys->count)}, 1};
    if (status) return status;
    for (size_t i = 0; i < files->count; i++)
        if (files->file[i].fortran_order)
            return rdt_message_set(err, REDTUNE_FILE, 0,
                                   "cannot reduce %.200s by key: it is in Fortran order, whose "
                                   "rows do not lie side by side; save numpy.ascontiguousarray of "
                                   "it",
                                   files->file[i].path);
    const uint64_t rows = out->dimensions ? (uint64_t)out->sizes[0] : 1;
    if (!out->dimensions || rows != keys->count)
        return rdt_message_set(err, REDTUNE_FILE, 0,
                               "cannot reduce %.200s by key: it has %" PRIu64 " %s, and %.200s has "
                               "%" PRIu64 " keys; give one of each",
                               values->path, rows, out->dimensions > 1 ? "rows" : "elements",
                               keys->path, keys->count);
    return REDTUNE_OK;
}

redtune_status rdt_key_file_fold(const rdt_options *options, const rdt_input_files *files,
                                 redtune_problem *problem,
                                 rdt_results results[RDT_RESULTS_ARRAYS_MAX], redtune_error *err) {
    const rdt_element_file *values = &files->file[0], *keys = &files->file[1];
    rdt_results found = {.rank = 1};
    rdt_shape_array shape;
    uint64_t width = 1, count = options->key_count;
    redtune_status status = check_beside_by(options, err);
    if (!status) status = read_value_shape(options, files, &shape, err);
    if (!status && !count) status = count_keys(keys, &count, err);
    if (status) return status;
    for (size_t i = 1; i < shape.dimensions; i++) {
        found.shape[found.rank++] = (uint64_t)shape.sizes[i];
        width *= (uint64_t)shape.sizes[i];
    }
    redtune_problem by_key =
        shape.dimensions > 1
            ? redtune_problem_rows_by_key(problem->op, problem->dtype, keys->dtype, count,
                                          keys->count, width)
            : redtune_problem_by_key(problem->op, problem->dtype, keys->dtype, count, keys->count);
    by_key.order = problem->order;
    by_key.accuracy = problem->accuracy;
    by_key.mask = problem->mask;
    found.shape[0] = count;
    found.count = count * width;
    for (int i = 0; i < RDT_RESULTS_ARRAYS_MAX; i++) results[i] = found;
    /* Before the device is opened, and the results take memory. */
    status = rdt_results_take_dtypes(&by_key, values->is_bool, results, err);
    if (!status) *problem = by_key;
    return status;
}
