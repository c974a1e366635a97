/* Database: what the tests of the database files share: a folder of their own, other people's SQL,
 * and files as bytes. */
#pragma once

#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* for nftw and mkdtemp; so this comes before other includes */
#endif

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "check.h"

#define UNUSED __attribute__((unused))

static char scratch[64];

UNUSED static bool scratch_begin(void) {
    snprintf(scratch, sizeof scratch, "/tmp/redtune-test-XXXXXX");
    return mkdtemp(scratch) && !chmod(scratch, 0755); /* for tests that become another user */
}

static int scratch_remove(const char *path, const struct stat *info, int kind, struct FTW *walk) {
    (void)info, (void)kind, (void)walk;
    return remove(path);
}

UNUSED static void scratch_end(void) { nftw(scratch, scratch_remove, 16, FTW_DEPTH | FTW_PHYS); }

/* A path in the folder; good for the next seven calls. */
UNUSED static const char *in_scratch(const char *name) {
    static char path[8][256];
    static unsigned next;
    char *out = path[next++ % 8];
    snprintf(out, sizeof path[0], "%s/%s", scratch, name);
    return out;
}

/* Runs SQL as the sqlite3 shell would, without redtune's guards. */
UNUSED static bool run_sql(const char *path, const char *sql) {
    sqlite3 *db = NULL;
    int rc = sqlite3_open(path, &db);
    if (!rc) sqlite3_busy_timeout(db, 10000);
    if (!rc) rc = sqlite3_exec(db, sql, NULL, NULL, NULL);
    if (rc) fprintf(stderr, "%s: %s\n", sql, sqlite3_errmsg(db));
    sqlite3_close(db);
    return !rc;
}

/* The number that SQL selects, or -1. */
UNUSED static int64_t ask_sql(const char *path, const char *sql) {
    sqlite3 *db = NULL;
    sqlite3_stmt *row = NULL;
    int64_t number = -1;
    int rc = sqlite3_open(path, &db);
    if (!rc) rc = sqlite3_prepare_v2(db, sql, -1, &row, NULL);
    if (!rc && sqlite3_step(row) == SQLITE_ROW) number = sqlite3_column_int64(row, 0);
    if (rc) fprintf(stderr, "%s: %s\n", sql, sqlite3_errmsg(db));
    sqlite3_finalize(row);
    sqlite3_close(db);
    return number;
}

UNUSED static bool write_bytes(const char *path, const void *data, size_t bytes) {
    FILE *file = fopen(path, "wb");
    bool good = file && fwrite(data, 1, bytes, file) == bytes;
    return file && !fclose(file) && good;
}

/* The caller frees it; NULL if the file cannot be read. */
UNUSED static char *read_bytes(const char *path, size_t *bytes) {
    char *data = NULL;
    return rdt_file_read(path, 1 << 30, &data, bytes, NULL) ? NULL : data;
}

UNUSED static bool copy_file(const char *from, const char *to) {
    size_t bytes = 0;
    char *data = read_bytes(from, &bytes);
    bool good = data && write_bytes(to, data, bytes);
    free(data);
    return good;
}

UNUSED static bool holds_bytes(const char *path, const char *data, size_t bytes) {
    size_t now_bytes = 0;
    char *now = read_bytes(path, &now_bytes);
    bool same = now && now_bytes == bytes && !memcmp(now, data, bytes);
    free(now);
    return same;
}

UNUSED static bool has_beside(const char *path, const char *suffix) {
    char beside[512];
    snprintf(beside, sizeof beside, "%s%s", path, suffix);
    return rdt_file_exists(beside);
}

/* Runs work in count processes, which start it together. True if all of them returned true. */
UNUSED static bool run_processes(int count, bool (*work)(int index)) {
    int started = 0, gate[2];
    bool good = !pipe(gate);
    fflush(NULL);
    for (; started < count && good; started++) {
        pid_t child = fork();
        if (child < 0) break;
        if (child) continue;
        char none;
        close(gate[1]);
        _exit(read(gate[0], &none, 1) || !work(started));
    }
    if (good) close(gate[0]), close(gate[1]);
    for (int i = 0; i < started; i++) {
        int ended = 0;
        good = wait(&ended) > 0 && WIFEXITED(ended) && !WEXITSTATUS(ended) && good;
    }
    return good && started == count;
}
