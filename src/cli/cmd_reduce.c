/* redtune reduce: the tuned reduction of a file. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "cli/array_file.h"
#include "cli/command.h"
#include "cli/device.h"
#include "cli/element_file.h"
#include "cli/json.h"
#include "cli/message.h"

static double gbps_of(const rdt_element_file *input, const redtune_reading *reading) {
    double bytes = (double)reading->count * (double)redtune_dtype_bytes(input->dtype);
    return reading->kernel_ns > 0 ? bytes / reading->kernel_ns : 0;
}

/* The problem asked for; the plan of each piece may be another's, such as mean's sum. */
static redtune_op op_of(const rdt_options *options) {
    return options->op_count ? options->ops[0] : REDTUNE_SUM;
}

static void add_reading(rdt_json *json, const rdt_element_file *input,
                        const redtune_reading *reading) {
    const redtune_info *info = &reading->info;
    rdt_json_count(json, "pieces", reading->pieces);
    rdt_json_real(json, "kernel_ns", reading->kernel_ns);
    rdt_json_real(json, "gbps", gbps_of(input, reading));
    rdt_json_text(json, "family", info->family);
    rdt_json_text(json, "config", info->config);
    rdt_json_text(json, "match", redtune_match_name(info->match));
}

static void print_json(const rdt_options *options, const rdt_element_file *input,
                       const redtune_reading *reading, const char *value) {
    const redtune_info *info = &reading->info;
    rdt_json json = {.out = stdout};
    rdt_json_begin(&json, NULL, '{');
    rdt_json_text(&json, "file", input->path);
    rdt_json_text(&json, "op", redtune_op_name(op_of(options)));
    rdt_json_text(&json, "dtype", redtune_dtype_name(input->dtype));
    rdt_json_count(&json, "count", reading->count);
    rdt_json_number(&json, "value", value);
    rdt_json_text(&json, "value_dtype", redtune_dtype_name(reading->dtype));
    add_reading(&json, input, reading);
    rdt_json_count(&json, "tuned_count", info->tuned_count);
    rdt_json_text(&json, "tuned_gpu", info->gpu);
    rdt_json_end(&json, '}');
}

/* The lines of -v on stderr: the problem, the kernel, the speed. */
static void explain(const redtune_problem *problem, const rdt_element_file *input,
                    const redtune_reading *reading) {
    const redtune_info *info = &reading->info;
    char tuned[RDT_SHAPE_BYTES], what[RDT_SHAPE_BYTES];
    const redtune_problem at = {.op = info->tuned_op,
                                .dtype = info->tuned_dtype,
                                .count = info->tuned_count,
                                .outer = info->tuned_outer,
                                .inner = info->tuned_inner};
    rdt_shape_describe(tuned, &at, false);
    rdt_shape_describe(what, problem, true);
    rdt_message_print("%s in %llu piece%s: %.2f us on the GPU, %.1f GB/s", what,
                      (unsigned long long)reading->pieces, reading->pieces == 1 ? "" : "s",
                      reading->kernel_ns / 1e3, gbps_of(input, reading));
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
                                   rdt_element_file *input, redtune_reading *reading,
                                   redtune_error *err) {
    redtune *rt = NULL;
    redtune_input source = {.read = rdt_element_file_read, .user = input};
    redtune_status status =
        rdt_device_open(options, options->device, rdt_message_log, NULL, &rt, err);
    if (status) return status;
    status = redtune_reduce_input(rt, problem, &source, reading, err);
    if (!status) status = rdt_element_file_finish(input, err);
    redtune_close(rt);
    return status;
}

/* Refuses what NumPy would answer otherwise: its index counts in C order, and so does its rule for
 * ties; and of most ops it gives a bool or a fraction, where u8 would give a number of its own.
 * Along one axis there is one order. */
static redtune_status check_array(const rdt_options *options, const rdt_element_file *input,
                                  redtune_error *err) {
    redtune_op_info op;
    redtune_status status = redtune_op_get(op_of(options), &op, err);
    if (status) return status;
    if (input->fortran_order && op.indexed && options->axes.count != 1)
        return rdt_message_set(err, REDTUNE_FILE, 0,
                               "cannot find the %s of %s: its array is in Fortran order, and the "
                               "index counts in C order; save numpy.ascontiguousarray of it",
                               op.name, options->argument);
    if (input->is_bool && !op.bools)
        return rdt_message_set(err, REDTUNE_UNSUPPORTED, 0,
                               "cannot find the %s of %s: its elements are bool, which redtune "
                               "takes for any, all, nonzeros and sum; save a.astype('u1') for "
                               "other ops",
                               op.name, options->argument);
    return REDTUNE_OK;
}

static int run_whole(const rdt_options *options, const redtune_problem *problem,
                     rdt_element_file *input) {
    redtune_problem counted = *problem;
    redtune_reading reading;
    redtune_error err;
    char value[RDT_NUMBER_BYTES];
    redtune_status status = reduce_whole(options, problem, input, &reading, &err);
    if (!status) status = rdt_number_print_value(value, reading.dtype, &reading.value, &err);
    if (status) return rdt_message_fail(&err);
    if (options->json)
        print_json(options, input, &reading, value);
    else
        puts(value);
    counted.count = reading.count;
    if (options->verbose) explain(&counted, input, &reading);
    return RDT_EXIT_DONE;
}

/* ---- along axes ------------------------------------------------------------------------------ */

static void add_value(void *user, const char *digits) { rdt_json_number(user, NULL, digits); }

