/* redtune compare: the winners of two databases or exports beside each other, and what is slower in
 * the second. */
#define _XOPEN_SOURCE 700 /* for mkdtemp */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "cli/command.h"
#include "cli/json.h"
#include "cli/message.h"
#include "cli/table.h"
#include "redtune/records.h"

enum { RDT_EXIT_SLOWER = 1, TEXT_BYTES = 256, PATH_BYTES = 4096 };

static const double usual_tolerance = 5; /* % */

/* The winners of one file, in the order of redtune_rows_each, and what they were measured with. */
typedef struct side {
    const char *file;
    redtune_row *row; /* their texts are not kept, and are "" */
    size_t count;
    int64_t first, last; /* dates */
    char gpus[TEXT_BYTES], drivers[TEXT_BYTES], compilers[TEXT_BYTES], templates[TEXT_BYTES];
} side;

typedef struct pair {
    const redtune_row *a, *b;
    double noise_ns; /* how much longer or shorter counts as the same */
} pair;

typedef struct comparison {
    const rdt_options *options;
    side a, b;
    pair *pairs; /* those that are slower first */
    size_t count, slower, faster;
} comparison;

/* ---- reading ------------------------------------------------------------------------------- */

/* Adds what the list does not have yet, while there is room. */
static void note_name(char list[TEXT_BYTES], const char *text) {
    const size_t length = strlen(list);
    if (!*text || strstr(list, text)) return;
    snprintf(list + length, TEXT_BYTES - length, "%s%s", length ? ", " : "", text);
}

static void note_version(char list[TEXT_BYTES], int version) {
    char text[32] = "";
    if (version) snprintf(text, sizeof text, "%d.%d", version / 1000, version % 1000 / 10);
    note_name(list, text);
}

static redtune_status keep_winner(void *user, const redtune_row *row, redtune_error *err) {
    side *self = user;
    if (!(self->count & (self->count - 1))) {
        redtune_row *grown =
            realloc(self->row, (self->count ? 2 * self->count : 1) * sizeof *grown);
        if (!grown)
            return rdt_message_set(err, REDTUNE_MEMORY, 0, "cannot compare: out of host memory");
        self->row = grown;
    }
    redtune_row *kept = &self->row[self->count++];
    *kept = *row;
    kept->outcome = kept->cause = kept->machine = kept->templates = kept->database = "";
    char templates[32];
    snprintf(templates, sizeof templates, "%.8s%s", row->templates,
             row->templates_differ ? "" : " (this redtune's)");
    note_name(self->gpus, row->gpu.name);
    note_name(self->templates, templates);
    note_version(self->drivers, row->driver_version);
    note_version(self->compilers, row->nvrtc_version);
    if (self->count == 1 || row->date < self->first) self->first = row->date;
    if (row->date > self->last) self->last = row->date;
    return REDTUNE_OK;
}

static redtune_status read_database(const rdt_options *options, const char *database, side *out,
                                    redtune_error *err) {
    redtune_rows_query query = {
        .database = database, .gpu = options->gpu ? options->gpu : "all", .winners = 1, .own = 1};
    redtune_status status = rdt_options_read_filter(options, &query, err);
    return status ? status : redtune_rows_each(&query, keep_winner, out, err);
}

static void tell_refused(void *user, const char *file, const char *reason, uint64_t count) {
    (void)user;
    rdt_message_print("%.300s: left out %" PRIu64 ": %s", file, count, reason);
}

/* By a database of its own, for as long as that takes. */
static redtune_status read_export(const rdt_options *options, side *out, redtune_error *err) {
    const char *parent = getenv("TMPDIR");
    char folder[PATH_BYTES], database[PATH_BYTES + 16];
    snprintf(folder, sizeof folder, "%s/redtune-XXXXXX", parent && *parent ? parent : "/tmp");
    if (strchr(folder, ':') || !mkdtemp(folder))
        return rdt_message_set(err, REDTUNE_FILE, errno, "cannot make a folder %.300s: %s", folder,
                               strchr(folder, ':') ? "it has a ':'; set TMPDIR" : strerror(errno));
    snprintf(database, sizeof database, "%s/export.db", folder);
    const redtune_importing importing = {.database = database,
                                         .files = &out->file,
                                         .file_count = 1,
                                         .merge = 1,
                                         .refused = options->quiet ? NULL : tell_refused};
    redtune_import_counts counts;
    redtune_status status = redtune_import(&importing, &counts, err);
    if (!status) status = read_database(options, database, out, err);
    unlink(database);
    rmdir(folder);
    return status;
}

static bool is_database(const char *path) {
    char head[6] = "";
    struct stat about;
    FILE *file = stat(path, &about) || !S_ISREG(about.st_mode) ? NULL : fopen(path, "rb");
    const bool is = file && fread(head, sizeof head, 1, file) && !memcmp(head, "SQLite", 6);
    if (file) fclose(file);
    return is;
}

