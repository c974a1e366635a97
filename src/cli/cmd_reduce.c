/* redtune reduce: the tuned reduction of a file. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "cli/array_file.h"
#include "cli/command.h"
#include "cli/device.h"
#include "cli/json.h"
#include "cli/key_file.h"
#include "cli/message.h"
#include "cli/offset_file.h"
#include "cli/shared_file.h"

static double gbps_of(const rdt_input_files *files, const redtune_reading *reading) {
    double bytes = 0;
    for (size_t i = 0; i < files->count; i++) {
        const uint64_t count = i && files->keyed ? files->file[i].count : reading->count;
        bytes += (double)count * (double)redtune_dtype_bytes(files->file[i].dtype);
    }
    return reading->kernel_ns > 0 ? bytes / reading->kernel_ns : 0;
}

static void add_paths(rdt_json *json, const rdt_input_files *files) {
    rdt_json_text(json, "file", files->file[0].path);
    for (size_t i = 1; i < files->count; i++) {
        const bool is_last = i + 1 == files->count;
        rdt_json_text(json,
                      i == 1 && files->keyed     ? "by"
                      : is_last && files->masked ? "where"
                                                 : "second_file",
                      files->file[i].path);
    }
}

static void add_reading(rdt_json *json, const rdt_input_files *files,
                        const redtune_reading *reading) {
    const redtune_info *info = &reading->info;
    rdt_json_count(json, "pieces", reading->pieces);
    rdt_json_real(json, "kernel_ns", reading->kernel_ns);
    rdt_json_real(json, "gbps", gbps_of(files, reading));
    rdt_json_text(json, "family", info->family);
    rdt_json_text(json, "config", info->config);
    rdt_json_text(json, "match", redtune_match_name(info->match));
}

/* The results of a whole array, printed. */
typedef struct values {
    char digits[RDT_RESULTS_ARRAYS_MAX][RDT_NUMBER_BYTES];
    redtune_dtype dtype[RDT_RESULTS_ARRAYS_MAX];
} values;

static redtune_status read_values(const redtune_reading *reading, values *out, redtune_error *err) {
    out->dtype[0] = reading->dtype;
    out->dtype[1] = reading->second_dtype;
    redtune_status status =
        rdt_number_print_value(out->digits[0], reading->dtype, &reading->value, err);
    if (status || !reading->second_dtype) return status;
    return rdt_number_print_value(out->digits[1], reading->second_dtype, &reading->second, err);
}

/* One value alone, of several each with its name. */
static void add_values(rdt_json *json, const redtune_op_info *op, const values *all) {
    if (op->outputs == 1) {
        rdt_json_number(json, "value", all->digits[0]);
        rdt_json_text(json, "value_dtype", redtune_dtype_name(all->dtype[0]));
        return;
    }
    rdt_json_begin(json, "results", '{');
    for (int i = 0; i < op->outputs; i++) {
        rdt_json_begin(json, op->output_name[i], '{');
        rdt_json_number(json, "value", all->digits[i]);
        rdt_json_text(json, "dtype", redtune_dtype_name(all->dtype[i]));
        rdt_json_end(json, '}');
    }
    rdt_json_end(json, '}');
}

static void print_json(const rdt_input_files *files, const redtune_reading *reading,
                       const values *all) {
    const redtune_info *info = &reading->info;
    rdt_json json = {.out = stdout};
    rdt_json_begin(&json, NULL, '{');
    add_paths(&json, files);
    rdt_json_text(&json, "op", files->info.name);
    rdt_json_text(&json, "dtype", redtune_dtype_name(files->file[0].dtype));
    rdt_json_count(&json, "count", reading->count);
    add_values(&json, &files->info, all);
    add_reading(&json, files, reading);
    rdt_json_count(&json, "tuned_count", info->tuned_count);
    rdt_json_text(&json, "tuned_gpu", info->gpu);
    rdt_json_end(&json, '}');
}

static void print_values(const redtune_op_info *op, const values *all) {
    for (int i = 0; i < op->outputs; i++)
        if (op->outputs > 1)
            printf("%s %s\n", op->output_name[i], all->digits[i]);
        else
            puts(all->digits[i]);
}

