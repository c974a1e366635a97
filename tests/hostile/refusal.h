/* Refusal: whether an import refuses a hostile file as it must, with what the tests of such files
 * have to themselves: a local database that stays as it is. */
#pragma once

#include "forge.h"

#include <time.h>
#include "redtune/records.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { TIME_LIMIT_MS = 1500 };
#else
enum { TIME_LIMIT_MS = 100 };
#endif

/* SQL for a text that steers a terminal. */
#define ESCAPE "char(27) || ']0;" FORGE_MARK "' || char(7) || char(155) || '2J'"

static redtune_error err;
static char theirs[300]; /* the path of the file at hand */
static char *local_bytes;
static size_t local_length;

/* Of this process: other work on the machine is no fault of the import's. */
UNUSED static double used_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

UNUSED static bool is_plain(const char *text) {
    for (; *text; text++)
        if (*text < ' ' || *text > '~') return false;
    return true;
}

UNUSED static bool fails(const char *name, const char *how, const char *more) {
    fprintf(stderr, "%s: %s%s\n", name, how, more);
    return false;
}

/* Whether the import of the file is refused as it must be: with this in the reason, or, where rows
 * are given, row by row. */
UNUSED static bool is_refused(const char *name, const char *path, const char *reason,
                              uint64_t rows) {
    redtune_import_counts report;
    err.message[0] = '\0';
    double begin = used_ms();
    redtune_status status = forge_import(in_scratch("local.db"), path, &report, &err);
    double took = used_ms() - begin;
    if (took > TIME_LIMIT_MS) fprintf(stderr, "%s: took %.0f ms\n", name, took);
    if (took > TIME_LIMIT_MS) return false;
    /* Versions of SQLite differ in whether that is JSON. */
    if (reason[0] == '*') rows = !status, reason = "";
    if (rows && status) return fails(name, "all of it was refused: ", err.message);
    if (!rows && !status) return fails(name, "was taken", "");
    if (rows && (report.refused != rows || report.added || report.winners)) {
        fprintf(stderr, "%s: %d rows refused, %d added\n", name, (int)report.refused,
                (int)report.added);
        return false;
    }
    if (!rows && status != REDTUNE_DATABASE && status != REDTUNE_FILE)
        return fails(name, "odd status: ", err.message);
    if (!rows && !strstr(err.message, reason)) return fails(name, "odd reason: ", err.message);
    if (!is_plain(err.message)) return fails(name, "not plain: ", err.message);
    if (!holds_bytes(in_scratch("local.db"), local_bytes, local_length))
        return fails(name, "the local database has changed", "");
    if (has_beside(in_scratch("local.db"), "-journal") ||
        has_beside(in_scratch("local.db"), "-wal"))
        return fails(name, "something lies beside the local database", "");
    return true;
}

UNUSED static bool begin_local(void) {
    const char *local = in_scratch("local.db");
    free(local_bytes);
    local_bytes = NULL;
    if (!forge_database(local, 0)) return false;
    rdt_text_copy(theirs, sizeof theirs, in_scratch("theirs.db"));
    local_bytes = read_bytes(local, &local_length);
    return local_bytes != NULL;
}

/* The other way round: an honest file, without which the rest would say nothing. */
UNUSED static bool is_taken(const char *path) {
    redtune_import_counts report;
    unlink(in_scratch("other.db"));
    redtune_status status = forge_import(in_scratch("other.db"), path, &report, &err);
    if (status) return fails(path, err.message, "");
    if (!report.rows || report.added != report.rows || report.refused)
        return fails(path, "not all of its rows were taken", "");
    return ask_sql(in_scratch("other.db"), "SELECT count(*) FROM measurement") ==
           (int64_t)report.rows;
}

UNUSED static int run_facts(int argc, char **argv) {
    if (!scratch_begin() || !forge_begin()) return 1;
    int failed = check_run(argc, argv);
    free(local_bytes);
    forge_end();
    scratch_end();
    return failed;
}
