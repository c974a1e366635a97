/* redtune import: takes in what others measured. redtune merge takes files in as well, and tells
 * the same of it. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cli/command.h"
#include "cli/json.h"
#include "cli/message.h"
#include "cli/table.h"
#include "redtune/records.h"

typedef struct refusal {
    const char *file; /* the caller's */
    char reason[160];
    uint64_t count;
} refusal;

/* The report of a success. */
typedef struct intake {
    refusal *refusals;
    redtune_change *changes;
    size_t refusal_count, change_count;
    bool failed; /* memory ran out */
} intake;

/* Room for one more in a list that doubles whenever its length is a power of two. */
static void *grow(intake *self, void *list, size_t count, size_t bytes) {
    if (count & (count - 1)) return list;
    void *grown = realloc(list, (count ? 2 * count : 1) * bytes);
    if (!grown) self->failed = true;
    return grown ? grown : list;
}

static void keep_refusal(void *user, const char *file, const char *reason, uint64_t count) {
    intake *self = user;
    self->refusals = grow(self, self->refusals, self->refusal_count, sizeof *self->refusals);
    if (self->failed) return;
    refusal *kept = &self->refusals[self->refusal_count++];
    *kept = (refusal){.file = file, .count = count};
    snprintf(kept->reason, sizeof kept->reason, "%s", reason);
}

static void keep_change(void *user, const redtune_change *change) {
    intake *self = user;
    self->changes = grow(self, self->changes, self->change_count, sizeof *self->changes);
    if (!self->failed) self->changes[self->change_count++] = *change;
}

/* ---- for people ---------------------------------------------------------------------------- */

static void add_change(rdt_table *table, const redtune_change *change, bool several) {
    if (several) rdt_table_add(table, "%s", change->gpu);
    rdt_table_add_problem(table, &change->problem);
    rdt_table_add(table, "%s", change->warm ? "warm" : "cold");
    rdt_table_add_us(table, change->before_ns);
    rdt_table_add_us(table, change->after_ns);
    rdt_table_add_ratio(table, change->before_ns, change->after_ns);
    rdt_table_add(table, "%s", change->after);
}

/* A GPU that is the only one stands above the table, which has more room then. */
static void print_changes(const intake *self) {
    static const char *const titles[] = {"GPU",    "op", "dtype", "size",  "L2",
                                         "before", "us", "gain",  "winner"};
    const redtune_change *changes = self->changes;
    bool several = false;
    if (!self->change_count) return;
    for (size_t i = 1; i < self->change_count; i++)
        several = several || strcmp(changes[i].gpu, changes[0].gpu) != 0;
    rdt_table table = {.column_count = several ? 9 : 8,
                       .right = several ? "lllrlrrrl" : "llrlrrrl"};
    rdt_table_add_row(&table, several ? titles : titles + 1);
    for (size_t i = 0; i < self->change_count; i++) add_change(&table, &changes[i], several);
    printf(several ? "\n" : "\n%s\n\n", changes[0].gpu);
    rdt_table_print(&table, stdout);
}

/* Of what has changed only how much: it can be looked up, and a file may change hundreds. */
static void print_result(const intake *self, const redtune_importing *importing,
                         const redtune_import_counts *counts) {
    printf("measurements: %" PRIu64 " new, %" PRIu64 " there before, %" PRIu64 " refused\n",
           counts->added, counts->same, counts->refused);
    printf("winners: %" PRIu64 " %s", counts->winners,
           importing->dry_run ? "would change" : "changed");
    if (!importing->dry_run && counts->winners)
        printf("; redtune show%s%s --gpu all lists them", importing->database ? " --db " : "",
               importing->database ? importing->database : "");
    puts("");
    if (importing->dry_run) print_changes(self);
}

/* ---- for programs -------------------------------------------------------------------------- */

static void write_change(rdt_json *json, const redtune_change *change) {
    rdt_json_begin(json, NULL, '{');
    rdt_json_text(json, "gpu", change->gpu);
    rdt_json_problem(json, &change->problem);
    rdt_json_text(json, "cache", change->warm ? "warm" : "cold");
    rdt_json_text(json, "before", change->before);
    rdt_json_text(json, "after", change->after);
    rdt_json_real(json, "before_ns", change->before_ns);
    rdt_json_real(json, "after_ns", change->after_ns);
    rdt_json_end(json, '}');
}

static void write_result(const intake *self, const redtune_import_counts *counts, bool dry_run) {
    rdt_json json = rdt_json_open(stdout);
    rdt_json_truth(&json, "dry_run", dry_run);
    rdt_json_count(&json, "measurements", counts->rows);
    rdt_json_count(&json, "new", counts->added);
    rdt_json_count(&json, "same", counts->same);
    rdt_json_count(&json, "refused", counts->refused);
    rdt_json_begin(&json, "refusals", '[');
    for (size_t i = 0; i < self->refusal_count; i++) {
        rdt_json_begin(&json, NULL, '{');
        rdt_json_text(&json, "file", self->refusals[i].file);
        rdt_json_text(&json, "reason", self->refusals[i].reason);
        rdt_json_count(&json, "count", self->refusals[i].count);
        rdt_json_end(&json, '}');
    }
    rdt_json_end(&json, ']');
    rdt_json_begin(&json, "winners", '[');
    for (size_t i = 0; i < self->change_count; i++) write_change(&json, &self->changes[i]);
    rdt_json_end(&json, ']');
    rdt_json_end(&json, '}');
}

/* ---- the commands -------------------------------------------------------------------------- */

int rdt_cmd_import_files(const rdt_options *options, const char *database, const char *const *files,
                         size_t file_count, bool merge) {
    intake self = {.failed = false};
    redtune_import_counts counts = {0};
    redtune_error err;
    const redtune_importing importing = {
        .database = database,
        .files = files,
        .file_count = file_count,
        .dry_run = options->dry_run,
        .merge = merge,
        .changed = keep_change,
        .refused = keep_refusal,
        .user = &self,
    };
    redtune_status status = redtune_import(&importing, &counts, &err);
    if (!status && options->json)
        write_result(&self, &counts, options->dry_run);
    else if (!status)
        print_result(&self, &importing, &counts);
    for (size_t i = 0; !status && !options->json && i < self.refusal_count; i++)
        rdt_message_print("%.300s: refused %" PRIu64 ": %s", self.refusals[i].file,
                          self.refusals[i].count, self.refusals[i].reason);
    if (!status && self.failed)
        status =
            rdt_message_set(&err, REDTUNE_MEMORY, 0, "cannot tell all that %s: out of host memory",
                            options->dry_run ? "would change" : "has changed");
    free(self.refusals);
    free(self.changes);
    if (status) return rdt_message_fail(&err);
    return counts.refused && counts.refused == counts.rows ? RDT_EXIT_FAILED : RDT_EXIT_DONE;
}

static int run_import(const rdt_options *options) {
    return rdt_cmd_import_files(options, options->database, options->arguments,
                                options->argument_count, false);
}

const rdt_command rdt_cmd_import = {
    .name = "import",
    .bit = RDT_IMPORT,
    .argument = "FILE...",
    .argument_least = 1,
    .summary = "takes in measurements that others exported",
    .details =
        "Needs no GPU. FILE is a tuning database or JSON lines, - is standard input. Nothing in a\n"
        "file is run; a measurement that no tune could have given is refused and the others are\n"
        "added. All files are added, or if one cannot be read, none. Measurements made here count\n"
        "more than imported ones, and redtune undo removes the last import.\n"
        "\n"
        "For example: redtune import --dry-run h200.db\n",
    .run = run_import,
};