static redtune_status read_side(const rdt_options *options, const char *file, side *out,
                                redtune_error *err) {
    out->file = file;
    const bool database = is_database(file);
    if (database && strchr(file, ':'))
        return rdt_message_set(err, REDTUNE_INVALID, 0,
                               "cannot compare '%.300s': ':' stands between databases; give it a "
                               "name without",
                               file);
    redtune_status status =
        database ? read_database(options, file, out, err) : read_export(options, out, err);
    return status ? rdt_message_within(err, "cannot compare %.200s", file) : status;
}

/* ---- pairing ------------------------------------------------------------------------------- */

/* The time that the second takes longer, in %; negative: shorter. */
static double longer(const pair *each) {
    return 100 * (each->b->median_ns / each->a->median_ns - 1);
}

static int change(const pair *each) {
    const double ns = each->b->median_ns - each->a->median_ns;
    return (ns > each->noise_ns) - (-ns > each->noise_ns);
}

static const char *const change_names[] = {"faster", "same", "slower"};

static bool is_same_problem(const redtune_row *a, const redtune_row *b) {
    const redtune_problem *x = &a->problem, *y = &b->problem;
    const rdt_shape_extents of_x = rdt_shape_complete(x), of_y = rdt_shape_complete(y);
    return x->op == y->op && x->dtype == y->dtype && x->result == y->result &&
           x->order == y->order && x->accuracy == y->accuracy && x->segmented == y->segmented &&
           x->mask == y->mask && a->warm == b->warm && !memcmp(&of_x, &of_y, sizeof of_x);
}

static int compare_pairs(const void *a, const void *b) {
    const double x = longer(a), y = longer(b);
    return (x < y) - (x > y);
}

static double noise_between(const redtune_row *a, const redtune_row *b) {
    return redtune_noise_ns((double[]){a->median_ns, b->median_ns},
                            (double[]){a->spread_ns, b->spread_ns},
                            (int[]){a->samples, b->samples});
}

/* GPU models are told apart unless each file has one. Both lists are in one order, so that the
 * search for the next row of a begins behind the last that was found. */
static redtune_status find_pairs(comparison *self, redtune_error *err) {
    const side *a = &self->a, *b = &self->b;
    const double tolerance =
        self->options->tolerance > 0 ? self->options->tolerance : usual_tolerance;
    const bool one_each = !strchr(a->gpus, ',') && !strchr(b->gpus, ',');
    self->pairs = calloc(a->count + 1, sizeof *self->pairs);
    if (!self->pairs)
        return rdt_message_set(err, REDTUNE_MEMORY, 0, "cannot compare: out of host memory");
    for (size_t i = 0, start = 0; i < a->count; i++)
        for (size_t tried = 0; tried < b->count; tried++) {
            const redtune_row *x = &a->row[i], *y = &b->row[(start + tried) % b->count];
            if (!is_same_problem(x, y) || !(one_each || rdt_table_is_same_gpu(&x->gpu, &y->gpu)))
                continue;
            const double noise_ns = noise_between(x, y);
            const double least_ns = x->median_ns * tolerance / 100;
            pair *each = &self->pairs[self->count++];
            *each = (pair){x, y, noise_ns > least_ns ? noise_ns : least_ns};
            self->slower += change(each) > 0;
            self->faster += change(each) < 0;
            start += tried + 1;
            break;
        }
    qsort(self->pairs, self->count, sizeof *self->pairs, compare_pairs);
    if (self->count) return REDTUNE_OK;
    return rdt_message_set(err, REDTUNE_INVALID, 0,
                           "cannot compare %.200s with %.200s: no problem has a winner in both",
                           a->file, b->file);
}

/* ---- for people ---------------------------------------------------------------------------- */

static void add_date(rdt_table *table, const side *of) {
    char first[32] = "-", last[32] = "-";
    struct tm at;
    const time_t from = (time_t)of->first, to = (time_t)of->last;
    if (gmtime_r(&from, &at)) strftime(first, sizeof first, "%Y-%m-%d", &at);
    if (gmtime_r(&to, &at)) strftime(last, sizeof last, "%Y-%m-%d", &at);
    const bool one_day = !strcmp(first, last);
    rdt_table_add(table, "%s%s%s", first, one_day ? "" : " to ", one_day ? "" : last);
}

static void print_sides(const comparison *self) {
    const side *a = &self->a, *b = &self->b;
    const char *const rows[][3] = {{"file", a->file, b->file},
                                   {"GPU", a->gpus, b->gpus},
                                   {"driver for CUDA", a->drivers, b->drivers},
                                   {"NVRTC", a->compilers, b->compilers},
                                   {"templates", a->templates, b->templates}};
    rdt_table table = {.column_count = 3, .right = "lll"};
    rdt_table_add_row(&table, (const char *const[]){"", "A", "B"});
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) rdt_table_add_row(&table, rows[i]);
    rdt_table_add(&table, "measured");
    add_date(&table, a);
    add_date(&table, b);
    rdt_table_add(&table, "winners");
    rdt_table_add(&table, "%zu", a->count);
    rdt_table_add(&table, "%zu", b->count);
    rdt_table_print(&table, stdout);
}

