/* redtune show: the winners of the tuning database, or every measurement in it. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "cli/command.h"
#include "cli/json.h"
#include "cli/message.h"
#include "cli/table.h"
#include "redtune/records.h"

typedef struct listing {
    const rdt_options *options;
    rdt_json out;
    rdt_table table;
    redtune_device_info gpu; /* the table's */
    size_t row_count, gpu_count;
} listing;

/* ---- the tables ---------------------------------------------------------------------------- */

static const char *const winner_titles[] = {"op",   "dtype", "size", "L2",     "us",
                                            "GB/s", "gain",  "peak", "family", "config"};
static const char *const all_titles[] = {"op",      "dtype", "size", "L2",      "us",   "+-",
                                         "samples", "gain",  "rank", "outcome", "made", "config"};

static void print_gpu_table(listing *self) {
    if (!self->table.cell_count) return;
    if (self->gpu_count++) puts("");
    rdt_table_print_gpu(&self->gpu, 0, stdout);
    rdt_table_print(&self->table, stdout);
}

static void begin_table(listing *self, const redtune_row *row) {
    bool all = self->options->all;
    self->gpu = row->gpu;
    self->table =
        (rdt_table){.column_count = all ? 12 : 10, .right = all ? "llrlrrrrrlll" : "llrlrrrrll"};
    rdt_table_add_row(&self->table, all ? all_titles : winner_titles);
}

static void add_number(rdt_table *table, const char *format, double number, bool known) {
    char text[64];
    snprintf(text, sizeof text, format, number);
    rdt_table_add(table, "%s", known ? text : "-");
}

static void add_problem(rdt_table *table, const redtune_row *row) {
    rdt_table_add_problem(table, &row->problem);
    rdt_table_add(table, "%s", row->warm ? "warm" : "cold");
}

static void add_winner(rdt_table *table, const redtune_row *row) {
    double peak = row->warm ? 0 : row->gpu.peak_gbps;
    add_problem(table, row);
    rdt_table_add_us(table, row->median_ns);
    rdt_table_add(table, "%.1f", row->gbps);
    rdt_table_add_ratio(table, row->default_ns, row->median_ns);
    add_number(table, "%.1f %%", peak > 0 ? 100 * row->gbps / peak : 0, peak > 0);
    rdt_table_add(table, "%s", row->family);
    rdt_table_add(table, "%s%s%s", row->config, row->is_default ? " (default)" : "",
                  row->op_absent ? " (its op is not here)" : "");
}

static void add_any(rdt_table *table, const redtune_row *row) {
    bool good = row->median_ns > 0;
    add_problem(table, row);
    rdt_table_add_us(table, row->median_ns);
    add_number(table, "%.2f", row->spread_ns / 1e3, good);
    add_number(table, "%.0f", row->samples, good);
    rdt_table_add_ratio(table, row->default_ns, row->median_ns);
    add_number(table, "%.0f", row->rank, row->rank >= 0);
    rdt_table_add(table, "%s", row->is_winner ? "winner" : row->outcome);
    rdt_table_add(table, "%s", row->shipped ? "shipped" : row->imported ? "elsewhere" : "here");
    rdt_table_add(table, "%s %s%s%s%s%s", row->family, row->config,
                  row->is_default ? " (default)" : "",
                  row->op_absent          ? " (its op is not here)"
                  : row->templates_differ ? " (other templates)"
                                          : "",
                  *row->cause ? ": " : "", row->cause);
}

/* ---- JSON ---------------------------------------------------------------------------------- */

static void write_known(rdt_json *json, const char *name, int64_t value) {
    if (value < 0)
        rdt_json_real(json, name, NAN);
    else
        rdt_json_count(json, name, (uint64_t)value);
}