/* The lines of -v on stderr: the problem, the kernel, the speed. */
static void explain(const redtune_problem *problem, const rdt_input_files *files,
                    const redtune_reading *reading) {
    const redtune_info *info = &reading->info;
    char tuned[RDT_SHAPE_BYTES], what[RDT_SHAPE_BYTES];
    const redtune_problem at = rdt_shape_measured(info);
    rdt_shape_describe(tuned, &at, false);
    rdt_shape_describe(what, problem, true);
    rdt_message_print("%s in %llu piece%s: %.2f us on the GPU, %.1f GB/s", what,
                      (unsigned long long)reading->pieces, reading->pieces == 1 ? "" : "s",
                      reading->kernel_ns / 1e3, gbps_of(files, reading));
    if (info->match == REDTUNE_MATCH_PINNED)
        rdt_message_print("%s %s, pinned by REDTUNE_CONFIG", info->family, info->config);
    else if (info->match == REDTUNE_MATCH_DEFAULT)
        rdt_message_print("%s %s, the built-in default: nothing like it is tuned here",
                          info->family, info->config);
    else
        rdt_message_print("%s %s, match: %s, tuned for the %s on %s", info->family, info->config,
                          redtune_match_name(info->match), tuned, info->gpu);
}

static redtune_status reduce_whole(const rdt_options *options, const redtune_problem *problem,
                                   rdt_input_files *files, redtune_reading *reading,
                                   redtune_error *err) {
    redtune *rt = NULL;
    if (rdt_device_names_several(options))
        return rdt_shared_file_reduce(options, problem, files, reading, err);
    const redtune_input source = rdt_input_files_source(files);
    redtune_status status =
        rdt_device_open(options, options->device, rdt_message_log, NULL, &rt, err);
    if (status) return status;
    status = redtune_reduce_input(rt, problem, &source, reading, err);
    if (!status) status = rdt_input_files_finish(files, err);
    redtune_close(rt);
    return status;
}

static int run_whole(const rdt_options *options, const redtune_problem *problem,
                     rdt_input_files *files) {
    redtune_problem counted = *problem;
    redtune_reading reading;
    redtune_error err;
    values all;
    redtune_status status = reduce_whole(options, problem, files, &reading, &err);
    if (!status) status = read_values(&reading, &all, &err);
    if (status) return rdt_message_fail(&err);
    if (options->json)
        print_json(files, &reading, &all);
    else
        print_values(&files->info, &all);
    rdt_shape_set(&counted, 0, reading.count);
    if (options->verbose) explain(&counted, files, &reading);
    return RDT_EXIT_DONE;
}

/* ---- along axes ------------------------------------------------------------------------------ */

static void add_value(void *user, const char *digits) { rdt_json_number(user, NULL, digits); }

/* Where that one of an op's results goes; NULL: it is printed. */
static const char *output_path(const rdt_options *options, int i) {
    return i ? options->second_output : options->output;
}

static redtune_status add_results(rdt_json *json, const rdt_results *results, const char *output,
                                  redtune_error *err) {
    if (output) {
        rdt_json_text(json, "output", output);
        return REDTUNE_OK;
    }
    rdt_json_begin(json, "values", '[');
    redtune_status status = rdt_results_each(results, add_value, json, err);
    rdt_json_end(json, ']');
    return status;
}

static redtune_status print_results_json(const rdt_options *options, const redtune_problem *problem,
                                         const rdt_input_files *files, const rdt_results *results,
                                         const redtune_reading *reading, redtune_error *err) {
    const redtune_op_info *op = &files->info;
    redtune_status status = REDTUNE_OK;
    redtune_problem named = *problem;
    named.result = results->dtype;
    rdt_json json = {.out = stdout};
    rdt_json_begin(&json, NULL, '{');
    add_paths(&json, files);
    rdt_json_problem(&json, &named);
    rdt_json_begin(&json, "shape", '[');
    for (size_t i = 0; i < results->rank; i++) rdt_json_count(&json, NULL, results->shape[i]);
    rdt_json_end(&json, ']');
    if (op->outputs == 1) {
        status = add_results(&json, results, options->output, err);
    } else {
        rdt_json_begin(&json, "results", '{');
        for (int i = 0; !status && i < op->outputs; i++) {
            rdt_json_begin(&json, op->output_name[i], '{');
            rdt_json_text(&json, "dtype", redtune_dtype_name(results[i].dtype));
            status = add_results(&json, &results[i], output_path(options, i), err);
            rdt_json_end(&json, '}');
        }
        rdt_json_end(&json, '}');
    }
    add_reading(&json, files, reading);
    rdt_json_end(&json, '}');
    return status;
}

