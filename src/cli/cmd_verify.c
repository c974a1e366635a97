/* redtune verify: tries again what the databases say of this GPU, and tells what no longer holds.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "cli/bits.h"
#include "cli/command.h"
#include "cli/device.h"
#include "cli/json.h"
#include "cli/message.h"
#include "cli/table.h"
#include "redtune/tune.h"

enum { USUAL_SAMPLE = 32 };

typedef struct audit {
    const rdt_options *options;
    redtune_rows_query query; /* which problems */
    rdt_json json;
    rdt_table table; /* of what does not hold */
} audit;

static void write_json(rdt_json *json, const redtune_verified *each) {
    rdt_json_begin(json, NULL, '{');
    rdt_json_problem(json, &each->problem);
    rdt_json_text(json, "cache", each->warm ? "warm" : "cold");
    rdt_json_text(json, "family", each->family);
    rdt_json_text(json, "config", each->config);
    rdt_json_truth(json, "imported", each->imported);
    rdt_json_real(json, "was_ns", each->was_ns);
    rdt_json_real(json, "now_ns", each->now_ns);
    rdt_json_text(json, "outcome", each->outcome);
    rdt_json_text(json, "cause", each->cause);
    rdt_json_truth(json, "holds", each->holds);
    rdt_json_truth(json, "retired", each->retired);
    rdt_json_real(json, "beside_was_ns", each->beside_was_ns);
    rdt_json_real(json, "beside_now_ns", each->beside_now_ns);
    rdt_json_end(json, '}');
}

static void add_row(rdt_table *table, const redtune_verified *each) {
    static const char *const titles[] = {"op",     "dtype", "size",    "L2",     "was us",
                                         "now us", "made",  "outcome", "config", "cause"};
    if (!table->cell_count) rdt_table_add_row(table, titles);
    rdt_table_add_problem(table, &each->problem);
    rdt_table_add(table, "%s", each->warm ? "warm" : "cold");
    rdt_table_add_us(table, each->was_ns);
    rdt_table_add_us(table, each->now_ns);
    rdt_table_add(table, "%s", each->imported ? "imported" : "here");
    rdt_table_add(table, "%s%s", each->now_ns > 0 ? "slower" : each->outcome,
                  each->retired ? ", out" : "");
    rdt_table_add(table, "%s", each->config);
    if (each->now_ns > 0 && each->beside_now_ns > 0)
        rdt_table_add(table, "beside it %.2f us, now %.2f us", each->beside_was_ns / 1e3,
                      each->beside_now_ns / 1e3);
    else
        rdt_table_add(table, "%s", each->cause);
}

static int note_verified(void *user, const redtune_verified *each) {
    audit *self = user;
    if (self->options->json)
        write_json(&self->json, each);
    else if (!each->holds)
        add_row(&self->table, each);
    if (self->options->verbose) {
        char what[RDT_SHAPE_BYTES];
        rdt_shape_describe(what, &each->problem, true);
        rdt_message_print("%s: %s %s", what, each->config, each->holds ? "holds" : "does not hold");
    }
    return 0;
}

static void finish_json(audit *self, const redtune_verify_counts *counts, bool complete) {
    rdt_json *json = &self->json;
    rdt_json_end(json, ']');
    rdt_json_truth(json, "complete", complete);
    rdt_json_count(json, "standing", counts->standing);
    rdt_json_count(json, "verified", counts->verified);
    rdt_json_count(json, "held", counts->held);
    rdt_json_count(json, "retired", counts->retired);
    rdt_json_count(json, "skipped", counts->skipped);
    rdt_json_count(json, "held_beside", counts->held_beside);
    rdt_json_end(json, '}');
}

/* The tune that would measure what was asked for. */
static void advise_tune(const rdt_options *options) {
    char op[48] = "", dtype[48] = "", size[48] = "", axis[96] = "", count[RDT_NUMBER_BYTES];
    const char *shape = options->shape ? options->shape : "";
    if (options->op_count) snprintf(op, sizeof op, " --op %s", redtune_op_name(options->ops[0]));
    if (options->dtype_count)
        snprintf(dtype, sizeof dtype, " --dtype %s", redtune_dtype_name(options->dtypes[0]));
    if (options->count) {
        rdt_number_print_count(count, options->count);
        snprintf(size, sizeof size, " --size %s", count);
    }
    if (options->axes.count) snprintf(axis, sizeof axis, " --axis %d", options->axes.axis[0]);
    for (size_t i = 1; i < options->axes.count; i++) {
        size_t length = strlen(axis);
        snprintf(axis + length, sizeof axis - length, ",%d", options->axes.axis[i]);
    }
    rdt_message_print("nothing of this is known of this GPU model; redtune tune --device "
                      "%s%s%s%s%s%.200s%s measures it",
                      options->device ? options->device : "0", op, dtype, size,
                      *shape ? " --shape " : "", shape, axis);
}