static void write_row(rdt_json *json, const redtune_row *row) {
    rdt_json_begin(json, NULL, '{');
    rdt_json_text(json, "gpu", row->gpu.name);
    rdt_json_count(json, "sm_count", (uint64_t)row->gpu.sm_count);
    rdt_json_real(json, "peak_gbps", row->gpu.peak_gbps);
    rdt_json_problem(json, &row->problem);
    rdt_json_text(json, "cache", row->warm ? "warm" : "cold");
    rdt_json_text(json, "family", row->family);
    rdt_json_text(json, "config", row->config);
    write_known(json, "rank", row->rank);
    rdt_json_text(json, "outcome", row->outcome);
    rdt_json_text(json, "cause", row->cause);
    rdt_json_real(json, "median_ns", row->median_ns);
    rdt_json_real(json, "spread_ns", row->spread_ns);
    rdt_json_real(json, "gbps", row->gbps);
    rdt_json_count(json, "samples", (uint64_t)row->samples);
    rdt_json_real(json, "winner_ns", row->winner_ns);
    rdt_json_real(json, "default_ns", row->default_ns);
    rdt_json_truth(json, "winner", row->is_winner);
    rdt_json_truth(json, "default", row->is_default);
    rdt_json_truth(json, "imported", row->imported);
    rdt_json_truth(json, "shipped", row->shipped);
    write_known(json, "sm_mhz", row->sm_mhz);
    write_known(json, "memory_mhz", row->memory_mhz);
    write_known(json, "temperature_c", row->temperature_c);
    write_known(json, "throttle", row->throttle);
    write_known(json, "others", row->others);
    rdt_json_text(json, "machine", row->machine);
    rdt_json_text(json, "templates", row->templates);
    rdt_json_truth(json, "templates_differ", row->templates_differ);
    rdt_json_truth(json, "op_absent", row->op_absent);
    rdt_json_count(json, "driver_version", (uint64_t)row->driver_version);
    rdt_json_count(json, "nvrtc_version", (uint64_t)row->nvrtc_version);
    rdt_json_count(json, "date", (uint64_t)row->date);
    rdt_json_text(json, "database", row->database);
    rdt_json_end(json, '}');
}

/* ---- CSV ----------------------------------------------------------------------------------- */

static void write_texts(const char *const texts[], size_t count) {
    for (size_t i = 0; i < count; i++) {
        char text[1024];
        snprintf(text, sizeof text, "%s", texts[i]);
        rdt_message_make_plain(text);
        fputs(",\"", stdout);
        for (const char *at = text; *at; at++) printf(*at == '"' ? "\"\"" : "%c", *at);
        fputc('"', stdout);
    }
}

/* Negative: unknown, and left empty. */
static void write_numbers(const double numbers[], size_t count) {
    for (size_t i = 0; i < count; i++) {
        char digits[RDT_NUMBER_BYTES] = "";
        if (numbers[i] >= 0) rdt_number_print_double(digits, numbers[i]);
        printf(",%s", digits);
    }
}

static double known(double number) { return number > 0 ? number : -1; }

static void write_csv(const redtune_row *row) {
    const redtune_problem *problem = &row->problem;
    const rdt_shape_extents of = rdt_shape_complete(problem);
    const double numbers[] = {known(row->median_ns),     row->median_ns > 0 ? row->spread_ns : -1,
                              known(row->samples),       known(row->gbps),
                              known(row->gpu.peak_gbps), known(row->winner_ns),
                              known(row->default_ns),    (double)row->date};
    const char *const texts[] = {row->outcome,  row->cause,   row->family,  row->config,
                                 row->gpu.name, row->machine, row->database};
    printf("%s,%s,%s,%s,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%s,%s,%s,%d,%d,%d,%d",
           redtune_op_name(problem->op), redtune_dtype_name(problem->dtype),
           redtune_dtype_name(problem->result), rdt_shape_layout_name(problem), of.count, of.outer,
           of.inner, problem->order == REDTUNE_ORDER_FIXED ? "fixed" : "free",
           rdt_shape_accuracy_name(problem), row->warm ? "warm" : "cold", row->is_winner,
           row->is_default, row->imported, row->shipped);
    write_numbers(numbers, sizeof numbers / sizeof *numbers);
    write_texts(texts, sizeof texts / sizeof *texts);
    putchar('\n');
}

static const char csv_titles[] =
    "op,dtype,result,layout,count,outer,inner,order,accuracy,l2,winner,default,imported,shipped,"
    "median_ns,spread_ns,samples,gbps,peak_gbps,winner_ns,default_ns,unix_time,outcome,cause,"
    "family,config,gpu,machine,database";

/* ---- the command --------------------------------------------------------------------------- */

static redtune_status list_row(void *user, const redtune_row *row, redtune_error *err) {
    (void)err;
    listing *self = user;
    self->row_count++;
    if (self->options->json) {
        write_row(&self->out, row);
        return REDTUNE_OK;
    }
    if (self->options->csv) {
        if (self->row_count == 1) puts(csv_titles);
        write_csv(row);
        return REDTUNE_OK;
    }
    if (!self->table.cell_count || !rdt_table_is_same_gpu(&self->gpu, &row->gpu)) {
        print_gpu_table(self);
        begin_table(self, row);
    }
    (self->options->all ? add_any : add_winner)(&self->table, row);
    return REDTUNE_OK;
}