/* As many -o as results, or none. */
static redtune_status check_output_count(const rdt_options *options, const redtune_op_info *op,
                                         redtune_error *err) {
    if (op->outputs == 1 && options->second_output)
        return rdt_message_set(err, REDTUNE_INVALID, 0,
                               "cannot use -o twice: %s has one result; name one file", op->name);
    if (op->outputs > 1 && options->output && !options->second_output)
        return rdt_message_set(
            err, REDTUNE_INVALID, 0,
            "cannot use -o once: %s has two results; name a file for %s and then "
            "one for %s: -o FILE -o FILE",
            op->name, op->output_name[0], op->output_name[1]);
    if (options->second_output && !strcmp(options->output, options->second_output))
        return rdt_message_set(err, REDTUNE_INVALID, 0,
                               "cannot write two results to %.200s: name two files",
                               options->output);
    return REDTUNE_OK;
}

/* Before the file is read: a long reduction shall not end with such a message. */
static redtune_status check_output(const rdt_options *options, const redtune_op_info *op,
                                   const rdt_results *results, redtune_error *err) {
    if (!options->output && results->count > RDT_RESULTS_PRINTED_MAX)
        return rdt_message_set(err, REDTUNE_INVALID, 0,
                               "cannot print %llu results, more than %d: write them to a file with "
                               "-o FILE.npy",
                               (unsigned long long)results->count, RDT_RESULTS_PRINTED_MAX);
    for (int i = 0; i < op->outputs; i++) {
        const char *output = output_path(options, i);
        if (output && !strcmp(output, "-") && options->json)
            return rdt_message_set(err, REDTUNE_INVALID, 0,
                                   "cannot use --json with -o -: both go to standard output");
        if (output && !strcmp(output, "-") && isatty(STDOUT_FILENO))
            return rdt_message_set(
                err, REDTUNE_INVALID, 0,
                "cannot write an .npy file to a terminal: it is binary; name a file");
    }
    return check_output_count(options, op, err);
}

/* Names stand in lines that numpy.loadtxt passes over. */
static redtune_status print_arrays(const redtune_op_info *op, const rdt_results *results,
                                   redtune_error *err) {
    redtune_status status = REDTUNE_OK;
    for (int i = 0; !status && i < op->outputs; i++) {
        if (op->outputs > 1) printf("%s# %s\n", i ? "\n" : "", op->output_name[i]);
        status = rdt_results_print(&results[i], stdout, err);
    }
    return status;
}

static redtune_status reduce_along(const rdt_options *options, const redtune_problem *problem,
                                   const uint64_t *offsets, rdt_input_files *files,
                                   rdt_results *results, redtune_reading *reading,
                                   redtune_error *err) {
    redtune *rt = NULL;
    redtune_status status =
        rdt_device_open(options, options->device, rdt_message_log, NULL, &rt, err);
    if (!status) status = rdt_array_file_reduce(rt, problem, offsets, files, results, reading, err);
    redtune_close(rt);
    for (int i = 0; !status && options->output && i < files->info.outputs; i++)
        status = rdt_results_write(&results[i], output_path(options, i), err);
    if (status) return status;
    if (options->json)
        status = print_results_json(options, problem, files, results, reading, err);
    else if (!options->output)
        status = print_arrays(&files->info, results, err);
    return status;
}

static redtune_status check_one_gpu(const rdt_options *options, redtune_error *err) {
    if (!rdt_device_names_several(options)) return REDTUNE_OK;
    return rdt_message_set(err, REDTUNE_INVALID, 0,
                           "cannot use --device %.40s along axes: GPUs share whole arrays; name "
                           "one GPU",
                           options->device);
}

static int run_along(const rdt_options *options, redtune_problem *problem, rdt_input_files *files) {
    rdt_results results[RDT_RESULTS_ARRAYS_MAX] = {{.values = NULL}};
    redtune_reading reading;
    redtune_error err;
    uint64_t *offsets = NULL;
    redtune_status status = check_one_gpu(options, &err);
    if (!status)
        status = options->by ? rdt_key_file_fold(options, files, problem, results, &err)
                 : options->offsets
                     ? rdt_offset_file_read(options, files, problem, &offsets, results, &err)
                     : rdt_array_file_fold(options, files, problem, results, &err);
    if (!status) status = check_output(options, &files->info, results, &err);
    if (!status) status = reduce_along(options, problem, offsets, files, results, &reading, &err);
    free(results[0].values);
    free(offsets);
    if (status) return rdt_message_fail(&err);
    if (options->offsets) *problem = reading.info.problem;
    if (options->verbose) explain(problem, files, &reading);
    return RDT_EXIT_DONE;
}

