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

enum { DATES_BYTES = 64, WIDTH = 100 };

static void write_dates(const redtune_compared *of, char out[DATES_BYTES]) {
    char first[24] = "-", last[24] = "-";
    struct tm at;
    const time_t from = (time_t)of->first_date, to = (time_t)of->last_date;
    if (gmtime_r(&from, &at)) strftime(first, sizeof first, "%Y-%m-%d", &at);
    if (gmtime_r(&to, &at)) strftime(last, sizeof last, "%Y-%m-%d", &at);
    const bool one_day = !strcmp(first, last);
    snprintf(out, DATES_BYTES, "%s%s%s", first, one_day ? "" : " to ", one_day ? "" : last);
}

/* A title, and what A and B have. */
typedef const char *side_row[3];

static size_t widest(const side_row *rows, size_t count, int column) {
    size_t most = 0;
    for (size_t i = 0; i < count; i++)
        if (strlen(rows[i][column]) > most) most = strlen(rows[i][column]);
    return most;
}

/* Beside each other, or where that is too wide, one below the other. */
static void print_sides(const rdt_comparison *self) {
    const redtune_compared *a = &self->about.a, *b = &self->about.b;
    char dates[2][DATES_BYTES], winners[2][24];
    write_dates(a, dates[0]);
    write_dates(b, dates[1]);
    snprintf(winners[0], sizeof winners[0], "%" PRIu64, a->winners);
    snprintf(winners[1], sizeof winners[1], "%" PRIu64, b->winners);
    const side_row rows[] = {{"", "A", "B"},
                             {"file", a->file, b->file},
                             {"GPU", a->gpus, b->gpus},
                             {"driver for CUDA", a->driver_versions, b->driver_versions},
                             {"NVRTC", a->nvrtc_versions, b->nvrtc_versions},
                             {"templates", a->templates, b->templates},
                             {"measured", dates[0], dates[1]},
                             {"winners", winners[0], winners[1]}};
    const size_t count = sizeof rows / sizeof *rows;
    const bool beside =
        widest(rows, count, 0) + widest(rows, count, 1) + widest(rows, count, 2) + 4 <= WIDTH;
    for (int side = 1; side <= (beside ? 1 : 2); side++) {
        rdt_table table = {.column_count = beside ? 3 : 2, .right = "lll"};
        if (side == 2) puts("");
        for (size_t i = 0; i < count; i++) {
            rdt_table_add(&table, "%s", rows[i][0]);
            rdt_table_add(&table, "%s", rows[i][side]);
            if (beside) rdt_table_add(&table, "%s", rows[i][2]);
        }
        rdt_table_print(&table, stdout);
    }
}

static bool is_same_config(const redtune_difference *each) {
    return !strcmp(each->a_family, each->b_family) && !strcmp(each->a_config, each->b_config);
}

/* Those of this GPU model, or of all. */
static void print_table(const rdt_comparison *self, const char *gpu, bool all) {
    static const char *const titles[] = {"op",   "dtype", "size",  "L2", "A us",
                                         "B us", "time",  "noise", "",   "config"};
    rdt_table table = {.column_count = 10, .right = "llrlrrrrll"};
    rdt_table_add_row(&table, titles);
    for (size_t i = 0; i < self->about.difference_count; i++) {
        const redtune_difference *each = &self->differences[i];
        if ((!each->direction && !all) || (gpu && strcmp(each->gpu, gpu) != 0)) continue;
        rdt_table_add_problem(&table, &each->problem);
        rdt_table_add(&table, "%s", each->warm ? "warm" : "cold");
        rdt_table_add_us(&table, each->a_ns);
        rdt_table_add_us(&table, each->b_ns);
        rdt_table_add(&table, "%+.1f %%", rdt_comparison_longer(each));
        rdt_table_add(&table, "%.1f %%", 100 * each->noise_ns / each->a_ns);
        rdt_table_add(&table, "%s", change_names[1 + each->direction]);
        rdt_table_add(&table, "%s", is_same_config(each) ? "same" : "other");
    }
    rdt_table_print(&table, stdout);
    puts("");
}

/* Whether the difference is the first that is printed of its GPU model. */
static bool is_first_of_gpu(const rdt_comparison *self, size_t at, bool all) {
    if (!self->differences[at].direction && !all) return false;
    for (size_t i = 0; i < at; i++)
        if ((self->differences[i].direction || all) &&
            !strcmp(self->differences[i].gpu, self->differences[at].gpu))
            return false;
    return true;
}

/* The GPU model with the worst one first. */
static void print_differences(const rdt_comparison *self, bool all) {
    const size_t count = self->about.difference_count;
    const bool several = strchr(self->about.a.gpus, ',') != NULL;
    puts("");
    for (size_t i = 0; several && i < count; i++) {
        if (!is_first_of_gpu(self, i, all)) continue;
        printf("%s\n\n", self->differences[i].gpu);
        print_table(self, self->differences[i].gpu, all);
    }
    if (!several && (self->slower + self->faster || all)) print_table(self, NULL, all);
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
