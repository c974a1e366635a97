/* Comparison: the winners of two databases or exports, paired by problem. */
#define _XOPEN_SOURCE 700 /* for mkdtemp */
#include "cli/comparison.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "cli/message.h"
#include "cli/table.h"

enum { PATH_BYTES = 4096 };

static const double usual_tolerance = 5; /* % */

/* The winners of one file, in the order of redtune_rows_each, and what they were measured with. */
typedef struct side {
    redtune_compared *about;
    redtune_row *row;
} side;

/* ---- reading ------------------------------------------------------------------------------- */

/* Adds what the list does not have yet, while there is room. */
static void note_name(char list[256], const char *text) {
    const size_t length = strlen(list);
    if (!*text || strstr(list, text)) return;
    snprintf(list + length, 256 - length, "%s%s", length ? ", " : "", text);
}

static void note_version(char list[256], int version) {
    char text[32] = "";
    if (version) snprintf(text, sizeof text, "%d.%d", version / 1000, version % 1000 / 10);
    note_name(list, text);
}

static redtune_status keep_winner(void *user, const redtune_row *row, redtune_error *err) {
    side *self = user;
    redtune_compared *about = self->about;
    const uint64_t count = about->winners;
    if (!(count & (count - 1))) {
        redtune_row *grown = realloc(self->row, (count ? 2 * count : 1) * sizeof *grown);
        if (!grown)
            return rdt_message_set(err, REDTUNE_MEMORY, 0, "cannot compare: out of host memory");
        self->row = grown;
    }
    redtune_row *kept = &self->row[about->winners++];
    *kept = *row;
    kept->outcome = kept->cause = kept->machine = kept->templates = kept->database = "";
    char templates[32];
    snprintf(templates, sizeof templates, "%.8s%s", row->templates,
             row->templates_differ ? "" : " (this redtune's)");
    note_name(about->gpus, row->gpu.name);
    note_name(about->templates, templates);
    note_version(about->driver_versions, row->driver_version);
    note_version(about->nvrtc_versions, row->nvrtc_version);
    if (!count || row->date < about->first_date) about->first_date = row->date;
    if (row->date > about->last_date) about->last_date = row->date;
    return REDTUNE_OK;
}

static redtune_status read_database(const redtune_rows_query *wanted, const char *database,
                                    side *out, redtune_error *err) {
    redtune_rows_query query = *wanted;
    query.database = database;
    query.winners = 1;
    return redtune_rows_each(&query, keep_winner, out, err);
}

static void tell_refused(void *user, const char *file, const char *reason, uint64_t count) {
    (void)user;
    rdt_message_print("%.300s: left out %" PRIu64 ": %s", file, count, reason);
}