static bool is_same_config(const pair *each) {
    return !strcmp(each->a->family, each->b->family) && !strcmp(each->a->config, each->b->config);
}

static void print_pairs(const comparison *self) {
    static const char *const titles[] = {"GPU",  "op",   "dtype", "size", "L2",    "A us",
                                         "B us", "time", "noise", "",     "config"};
    const bool several = strchr(self->a.gpus, ',') != NULL;
    rdt_table table = {.column_count = several ? 11 : 10,
                       .right = several ? "lllrlrrrrll" : "llrlrrrrll"};
    rdt_table_add_row(&table, several ? titles : titles + 1);
    for (size_t i = 0; i < self->count; i++) {
        const pair *each = &self->pairs[i];
        if (!change(each) && !self->options->all) continue;
        if (several) rdt_table_add(&table, "%s", each->a->gpu.name);
        rdt_table_add_problem(&table, &each->a->problem);
        rdt_table_add(&table, "%s", each->a->warm ? "warm" : "cold");
        rdt_table_add_us(&table, each->a->median_ns);
        rdt_table_add_us(&table, each->b->median_ns);
        rdt_table_add(&table, "%+.1f %%", longer(each));
        rdt_table_add(&table, "%.1f %%", 100 * each->noise_ns / each->a->median_ns);
        rdt_table_add(&table, "%s", change_names[1 + change(each)]);
        rdt_table_add(&table, "%s", is_same_config(each) ? "same" : "other");
    }
    puts("");
    if (self->slower + self->faster || self->options->all) {
        rdt_table_print(&table, stdout);
        puts("");
    }
    free(table.cells);
    printf("problems in both: %zu; slower: %zu, faster: %zu, within noise: %zu\n", self->count,
           self->slower, self->faster, self->count - self->slower - self->faster);
    printf("only in A: %zu, only in B: %zu\n", self->a.count - self->count,
           self->b.count - self->count);
}

/* ---- for programs -------------------------------------------------------------------------- */

static void write_side(rdt_json *json, const char *name, const side *of) {
    rdt_json_begin(json, name, '{');
    rdt_json_text(json, "file", of->file);
    rdt_json_text(json, "gpus", of->gpus);
    rdt_json_text(json, "driver_versions", of->drivers);
    rdt_json_text(json, "nvrtc_versions", of->compilers);
    rdt_json_text(json, "templates", of->templates);
    rdt_json_count(json, "first_date", (uint64_t)of->first);
    rdt_json_count(json, "last_date", (uint64_t)of->last);
    rdt_json_count(json, "winners", of->count);
    rdt_json_end(json, '}');
}

static void write_comparison(const comparison *self) {
    rdt_json json = rdt_json_open(stdout);
    write_side(&json, "a", &self->a);
    write_side(&json, "b", &self->b);
    rdt_json_begin(&json, "problems", '[');
    for (size_t i = 0; i < self->count; i++) {
        const pair *each = &self->pairs[i];
        rdt_json_begin(&json, NULL, '{');
        rdt_json_text(&json, "gpu", each->b->gpu.name);
        rdt_json_problem(&json, &each->b->problem);
        rdt_json_text(&json, "cache", each->b->warm ? "warm" : "cold");
        rdt_json_real(&json, "a_ns", each->a->median_ns);
        rdt_json_real(&json, "b_ns", each->b->median_ns);
        rdt_json_real(&json, "noise_ns", each->noise_ns);
        rdt_json_text(&json, "change", change_names[1 + change(each)]);
        rdt_json_text(&json, "a_family", each->a->family);
        rdt_json_text(&json, "a_config", each->a->config);
        rdt_json_text(&json, "b_family", each->b->family);
        rdt_json_text(&json, "b_config", each->b->config);
        rdt_json_end(&json, '}');
    }
    rdt_json_end(&json, ']');
    rdt_json_count(&json, "slower", self->slower);
    rdt_json_count(&json, "faster", self->faster);
    rdt_json_count(&json, "only_a", self->a.count - self->count);
    rdt_json_count(&json, "only_b", self->b.count - self->count);
    rdt_json_end(&json, '}');
}

/* ---- the command --------------------------------------------------------------------------- */

static int run_compare(const rdt_options *options) {
    comparison self = {.options = options};
    redtune_error err;
    redtune_status status = REDTUNE_OK;
    if (options->argument_count > 2)
        status = rdt_message_set(&err, REDTUNE_INVALID, 0,
                                 "cannot compare '%.200s': redtune compare takes two files",
                                 options->arguments[2]);
    if (!status) status = read_side(options, options->arguments[0], &self.a, &err);
    if (!status) status = read_side(options, options->arguments[1], &self.b, &err);
    if (!status) status = find_pairs(&self, &err);
    if (!status && options->json) write_comparison(&self);
    if (!status && !options->json) {
        if (!options->quiet) print_sides(&self);
        print_pairs(&self);
    }
    const int code = self.slower ? RDT_EXIT_SLOWER : RDT_EXIT_DONE;
    free(self.a.row);
    free(self.b.row);
    free(self.pairs);
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
