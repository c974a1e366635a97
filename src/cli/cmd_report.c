/* redtune report: what a tuning database says of a GPU, as a page, a table or JSON. */
#include <stdio.h>
#include <string.h>
#include "cli/command.h"
#include "cli/comparison.h"
#include "cli/device.h"
#include "cli/message.h"
#include "cli/output.h"
#include "redtune/tools.h"

enum { STEPS_MAX = 32 };

typedef struct climbed {
    redtune_step step[STEPS_MAX];
    size_t count;
} climbed;

static int keep_step(void *user, const redtune_step *step) {
    climbed *all = user;
    if (all->count < STEPS_MAX) all->step[all->count++] = *step;
    return 0;
}

static redtune_status climb(const rdt_options *options, climbed *out, redtune_error *err) {
    redtune *rt = NULL;
    redtune_climb wanted = {.step = keep_step, .user = out};
    redtune_status status =
        rdt_device_open(options, options->device, rdt_message_log, NULL, &rt, err);
    if (!status) status = redtune_ladder(rt, &wanted, err);
    redtune_close(rt);
    return status;
}

/* ---- the command --------------------------------------------------------------------------- */

static redtune_status check_options(const rdt_options *options, redtune_error *err) {
    if (options->device && options->gpu)
        return rdt_message_set(err, REDTUNE_INVALID, 0,
                               "cannot use --gpu with --device: name one GPU");
    if (options->csv && options->json)
        return rdt_message_set(err, REDTUNE_INVALID, 0,
                               "cannot report: --csv and --json ask for two formats; give one");
    if ((options->op_count || options->dtype_count || options->axes.count) && !options->count &&
        !options->shape)
        return rdt_message_set(err, REDTUNE_INVALID, 0,
                               "cannot report: --op, --dtype and --axis choose a problem together "
                               "with --size or --shape; add it");
    if (options->against && (options->csv || options->json))
        return rdt_message_set(err, REDTUNE_INVALID, 0,
                               "cannot use --against with %s: it is for the page; redtune compare "
                               "--json has the same for programs",
                               options->csv ? "--csv" : "--json");
    if (options->tolerance > 0 && !options->against)
        return rdt_message_set(err, REDTUNE_INVALID, 0,
                               "cannot use --tolerance without --against: it is what counts as the "
                               "same time as in that file");
    return REDTUNE_OK;
}

/* With what the page is made from. */
static redtune_status compare_with_older(const rdt_options *options, rdt_comparison *out,
                                         redtune_error *err) {
    const redtune_rows_query wanted = {.database = options->database,
                                       .gpu = options->gpu ? options->gpu : "all",
                                       .shipped = options->shipped};
    return rdt_comparison_make(options, &wanted, options->against, NULL, out, err);
}

static int run_report(const rdt_options *options) {
    static climbed steps;
    rdt_comparison comparison = {.a = NULL};
    char *text = NULL;
    redtune_error err;
    redtune_status status = check_options(options, &err);
    if (!status && options->device) status = climb(options, &steps, &err);
    if (!status && options->against) status = compare_with_older(options, &comparison, &err);
    redtune_reporting reporting = {
        .database = options->database,
        .device = options->device,
        .gpu = options->gpu,
        .shipped = options->shipped,
        .steps = steps.step,
        .step_count = steps.count,
        .comparison = options->against ? &comparison.about : NULL,
        .format = options->csv    ? REDTUNE_FORMAT_CSV
                  : options->json ? REDTUNE_FORMAT_JSON
                                  : REDTUNE_FORMAT_HTML,
    };
    if (!status && (options->count || options->shape))
        status = rdt_options_problem(options, REDTUNE_DTYPE_NONE, 0, &reporting.problem, &err);
    if (!status) status = redtune_report(&reporting, &text, &err);
    if (!status) status = rdt_output_put(options->output, text, strlen(text), &err);
    redtune_free(text);
    rdt_comparison_free(&comparison);
    return status ? rdt_message_fail(&err) : RDT_EXIT_DONE;
}

const rdt_command rdt_cmd_report = {
    .name = "report",
    .bit = RDT_REPORT,
    .summary = "writes what was measured as one HTML page, a table or JSON; needs no GPU",
    .details =
        "The page is one file and opens offline: bandwidth over size, the gain over the\n"
        "default, maps of rows and columns of matrices, every candidate of one problem by\n"
        "parameter, where the winners change, the table of winners with their origin, noise and\n"
        "throttling. Sections fold; winners can be searched, and sorted by their heads. The\n"
        "page is about one GPU model: this machine's, else the one measured last. With\n"
        "--device it is about that GPU, on which the ladder is run and shown, too. With\n"
        "--against the page begins with what is slower or faster than in another database or\n"
        "export, as redtune compare says it.\n"
        "\n"
        "For example: redtune report --against before.db -o report.html\n",
    .run = run_report,
};