/* By a database of its own, for as long as that takes. */
static redtune_status read_export(const redtune_rows_query *wanted, const char *file, bool quiet,
                                  side *out, redtune_error *err) {
    const char *parent = getenv("TMPDIR");
    char folder[PATH_BYTES], database[PATH_BYTES + 16];
    snprintf(folder, sizeof folder, "%s/redtune-XXXXXX", parent && *parent ? parent : "/tmp");
    if (strchr(folder, ':') || !mkdtemp(folder))
        return rdt_message_set(err, REDTUNE_FILE, errno, "cannot make a folder %.300s: %s", folder,
                               strchr(folder, ':') ? "it has a ':'; set TMPDIR" : strerror(errno));
    snprintf(database, sizeof database, "%s/export.db", folder);
    const redtune_importing importing = {.database = database,
                                         .files = &file,
                                         .file_count = 1,
                                         .merge = 1,
                                         .refused = quiet ? NULL : tell_refused};
    redtune_import_counts counts;
    redtune_status status = redtune_import(&importing, &counts, err);
    if (!status) status = read_database(wanted, database, out, err);
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

static redtune_status read_file_side(const redtune_rows_query *wanted, const char *file, bool quiet,
                                     side *out, redtune_error *err) {
    out->about->file = file;
    redtune_rows_query own = *wanted;
    own.shipped = 0;
    own.own = 1;
    const bool database = is_database(file);
    if (database && strchr(file, ':'))
        return rdt_message_set(err, REDTUNE_INVALID, 0,
                               "cannot compare '%.300s': ':' stands between databases; give it a "
                               "name without",
                               file);
    redtune_status status =
        database ? read_database(&own, file, out, err) : read_export(&own, file, quiet, out, err);
    return status ? rdt_message_within(err, "cannot compare %.200s", file) : status;
}

static redtune_status read_own_side(const redtune_rows_query *wanted, side *out,
                                    redtune_error *err) {
    out->about->file = wanted->database ? wanted->database : "the database";
    return read_database(wanted, wanted->database, out, err);
}

/* ---- pairing ------------------------------------------------------------------------------- */

double rdt_comparison_longer(const redtune_difference *difference) {
    return 100 * (difference->b_ns / difference->a_ns - 1);
}

static bool is_same_problem(const redtune_row *a, const redtune_row *b) {
    const redtune_problem *x = &a->problem, *y = &b->problem;
    return x->op == y->op && x->dtype == y->dtype && x->result == y->result &&
           x->order == y->order && x->accuracy == y->accuracy && x->segmented == y->segmented &&
           x->mask == y->mask && x->key_dtype == y->key_dtype && x->spread == y->spread &&
           x->keys == y->keys && x->greatest == y->greatest && x->median == y->median &&
           a->warm == b->warm && x->steps == y->steps && x->kept_axes == y->kept_axes &&
           x->reduced_axes == y->reduced_axes && !memcmp(x->kept, y->kept, sizeof x->kept) &&
           !memcmp(x->reduced, y->reduced, sizeof x->reduced);
}

static int compare_differences(const void *a, const void *b) {
    const double x = rdt_comparison_longer(a), y = rdt_comparison_longer(b);
    return (x < y) - (x > y);
}

static redtune_difference difference_between(const redtune_row *a, const redtune_row *b,
                                             double tolerance) {
    const double noise_ns =
        redtune_noise_ns((double[]){a->median_ns, b->median_ns},
                         (double[]){a->spread_ns, b->spread_ns}, (int[]){a->samples, b->samples});
    const double least_ns = a->median_ns * tolerance / 100;
    const double ns = b->median_ns - a->median_ns;
    redtune_difference difference = {.problem = b->problem, .gpu = b->gpu.name, .warm = b->warm};
    difference.a_ns = a->median_ns;
    difference.b_ns = b->median_ns;
    difference.noise_ns = noise_ns > least_ns ? noise_ns : least_ns;
    difference.direction = (ns > difference.noise_ns) - (-ns > difference.noise_ns);
    difference.a_family = a->family;
    difference.a_config = a->config;
    difference.b_family = b->family;
    difference.b_config = b->config;
    return difference;
}

/* GPU models are told apart unless each file has one. Both lists are in one order, so that the
 * search for the next row of a begins behind the last that was found. */
static redtune_status find_differences(rdt_comparison *self, double tolerance, redtune_error *err) {
    const redtune_compared *a = &self->about.a, *b = &self->about.b;
    const bool one_each = !strchr(a->gpus, ',') && !strchr(b->gpus, ',');
    size_t count = 0;
    self->about.differences = self->differences = calloc(a->winners + 1, sizeof *self->differences);
    if (!self->differences)
        return rdt_message_set(err, REDTUNE_MEMORY, 0, "cannot compare: out of host memory");
    for (size_t i = 0, start = 0; i < a->winners; i++)
        for (size_t tried = 0; tried < b->winners; tried++) {
            const redtune_row *x = &self->a[i], *y = &self->b[(start + tried) % b->winners];
            if (!is_same_problem(x, y) || !(one_each || rdt_table_is_same_gpu(&x->gpu, &y->gpu)))
                continue;
            redtune_difference *each = &self->differences[count++];
            *each = difference_between(x, y, tolerance);
            self->slower += each->direction > 0;
            self->faster += each->direction < 0;
            start += tried + 1;
            break;
        }
    qsort(self->differences, count, sizeof *self->differences, compare_differences);
    self->about.difference_count = count;
    if (count) return REDTUNE_OK;
    return rdt_message_set(err, REDTUNE_INVALID, 0,
                           "cannot compare %.200s with %.200s: no problem has a winner in both",
                           a->file, b->file);
}

redtune_status rdt_comparison_make(const rdt_options *options, const redtune_rows_query *wanted,
                                   const char *a, const char *b, rdt_comparison *out,
                                   redtune_error *err) {
    const double tolerance = options->tolerance > 0 ? options->tolerance : usual_tolerance;
    side first = {.about = &out->about.a}, second = {.about = &out->about.b};
    redtune_status status = read_file_side(wanted, a, options->quiet, &first, err);
    if (!status && b) status = read_file_side(wanted, b, options->quiet, &second, err);
    if (!status && !b) status = read_own_side(wanted, &second, err);
    out->a = first.row;
    out->b = second.row;
    return status ? status : find_differences(out, tolerance, err);
}

void rdt_comparison_free(rdt_comparison *comparison) {
    free(comparison->a);
    free(comparison->b);
    free(comparison->differences);
    *comparison = (rdt_comparison){.a = NULL};
}