/* ---- the command ----------------------------------------------------------------------------- */

static int run_reduce(const rdt_options *options) {
    rdt_input_files files;
    redtune_error err;
    redtune_status status = rdt_input_files_open(options, &files, &err);
    if (!status && options->key_count && !options->by)
        status = rdt_message_set(&err, REDTUNE_INVALID, 0,
                                 "cannot use --keys without --by: name the file of keys");
    const bool along = options->axes.count || options->output || options->keepdims ||
                       options->shape || options->offsets || options->by ||
                       (!status && rdt_array_file_is_turned(options, &files));
    redtune_problem problem = {
        .op = files.op,
        .dtype = files.file[0].dtype,
        .order = options->order,
        .accuracy = options->accuracy,
        .mask = files.masked ? REDTUNE_MASK_BYTES : REDTUNE_MASK_NONE,
    };
    rdt_shape_set(&problem, 0,
                  rdt_input_files_mask_pairs(&files) ? rdt_input_files_elements(&files)
                                                     : files.file[0].count);
    int code = status  ? rdt_message_fail(&err)
               : along ? run_along(options, &problem, &files)
                       : run_whole(options, &problem, &files);
    rdt_input_files_close(&files);
    return code;
}

const rdt_command rdt_cmd_reduce = {
    .name = "reduce",
    .bit = RDT_REDUCE,
    .argument = "FILE",
    .argument_least = 1,
    .summary = "reduces a file on the GPU and prints the value",
    .details =
        "FILE is a NumPy .npy file (versions 1.0 to 3.0, any order of dimensions and bytes), or\n"
        "raw little-endian elements of the --dtype given; - is standard input, with either. It\n"
        "may be larger than the GPU's memory. Arrays of bool are taken by the ops that NumPy\n"
        "has of them. Sums of integers are exact in 64 bits, those of floats under 32 bits are\n"
        "f32 (bf16, e4m3 and e5m2 raw, or as NumPy saves those of ml_dtypes, by --dtype);\n"
        "docs/ops.md has the rules of every op. Floats print the digits that read back as the\n"
        "same value.\n"
        "\n"
        "Along --axis an array gives an array, as in NumPy: -o writes it as an .npy file, and up "
        "to\n"
        "64 results are printed, a line for each index of the axes before the last one. bf16,\n"
        "e4m3 and e5m2 are written as f32.\n"
        "\n"
        "With --offsets an array gives a result of each segment of its elements, in their order:\n"
        "an .npy file of 32 or 64 bit integers says where they begin and end. -o and printing are\n"
        "as along an axis.\n"
        "\n"
        "With --by each element, or with several dimensions each row, has a key, an integer in an\n"
        ".npy file, and result k is of those whose key is k, in any order. --keys says how many\n"
        "results there are; elements with other keys are skipped. Two inputs have one key for\n"
        "both elements, and a mask leaves out elements and keys. docs/keys.md says more.\n"
        "\n"
        "--where names a mask, bools of the same shape: elements where it is false are absent, as\n"
        "in NumPy, and means divide by the number of those that are there (docs/masks.md).\n"
        "--where-bits names a file of bits instead, raw or an .npy file of uint8.\n"
        "\n"
        "Ops of two inputs take two files, of the same shape and dtype, and several results are\n"
        "printed with their names; along an axis each goes to a -o of its own, in the order of\n"
        "redtune show ops. --parameter gives an op's parameters, such as --parameter ddof=1.\n"
        "\n"
        "A file that ends before its array, or goes on after it, is refused: no value is printed\n"
        "for less or other than the whole file. (NumPy ignores what follows an array.)\n"
        "\n"
        "--device all, or 0,1, gives each GPU a part of a file, which several read side by side.\n"
        "\n"
        "For example: redtune reduce images.npy --op mean --axis 0 -o mean.npy\n"
        "             redtune reduce a.npy b.npy --op dot\n"
        "             redtune reduce values.npy --offsets offsets.npy --op max -o max.npy\n"
        "             redtune reduce values.npy --by keys.npy --keys 1000 --op mean -o means.npy\n"
        "             redtune reduce images.npy --op mean_var --axis 0 -o mean.npy -o var.npy\n",
    .run = run_reduce,
};