static void summarise_verified(const rdt_options *options, const redtune_verify_counts *counts) {
    char skipped[96] = "";
    if (counts->skipped)
        snprintf(skipped, sizeof skipped, "; %" PRIu64 " cannot be tried on this GPU",
                 counts->skipped);
    if (!counts->standing)
        advise_tune(options);
    else if (counts->held == counts->verified)
        rdt_message_print("%" PRIu64 " of %" PRIu64 " tried: %s%s", counts->verified,
                          counts->standing, counts->held == 1 ? "it holds" : "all hold", skipped);
    else
        rdt_message_print("%" PRIu64 " of %" PRIu64 " tried: %" PRIu64 " hold, %" PRIu64
                          " do not, of which %" PRIu64 " are out now%s",
                          counts->verified, counts->standing, counts->held,
                          counts->verified - counts->held, counts->retired, skipped);
    if (counts->held_beside)
        rdt_message_print("held because what was timed beside them is slower as well: %" PRIu64
                          "; this GPU is slower now than when it was tuned",
                          counts->held_beside);
}

static redtune_status verify_sample(audit *self, redtune_verify_counts *counts,
                                    redtune_error *err) {
    const rdt_options *options = self->options;
    const redtune_rows_query *query = &self->query;
    const redtune_verifying verifying = {
        .op = query->op,
        .dtype = query->dtype,
        .count = query->count,
        .outer = query->outer,
        .inner = query->inner,
        .layouts = query->layouts,
        .sample = options->all      ? 0
                  : options->sample ? options->sample
                                    : USUAL_SAMPLE,
        .seed = options->seed,
        .worker = "/proc/self/exe",
        .limit_s = options->limit_s,
        .each = note_verified,
        .user = self,
    };
    redtune *rt = NULL;
    redtune_status status =
        rdt_device_open(options, options->device, rdt_message_log, NULL, &rt, err);
    if (!status) status = redtune_verify(rt, &verifying, counts, err);
    redtune_close(rt);
    return status;
}

static int run_verify(const rdt_options *options) {
    audit self = {.options = options, .table = {.column_count = 10, .right = "llrlrrllll"}};
    redtune_verify_counts counts = {.standing = 0};
    redtune_error err;
    if (options->all && options->sample) {
        rdt_message_print("cannot use --sample with --all: name one");
        return RDT_EXIT_MISUSED;
    }
    if (options->bits) return rdt_bits_run(options);
    if (rdt_options_read_filter(options, &self.query, &err)) return rdt_message_fail(&err);
    if (options->json) {
        self.json = rdt_json_open(stdout);
        rdt_json_begin(&self.json, "rows", '[');
    }
    redtune_status status = verify_sample(&self, &counts, &err);
    if (options->json) finish_json(&self, &counts, !status);
    if (self.table.cell_count) rdt_table_print(&self.table, stdout);
    fflush(stdout);
    if (status) return rdt_message_fail(&err);
    if (!options->quiet) summarise_verified(options, &counts);
    return counts.held == counts.verified ? RDT_EXIT_DONE : RDT_EXIT_FAILED;
}

const rdt_command rdt_cmd_verify = {
    .name = "verify",
    .bit = RDT_VERIFY,
    .summary = "tries again what is known of this GPU, and drops what no longer holds",
    .details =
        "Takes a sample of the configs that the databases have good measurements of, on this GPU\n"
        "model, checks their answers and times them beside the built-in default. A config that is\n"
        "wrong now is excluded, one that is more than 15 % slower gets its current time, and\n"
        "imported ones that hold need no further verifying. One that is slower because the\n"
        "GPU is, as the default shows, holds. The table has those that do not hold. Exit status:\n"
        "0 all hold, 1 some do not.\n"
        "\n"
        "With --bits nothing is timed: results in fixed order have the same bits on every "
        "machine,\n"
        "and the file, which the first one writes, shows that.\n"
        "\n"
        "For example: redtune verify --device 0 --dtype f32 --sample 100\n",
    .run = run_verify,
};
