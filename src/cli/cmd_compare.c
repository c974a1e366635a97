/* redtune compare: the winners of two databases or exports beside each other, and what is slower in
 * the second. */
#define _XOPEN_SOURCE 700 /* for gmtime_r */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "cli/command.h"
#include "cli/comparison.h"
#include "cli/json.h"
#include "cli/message.h"
#include "cli/table.h"

enum { RDT_EXIT_SLOWER = 1 };

static const char *const change_names[] = {"faster", "same", "slower"};

/* ---- for people ---------------------------------------------------------------------------- */

static void add_date(rdt_table *table, const redtune_compared *of) {
    char first[32] = "-", last[32] = "-";
    struct tm at;
    const time_t from = (time_t)of->first_date, to = (time_t)of->last_date;
    if (gmtime_r(&from, &at)) strftime(first, sizeof first, "%Y-%m-%d", &at);
    if (gmtime_r(&to, &at)) strftime(last, sizeof last, "%Y-%m-%d", &at);
    const bool one_day = !strcmp(first, last);
    rdt_table_add(table, "%s%s%s", first, one_day ? "" : " to ", one_day ? "" : last);
}

static void print_sides(const rdt_comparison *self) {
    const redtune_compared *a = &self->about.a, *b = &self->about.b;
    const char *const rows[][3] = {{"file", a->file, b->file},
                                   {"GPU", a->gpus, b->gpus},
                                   {"driver for CUDA", a->driver_versions, b->driver_versions},
                                   {"NVRTC", a->nvrtc_versions, b->nvrtc_versions},
                                   {"templates", a->templates, b->templates}};
    rdt_table table = {.column_count = 3, .right = "lll"};
    rdt_table_add_row(&table, (const char *const[]){"", "A", "B"});
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) rdt_table_add_row(&table, rows[i]);
    rdt_table_add(&table, "measured");
    add_date(&table, a);
    add_date(&table, b);
    rdt_table_add(&table, "winners");
    rdt_table_add(&table, "%" PRIu64, a->winners);
    rdt_table_add(&table, "%" PRIu64, b->winners);
    rdt_table_print(&table, stdout);
}

static bool is_same_config(const redtune_difference *each) {
    return !strcmp(each->a_family, each->b_family) && !strcmp(each->a_config, each->b_config);
}

static void print_differences(const rdt_comparison *self, bool all) {
    static const char *const titles[] = {"GPU",  "op",   "dtype", "size", "L2",    "A us",
                                         "B us", "time", "noise", "",     "config"};
    const bool several = strchr(self->about.a.gpus, ',') != NULL;
    rdt_table table = {.column_count = several ? 11 : 10,
                       .right = several ? "lllrlrrrrll" : "llrlrrrrll"};
    rdt_table_add_row(&table, several ? titles : titles + 1);
    for (size_t i = 0; i < self->about.difference_count; i++) {
        const redtune_difference *each = &self->differences[i];
        if (!each->direction && !all) continue;
        if (several) rdt_table_add(&table, "%s", each->gpu);
        rdt_table_add_problem(&table, &each->problem);
        rdt_table_add(&table, "%s", each->warm ? "warm" : "cold");
        rdt_table_add_us(&table, each->a_ns);
        rdt_table_add_us(&table, each->b_ns);
        rdt_table_add(&table, "%+.1f %%", rdt_comparison_longer(each));
        rdt_table_add(&table, "%.1f %%", 100 * each->noise_ns / each->a_ns);
        rdt_table_add(&table, "%s", change_names[1 + each->direction]);
        rdt_table_add(&table, "%s", is_same_config(each) ? "same" : "other");
    }
    puts("");
    if (self->slower + self->faster || all) {
        rdt_table_print(&table, stdout);
        puts("");
    }
    free(table.cells);
    const size_t count = self->about.difference_count;
    printf("problems in both: %zu; slower: %zu, faster: %zu, within noise: %zu\n", count,
           self->slower, self->faster, count - self->slower - self->faster);
    printf("only in A: %" PRIu64 ", only in B: %" PRIu64 "\n", self->about.a.winners - count,
           self->about.b.winners - count);
}

/* ---- for programs -------------------------------------------------------------------------- */

