/* Input files: the files that an op reduces, one for each of its inputs, a mask or keys beside, and
 * its parameters. */
#include "cli/input_files.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "cli/message.h"

/* ---- files ----------------------------------------------------------------------------------- */

static redtune_status check_count(const rdt_options *options, const redtune_op_info *op,
                                  redtune_error *err) {
    const char *const *names = options->arguments;
    const size_t inputs = (size_t)op->inputs;
    if (options->argument_count > inputs && inputs == 1)
        return rdt_message_set(err, REDTUNE_INVALID, 0,
                               "cannot use '%.200s': redtune reduce takes one FILE, and '%.200s' "
                               "is it: %s has one input",
                               names[1], names[0], op->name);
    if (options->argument_count > inputs)
        return rdt_message_set(err, REDTUNE_INVALID, 0,
                               "cannot use '%.200s': redtune reduce takes two files for %s",
                               names[inputs], op->name);
    if (options->argument_count < inputs)
        return rdt_message_set(err, REDTUNE_INVALID, 0,
                               "cannot compute the %s of %.200s: it has two inputs; write redtune "
                               "reduce FILE FILE --op %s",
                               op->name, names[0], op->name);
    if (inputs > 1 && !strcmp(names[0], "-") && !strcmp(names[1], "-"))
        return rdt_message_set(err, REDTUNE_INVALID, 0,
                               "cannot read two inputs from standard input; name a file");
    return REDTUNE_OK;
}

/* Refuses what NumPy would answer otherwise: bools are no numbers of most ops. */
static redtune_status check_array(const redtune_op_info *op, const rdt_element_file *file,
                                  redtune_error *err) {
    if (file->is_bool && !op->bools)
        return rdt_message_set(err, REDTUNE_UNSUPPORTED, 0,
                               "cannot find the %s of %s: its elements are bool, which this "
                               "op does not take; save a.astype('u1')",
                               op->name, file->path);
    return REDTUNE_OK;
}

static void describe(const rdt_element_file *file, char out[160]) {
    size_t length = (size_t)snprintf(out, 160, "%s ", redtune_dtype_name(file->dtype));
    for (size_t i = 0; file->is_npy && i < file->rank && length < 140; i++)
        length += (size_t)snprintf(out + length, 160 - length, "%s%" PRIu64, i ? "x" : "",
                                   file->shape[i]);
    if (!file->is_npy || !file->rank)
        snprintf(out + length, 160 - length, "%" PRIu64 " elements", file->count);
}

/* Elements that belong together have the same place in both files. The number of elements of a pipe
 * is known at its end only. */
static redtune_status check_alike(const rdt_input_files *files, redtune_error *err) {
    const rdt_element_file *a = &files->file[0], *b = &files->file[1];
    const bool shaped = a->is_npy && b->is_npy;
    const bool same_shape =
        !shaped || (a->rank == b->rank && !memcmp(a->shape, b->shape, a->rank * sizeof *a->shape));
    const bool known = (a->count || a->is_npy) && (b->count || b->is_npy);
    char of_a[160], of_b[160];
    describe(a, of_a);
    describe(b, of_b);
    if (a->dtype != b->dtype || !same_shape || (known && a->count != b->count))
        return rdt_message_set(err, REDTUNE_FILE, 0,
                               "cannot compute the %s of %.200s and %.200s: one has %s, the other "
                               "%s; both must have the same shape and dtype",
                               files->info.name, a->path, b->path, of_a, of_b);
    if (a->fortran_order != b->fortran_order && !shaped)
        return rdt_message_set(
            err, REDTUNE_FILE, 0,
            "cannot compute the %s of %.200s and %.200s: one array is in Fortran "
            "order; save numpy.ascontiguousarray of it",
            files->info.name, a->path, b->path);
    return REDTUNE_OK;
}