/* The GPU models that are not shown. */
typedef struct others {
    const redtune_device_info *shown;
    char names[512], last[96];
    size_t row_count;
} others;

static redtune_status note_other(void *user, const redtune_row *row, redtune_error *err) {
    (void)err;
    others *self = user;
    size_t length = strlen(self->names);
    self->row_count++;
    if (!strcmp(row->gpu.name, self->last) || !strcmp(row->gpu.name, self->shown->name))
        return REDTUNE_OK;
    snprintf(self->last, sizeof self->last, "%s", row->gpu.name);
    snprintf(self->names + length, sizeof self->names - length, "%s%s", length ? ", " : "",
             row->gpu.name);
    return REDTUNE_OK;
}

/* The other GPUs of the user's databases, or a remedy where there are none. */
static void tell_of_others(const listing *self) {
    const rdt_options *options = self->options;
    const redtune_rows_query query = {
        .database = options->database, .gpu = "all", .winners = 1, .own = 1};
    others found = {.shown = &self->gpu};
    redtune_error ignored;
    redtune_rows_each(&query, note_other, &found, &ignored);
    if (!self->row_count && !found.row_count && !options->gpu)
        rdt_message_print("nothing is measured in %s yet; redtune --device 0 tunes this machine's "
                          "GPU, and --shipped shows what redtune comes with",
                          options->database ? options->database : "the user's database");
    else if (!self->row_count)
        rdt_message_print("no measurement is there for this; redtune --device 0 makes some");
    if (*found.names && !options->gpu)
        rdt_message_print("measured, too: %s; --gpu NAME shows one, --gpu all every one",
                          found.names);
}

static int run_show(const rdt_options *options) {
    const bool ops = options->argument && !strcmp(options->argument, "ops");
    if (options->csv && options->json) {
        rdt_message_print("cannot show: --csv and --json ask for two formats; give one");
        return RDT_EXIT_MISUSED;
    }
    if (ops) return rdt_cmd_show_ops(options);
    if (options->argument) {
        rdt_message_print("cannot show '%.200s': write redtune show, or redtune show ops",
                          options->argument);
        return RDT_EXIT_MISUSED;
    }
    listing self = {.options = options};
    redtune_error err;
    redtune_rows_query query = {
        .database = options->database,
        .gpu = options->gpu,
        .shipped = options->shipped,
        .winners = !options->all,
    };
    if (rdt_options_read_filter(options, &query, &err)) return rdt_message_fail(&err);
    if (options->json) {
        self.out = rdt_json_open(stdout);
        rdt_json_begin(&self.out, "rows", '[');
    }
    redtune_status status = redtune_rows_each(&query, list_row, &self, &err);
    if (options->csv && !status && !self.row_count) puts(csv_titles);
    if (options->json) {
        rdt_json_end(&self.out, ']');
        rdt_json_truth(&self.out, "complete", status == REDTUNE_OK);
        rdt_json_end(&self.out, '}');
    } else {
        print_gpu_table(&self);
    }
    fflush(stdout);
    if (status) return rdt_message_fail(&err);
    if (!options->quiet && !options->json && !options->csv) tell_of_others(&self);
    return RDT_EXIT_DONE;
}

const rdt_command rdt_cmd_show = {
    .name = "show",
    .bit = RDT_SHOW,
    .argument = "[ops]",
    .argument_optional = true,
    .summary = "prints the winners that are known, every measurement, or the ops there are",
    .details =
        "It shows this machine's GPU, or if that was not measured, the GPU model measured last.\n"
        "The table gives microseconds per call, the gain over the built-in default,\n"
        "and the share of the memory bus's peak; L2 is cold if the cache was flushed before each\n"
        "call. With --all: the spread, how many samples, the config's rank in its space, how it\n"
        "ended, and whether it was measured here, came by an import (elsewhere) or with redtune.\n"
        "\n"
        "redtune show ops lists the ops instead, with their inputs, results and parameters.\n"
        "\n"
        "For example: redtune show --all --op sum --dtype f32 --size 1M\n",
    .run = run_show,
};