static void write_side(rdt_json *json, const char *name, const redtune_compared *of) {
    rdt_json_begin(json, name, '{');
    rdt_json_text(json, "file", of->file);
    rdt_json_text(json, "gpus", of->gpus);
    rdt_json_text(json, "driver_versions", of->driver_versions);
    rdt_json_text(json, "nvrtc_versions", of->nvrtc_versions);
    rdt_json_text(json, "templates", of->templates);
    rdt_json_count(json, "first_date", (uint64_t)of->first_date);
    rdt_json_count(json, "last_date", (uint64_t)of->last_date);
    rdt_json_count(json, "winners", of->winners);
    rdt_json_end(json, '}');
}

static void write_comparison(const rdt_comparison *self) {
    rdt_json json = rdt_json_open(stdout);
    write_side(&json, "a", &self->about.a);
    write_side(&json, "b", &self->about.b);
    rdt_json_begin(&json, "problems", '[');
    for (size_t i = 0; i < self->about.difference_count; i++) {
        const redtune_difference *each = &self->differences[i];
        rdt_json_begin(&json, NULL, '{');
        rdt_json_text(&json, "gpu", each->gpu);
        rdt_json_problem(&json, &each->problem);
        rdt_json_text(&json, "cache", each->warm ? "warm" : "cold");
        rdt_json_real(&json, "a_ns", each->a_ns);
        rdt_json_real(&json, "b_ns", each->b_ns);
        rdt_json_real(&json, "noise_ns", each->noise_ns);
        rdt_json_text(&json, "change", change_names[1 + each->direction]);
        rdt_json_text(&json, "a_family", each->a_family);
        rdt_json_text(&json, "a_config", each->a_config);
        rdt_json_text(&json, "b_family", each->b_family);
        rdt_json_text(&json, "b_config", each->b_config);
        rdt_json_end(&json, '}');
    }
    rdt_json_end(&json, ']');
    rdt_json_count(&json, "slower", self->slower);
    rdt_json_count(&json, "faster", self->faster);
    rdt_json_count(&json, "only_a", self->about.a.winners - self->about.difference_count);
    rdt_json_count(&json, "only_b", self->about.b.winners - self->about.difference_count);
    rdt_json_end(&json, '}');
}

/* ---- the command --------------------------------------------------------------------------- */

static int run_compare(const rdt_options *options) {
    rdt_comparison self = {.a = NULL};
    redtune_rows_query wanted = {.gpu = options->gpu ? options->gpu : "all"};
    redtune_error err;
    redtune_status status = REDTUNE_OK;
    if (options->argument_count > 2)
        status = rdt_message_set(&err, REDTUNE_INVALID, 0,
                                 "cannot compare '%.200s': redtune compare takes two files",
                                 options->arguments[2]);
    if (!status) status = rdt_options_read_filter(options, &wanted, &err);
    if (!status)
        status = rdt_comparison_make(options, &wanted, options->arguments[0], options->arguments[1],
                                     &self, &err);
    if (!status && options->json) write_comparison(&self);
    if (!status && !options->json) {
        if (!options->quiet) print_sides(&self);
        print_differences(&self, options->all);
    }
    const int code = self.slower ? RDT_EXIT_SLOWER : RDT_EXIT_DONE;
    rdt_comparison_free(&self);
    if (!status) return rdt_message_finish(code) == code ? code : RDT_EXIT_MISUSED;
    return rdt_message_fail(&err) == RDT_EXIT_INTERRUPTED ? RDT_EXIT_INTERRUPTED : RDT_EXIT_MISUSED;
}

const rdt_command rdt_cmd_compare = {
    .name = "compare",
    .bit = RDT_COMPARE,
    .argument = "A B",
    .argument_least = 2,
    .summary = "says what is slower or faster in B than in A, two databases or exports",
    .details =
        "Needs no GPU. The table has the problems whose winner takes longer or shorter in B, by\n"
        "more than noise, the worst first, and in front of it when, on which GPUs and with what\n"
        "versions both were measured. Noise is that of the two measurements, at least 0.3 us and\n"
        "--tolerance. GPU models are told apart, unless each file has one. Exit status: 0 nothing\n"
        "is slower, 1 something is, 2 an error.\n"
        "\n"
        "For example: redtune compare before.db after.db --dtype f32\n",
    .run = run_compare,
};