static redtune_status print_results_json(const rdt_options *options, const redtune_problem *problem,
                                         const rdt_element_file *input, const rdt_results *results,
                                         const redtune_reading *reading, redtune_error *err) {
    redtune_status status = REDTUNE_OK;
    redtune_problem named = *problem;
    named.result = results->dtype;
    rdt_json json = {.out = stdout};
    rdt_json_begin(&json, NULL, '{');
    rdt_json_text(&json, "file", input->path);
    rdt_json_problem(&json, &named);
    rdt_json_begin(&json, "shape", '[');
    for (size_t i = 0; i < results->rank; i++) rdt_json_count(&json, NULL, results->shape[i]);
    rdt_json_end(&json, ']');
    if (options->output) {
        rdt_json_text(&json, "output", options->output);
    } else {
        rdt_json_begin(&json, "values", '[');
        status = rdt_results_each(results, add_value, &json, err);
        rdt_json_end(&json, ']');
    }
    add_reading(&json, input, reading);
    rdt_json_end(&json, '}');
    return status;
}

/* Before the file is read: a long reduction shall not end with such a message. */
static redtune_status check_output(const rdt_options *options, const rdt_results *results,
                                   redtune_error *err) {
    if (!options->output && results->count > RDT_RESULTS_PRINTED_MAX)
        return rdt_message_set(err, REDTUNE_INVALID, 0,
                               "cannot print %llu results, more than %d: write them to a file with "
                               "-o FILE.npy",
                               (unsigned long long)results->count, RDT_RESULTS_PRINTED_MAX);
    if (options->output && !strcmp(options->output, "-") && options->json)
        return rdt_message_set(err, REDTUNE_INVALID, 0,
                               "cannot use --json with -o -: both go to standard output");
    if (options->output && !strcmp(options->output, "-") && isatty(STDOUT_FILENO))
        return rdt_message_set(
            err, REDTUNE_INVALID, 0,
            "cannot write an .npy file to a terminal: it is binary; name a file");
    return REDTUNE_OK;
}

static redtune_status reduce_along(const rdt_options *options, const redtune_problem *problem,
                                   rdt_element_file *input, rdt_results *results,
                                   redtune_reading *reading, redtune_error *err) {
    redtune *rt = NULL;
    redtune_status status =
        rdt_device_open(options, options->device, rdt_message_log, NULL, &rt, err);
    if (!status) status = rdt_array_file_reduce(rt, problem, input, results, reading, err);
    redtune_close(rt);
    if (!status && options->output) status = rdt_results_write(results, options->output, err);
    if (status) return status;
    if (options->json)
        status = print_results_json(options, problem, input, results, reading, err);
    else if (!options->output)
        status = rdt_results_print(results, stdout, err);
    return status;
}

static int run_along(const rdt_options *options, redtune_problem *problem,
                     rdt_element_file *input) {
    rdt_results results = {.values = NULL};
    redtune_reading reading;
    redtune_error err;
    redtune_status status = rdt_array_file_fold(options, input, problem, &results, &err);
    if (!status) status = check_output(options, &results, &err);
    if (!status) status = reduce_along(options, problem, input, &results, &reading, &err);
    free(results.values);
    if (status) return rdt_message_fail(&err);
    if (options->verbose) explain(problem, input, &reading);
    return RDT_EXIT_DONE;
}

/* ---- the command ----------------------------------------------------------------------------- */

static int run_reduce(const rdt_options *options) {
    const bool along =
        options->axes.count || options->output || options->keepdims || options->shape;
    rdt_element_file input;
    redtune_error err;
    redtune_dtype raw_dtype = options->dtype_count ? options->dtypes[0] : REDTUNE_DTYPE_NONE;
    redtune_status status = rdt_element_file_open(options->argument, raw_dtype, &input, &err);
    if (!status) status = check_array(options, &input, &err);
    redtune_problem problem = {
        .op = op_of(options),
        .dtype = input.dtype,
        .count = input.count,
    };
    int code = status  ? rdt_message_fail(&err)
               : along ? run_along(options, &problem, &input)
                       : run_whole(options, &problem, &input);
    rdt_element_file_close(&input);
    return code;
}

const rdt_command rdt_cmd_reduce = {
    .name = "reduce",
    .bit = RDT_REDUCE,
    .argument = "FILE",
    .summary = "reduces a file on the GPU and prints the value",
    .details =
        "FILE is a NumPy .npy file (versions 1.0 to 3.0, any order of dimensions and bytes), or\n"
        "raw little-endian elements of the --dtype given; - is standard input, with either. It\n"
        "may be larger than the GPU's memory. Arrays of bool are taken as u8, for any, all,\n"
        "nonzeros and sum. Sums of integers are exact in 64 bits, those of f16 and bf16 (raw\n"
        "only: NumPy has none) are f32; docs/ops.md has the rules of every op. Floats print the\n"
        "digits that read back as the same value.\n"
        "\n"
        "Along --axis an array gives an array, as in NumPy: -o writes it as an .npy file, and up "
        "to\n"
        "64 results are printed, a line for each index of the axes before the last one. bf16 is\n"
        "written as f32. Reduced axes must lie side by side: 0,2 of three takes two steps.\n"
        "\n"
        "A file that ends before its array, or goes on after it, is refused: no value is printed\n"
        "for less or other than the whole file. (NumPy ignores what follows an array.)\n"
        "\n"
        "For example: redtune reduce images.npy --op mean --axis 0 -o mean.npy\n",
    .run = run_reduce,
};
