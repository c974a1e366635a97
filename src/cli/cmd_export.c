/* redtune export: measurements of the user's databases as a file to pass on. */
#define _XOPEN_SOURCE 700 /* for realpath */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "cli/command.h"
#include "cli/message.h"
#include "cli/output.h"
#include "redtune/records.h"
#include "redtune/tools.h"

typedef struct survey {
    const char *output; /* NULL: stdout */
    size_t row_count;
    char gpus[512], last[96]; /* the models' names, and the last of them */
} survey;

/* A database must not be replaced by a part of itself. */
static redtune_status survey_row(void *user, const redtune_row *row, redtune_error *err) {
    survey *self = user;
    struct stat to, from;
    self->row_count++;
    if (strcmp(self->last, row->gpu.name)) {
        size_t length = strlen(self->gpus);
        snprintf(self->last, sizeof self->last, "%s", row->gpu.name);
        snprintf(self->gpus + length, sizeof self->gpus - length, "%s%s", length ? ", " : "",
                 row->gpu.name);
    }
    if (!self->output || stat(self->output, &to) || stat(row->database, &from) ||
        to.st_ino != from.st_ino || to.st_dev != from.st_dev)
        return REDTUNE_OK;
    return rdt_message_set(err, REDTUNE_INVALID, 0,
                           "cannot export to %.300s: it is a database that is exported from; name "
                           "another file",
                           self->output);
}

/* SQLite would take the journal of the file that was there for one of this, and undo with it what
 * it does not know. */
static redtune_status check_beside(const char *output, redtune_error *err) {
    char *real = realpath(output, NULL); /* where a symbolic link leads to */
    const char *path = real ? real : output;
    char *journal = malloc(strlen(path) + sizeof "-journal");
    redtune_status status = REDTUNE_OK;
    if (journal) sprintf(journal, "%s-journal", path);
    if (!journal)
        status = rdt_message_set(err, REDTUNE_MEMORY, 0, "cannot export: out of memory");
    else if (!access(journal, F_OK))
        status = rdt_message_set(err, REDTUNE_FILE, 0,
                                 "cannot export to %.300s: a journal lies beside it, so that a "
                                 "write to what was there was cut short; open that once with "
                                 "redtune show, or name another file",
                                 output);
    free(journal);
    free(real);
    return status;
}

/* As for --db, which refuses such names for all else. */
static redtune_status check_name(const char *output, redtune_error *err) {
    if (output[0] != ':' && strncmp(output, "file:", 5) && !strstr(output, "://"))
        return REDTUNE_OK;
    return rdt_message_set(err, REDTUNE_INVALID, 0,
                           "cannot export to '%.300s': it is no path; name a file, such as "
                           "tuning.db, or ./NAME for one of that name",
                           output);
}

/* By --format, else by the file's name. */
static redtune_export_format choose_format(const rdt_options *options) {
    static const char *const endings[] = {".jsonl", ".ndjson", ".json"};
    const char *format = options->format ? options->format : "sqlite";
    for (size_t i = 0; !options->format && i < sizeof endings / sizeof *endings; i++) {
        const size_t bytes = options->output ? strlen(options->output) : 0;
        const size_t ending_bytes = strlen(endings[i]);
        if (bytes > ending_bytes && !strcmp(options->output + bytes - ending_bytes, endings[i]))
            format = "json";
    }
    return strcmp(format, "json") ? REDTUNE_EXPORT_SQLITE : REDTUNE_EXPORT_JSON;
}

static redtune_status check_export(const rdt_options *options, const redtune_rows_query *query,
                                   survey *out, redtune_error *err) {
    bool to_stdout = !options->output || !strcmp(options->output, "-");
    const bool binary = choose_format(options) == REDTUNE_EXPORT_SQLITE;
    survey self = {.output = to_stdout ? NULL : options->output};
    if (to_stdout && binary && isatty(STDOUT_FILENO))
        return rdt_message_set(err, REDTUNE_INVALID, 0,
                               "cannot export a database to a terminal: it is binary; write to a "
                               "file with -o FILE, or give --format json");
    redtune_status status = to_stdout ? REDTUNE_OK : check_name(options->output, err);
    if (!status) status = redtune_rows_each(query, survey_row, &self, err);
    if (!status && !to_stdout && binary) status = check_beside(options->output, err);
    *out = self;
    if (status || self.row_count) return status;
    return rdt_message_set(err, REDTUNE_DATABASE, 0,
                           "cannot export: no measurement is there for this; redtune show --all "
                           "lists those that are");
}

static int run_export(const rdt_options *options) {
    redtune_error err;
    redtune_rows_query query = {
        .database = options->database,
        .gpu = options->gpu || options->winners ? options->gpu : "all",
        .winners = options->winners,
        .shipped = options->shipped,
        .own = !options->shipped && (!options->gpu || !strcmp(options->gpu, "all")),
    };
    if (rdt_options_read_filter(options, &query, &err)) return rdt_message_fail(&err);
    survey found;
    void *data = NULL;
    size_t bytes = 0;
    redtune_status status = check_export(options, &query, &found, &err);
    if (!status) status = redtune_export(&query, choose_format(options), &data, &bytes, &err);
    if (!status) status = rdt_output_put(options->output, data, bytes, &err);
    redtune_free(data);
    if (status) return rdt_message_fail(&err);
    if (found.output && !options->quiet)
        rdt_message_print("%zu %s%s of %s%s written to %s", found.row_count,
                          options->winners ? "winner" : "measurement",
                          found.row_count == 1 ? "" : "s", found.gpus,
                          options->winners ? ", with what the default took," : "", found.output);
    return RDT_EXIT_DONE;
}

const rdt_command rdt_cmd_export = {
    .name = "export",
    .bit = RDT_EXPORT,
    .summary = "writes measurements to a file that others import",
    .details =
        "Needs no GPU. The file is a tuning database, or has one JSON object per line, and the\n"
        "same measurements give the same bytes. It has all measurements of the user's databases,\n"
        "or with --winners the winners of this machine's GPU. A GPU named by --gpu brings the "
        "rows\n"
        "of the system's databases, as in redtune show, and --shipped adds them for all. No row "
        "is\n"
        "marked as imported.\n"
        "\n"
        "For example: redtune export --winners --gpu H200 -o h200.db\n",
    .run = run_export,
};