/* Bits of the elements as they stand in the file: how many these are is known. */
static redtune_status begin_bits(const rdt_options *options, rdt_input_files *files,
                                 redtune_error *err) {
    const rdt_element_file *x = &files->file[0];
    const char *what =
        !x->count && !x->is_npy
            ? "how many elements it is for is not known, or none; name a file that has some"
        : x->fortran_order ? "the array is in Fortran order; save numpy.ascontiguousarray of it"
                           : NULL;
    if (what)
        return rdt_message_set(err, REDTUNE_INVALID, 0, "cannot use --where-bits %.200s: %s",
                               options->where_bits, what);
    rdt_element_file *mask = &files->file[files->count - 1];
    return rdt_bit_file_begin(&files->bits, mask, options->where_offset, x->count, err);
}

static bool reads_standard_input(const rdt_options *options) {
    if (options->by && !strcmp(options->by, "-")) return true;
    for (size_t i = 0; i < options->argument_count; i++)
        if (!strcmp(options->arguments[i], "-")) return true;
    return false;
}

/* A mask: bools that lie as the elements do, or bits. */
static redtune_status open_mask(const rdt_options *options, rdt_input_files *files,
                                redtune_error *err) {
    const rdt_element_file *x = &files->file[0];
    rdt_element_file *mask = &files->file[files->count];
    const char *path = options->where ? options->where : options->where_bits;
    if (options->where && options->where_bits)
        return rdt_message_set(err, REDTUNE_INVALID, 0,
                               "cannot use --where and --where-bits together: leave one out");
    if (!strcmp(path, "-") && reads_standard_input(options))
        return rdt_message_set(err, REDTUNE_INVALID, 0,
                               "cannot read elements and a mask from standard input; name a file");
    redtune_status status = options->where ? rdt_element_file_open_npy("a mask", path, mask, err)
                                           : rdt_element_file_open(path, REDTUNE_U8, mask, err);
    files->count++;
    files->masked = true;
    if (status) return status;
    if (options->where_bits && mask->is_bool)
        return rdt_message_set(err, REDTUNE_FILE, 0,
                               "cannot use --where-bits %.200s: its elements are bool; use --where",
                               path);
    if (options->where_bits) return begin_bits(options, files, err);
    if (!mask->is_bool)
        return rdt_message_set(err, REDTUNE_FILE, 0,
                               "cannot use --where %.200s: its elements are %s; save a mask of "
                               "bools as an .npy file",
                               options->where, redtune_dtype_name(mask->dtype));
    const bool same_shape =
        !x->is_npy ||
        (x->rank == mask->rank && !memcmp(x->shape, mask->shape, mask->rank * sizeof *mask->shape));
    char of_x[160], of_mask[160];
    describe(x, of_x);
    describe(mask, of_mask);
    if (!same_shape || (x->count && x->count != mask->count))
        return rdt_message_set(
            err, REDTUNE_FILE, 0,
            "cannot use --where %.200s: it has %s, and %.200s %s; both must have "
            "the same shape",
            options->where, of_mask, x->path, of_x);
    return REDTUNE_OK;
}

/* Keys: an integer of each element, or row. */
static redtune_status open_keys(const rdt_options *options, rdt_input_files *files,
                                redtune_error *err) {
    rdt_element_file *keys = &files->file[1];
    if (!strcmp(options->by, "-"))
        for (size_t i = 0; i < options->argument_count; i++)
            if (!strcmp(options->arguments[i], "-"))
                return rdt_message_set(
                    err, REDTUNE_INVALID, 0,
                    "cannot read elements and keys from standard input; name a file");
    files->file[2] = files->file[1]; /* of an op of two */
    redtune_status status = rdt_element_file_open_npy("keys", options->by, keys, err);
    files->count++;
    files->keyed = true;
    if (status) return status;
    redtune_dtype_info dtype;
    if ((status = redtune_dtype_get(keys->dtype, &dtype, err))) return status;
    if (dtype.kind == 'f' || keys->is_bool || keys->rank != 1)
        return rdt_message_set(err, REDTUNE_FILE, 0,
                               "cannot use --by %.200s: it has %zu dimension%s of %s; give one of "
                               "integers",
                               options->by, keys->rank, keys->rank == 1 ? "" : "s",
                               keys->is_bool ? "bool" : dtype.name);
    return REDTUNE_OK;
}

/* ---- parameters ------------------------------------------------------------------------------ */

static redtune_status unknown_parameter(const redtune_op_info *op, const char *text, size_t length,
                                        redtune_error *err) {
    if (!op->parameters)
        return rdt_message_set(err, REDTUNE_INVALID, 0,
                               "cannot use --parameter '%.200s': %s has no parameters", text,
                               op->name);
    return rdt_message_set(err, REDTUNE_INVALID, 0,
                           "cannot use --parameter '%.200s': %s has no parameter '%.*s'; it has "
                           "%s%s%s",
                           text, op->name, (int)length, text, op->parameter_name[0],
                           op->parameters > 1 ? " and " : "",
                           op->parameters > 1 ? op->parameter_name[1] : "");
}

static redtune_status set_parameters(const rdt_options *options, rdt_input_files *files,
                                     redtune_error *err) {
    const redtune_op_info *op = &files->info;
    for (int i = 0; i < op->parameters; i++) files->parameters[i] = op->parameter_usual[i];
    for (size_t k = 0; k < options->parameter_count; k++) {
        const char *text = options->parameters[k];
        const size_t length = strcspn(text, "=");
        int i = 0;
        while (i < op->parameters && (strlen(op->parameter_name[i]) != length ||
                                      memcmp(op->parameter_name[i], text, length)))
            i++;
        if (i == op->parameters) return unknown_parameter(op, text, length, err);
        files->parameters[i] = strtod(text + length + 1, NULL);
    }
    return REDTUNE_OK;
}

/* ---- all of them ----------------------------------------------------------------------------- */

redtune_status rdt_input_files_open(const rdt_options *options, rdt_input_files *out,
                                    redtune_error *err) {
    const redtune_dtype raw = options->dtype_count ? options->dtypes[0] : REDTUNE_DTYPE_NONE;
    *out = (rdt_input_files){.op = options->op_count ? options->ops[0] : REDTUNE_SUM};
    redtune_status status = redtune_op_get(out->op, &out->info, err);
    if (!status) status = check_count(options, &out->info, err);
    if (!status) status = set_parameters(options, out, err);
    while (!status && out->count < options->argument_count) {
        rdt_element_file *file = &out->file[out->count];
        status = rdt_element_file_open(options->arguments[out->count], raw, file, err);
        out->count++;
        if (!status) status = check_array(&out->info, file, err);
    }
    if (!status && options->where_offset && !options->where_bits)
        return rdt_message_set(err, REDTUNE_INVALID, 0,
                               "cannot use --where-offset without --where-bits: name the file");
    if (!status && out->count > 1) status = check_alike(out, err);
    if (!status && options->by) status = open_keys(options, out, err);
    if (!status && (options->where || options->where_bits)) status = open_mask(options, out, err);
    return status;
}

bool rdt_input_files_mask_pairs(const rdt_input_files *files) {
    return files->masked && files->info.inputs > 1;
}

uint64_t rdt_input_files_elements(const rdt_input_files *files) {
    for (size_t i = 0; !files->keyed && !files->bits.file && i < files->count; i++)
        if (files->file[i].count) return files->file[i].count;
    return files->file[0].count;
}

void rdt_input_files_close(rdt_input_files *files) {
    for (size_t i = 0; i < files->count; i++) rdt_element_file_close(&files->file[i]);
}

redtune_input rdt_input_files_source(rdt_input_files *files) {
    redtune_input *last = NULL;
    for (size_t i = files->count; i-- > 0; last = &files->beside[i])
        files->beside[i] =
            (redtune_input){.read = rdt_element_file_read, .user = &files->file[i], .second = last};
    if (files->bits.file) {
        files->beside[files->count - 1].read = rdt_bit_file_read;
        files->beside[files->count - 1].user = &files->bits;
    }
    files->beside[0].parameters = files->info.parameters ? files->parameters : NULL;
    return files->beside[0];
}

redtune_status rdt_input_files_finish(rdt_input_files *files, redtune_error *err) {
    redtune_status status = REDTUNE_OK;
    const size_t many =
        files->count - (files->bits.file ? 1 : 0); /* bits may be followed by more */
    for (size_t i = 0; !status && i < many; i++)
        status = rdt_element_file_finish(&files->file[i], err);
    return status;
}
