/* Untrusted: reading rows from bytes that anybody may have made.
 *
 * The bytes are read whole and opened in memory. An authorizer allows only reading the schema's
 * own tables, limits are set on all that SQLite counts, and a progress handler burns fuel that
 * grows with the length: a loop through pages runs out of it. The schema's text is compared before
 * any row is read, and each row must pass the same check as one that is stored. */
#define _POSIX_C_SOURCE 200809L
#include "cache/untrusted.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/file.h"
#include "base/locale.h"
#include "cache/confine.h"
#include "cache/lines.h"
#include "cache/schema.h"
#include "cache/tuning_inside.h"

/* The most steps for a schema, and for each byte of content. Honest ones take 100, and 0.9 a byte
 * in a database of 10000 rows. */
enum { SCHEMA_STEPS = 5000, STEPS_PER_BYTE = 4 };

#define TOO_LARGE "it is larger than 256 MiB; export less of it"

/* ---- the bytes ----------------------------------------------------------------------------- */

static redtune_status cannot_read(const char *path, const char *reason, int code,
                                  redtune_error *err) {
    return rdt_fail(err, REDTUNE_FILE, code, "cannot import %.400s: %s", path, reason);
}

/* What other files begin with, and what to do with these. */
static const struct {
    const char *bytes, *remedy;
} others[] = {
    {"\037\213", "it is compressed with gzip; run gunzip on it first"},
    {"\050\265\057\375", "it is compressed with zstd; run unzstd on it first"},
    {"\3757zXZ", "it is compressed with xz; run unxz on it first"},
    {"BZh", "it is compressed with bzip2; run bunzip2 on it first"},
    {"PK\3\4", "it is a zip archive; run unzip on it first"},
    {"\377\376", "its text is UTF-16; write it as UTF-8"},
    {"\376\377", "its text is UTF-16; write it as UTF-8"},
};

/* By its first bytes, which may be few: a file that cannot be one need not be read to its end. */
static redtune_status check_beginning(const char *path, const char *data, size_t bytes,
                                      redtune_error *err) {
    static const char magic[] = "SQLite format 3";
    const char *reason = "it is neither an SQLite file nor JSON lines of redtune; name one that "
                         "redtune export wrote";
    if (!memcmp(data, magic, bytes < sizeof magic ? bytes : sizeof magic) ||
        rdt_lines_may_be(data, bytes))
        return REDTUNE_OK;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        const size_t length = strlen(others[i].bytes);
        if (bytes >= length && !memcmp(data, others[i].bytes, length)) reason = others[i].remedy;
    }
    return rdt_fail(err, REDTUNE_DATABASE, 0, "cannot import %.400s: %s", path, reason);
}

static redtune_status read_all(int descriptor, const char *path, void **data, size_t *bytes,
                               redtune_error *err) {
    rdt_text text = {0};
    char chunk[65536];
    ssize_t got;
    redtune_status status = REDTUNE_OK;
    while (!status && (got = read(descriptor, chunk, sizeof chunk)) != 0) {
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) status = cannot_read(path, rdt_locale_reason(errno), errno, err);
        if (!status && !text.length) status = check_beginning(path, chunk, (size_t)got, err);
        if (!status) rdt_text_add_bytes(&text, chunk, (size_t)got);
        if (!status && text.length > RDT_UNTRUSTED_BYTES_MAX)
            status = cannot_read(path, TOO_LARGE, 0, err);
    }
    size_t length = text.length;
    char *out = NULL;
    if (!status) status = rdt_text_take(&text, &out, err);
    rdt_text_free(&text);
    if (status) return status;
    *data = out;
    *bytes = length;
    return REDTUNE_OK;
}

/* Files that SQLite would take for a part of this one. */
static redtune_status refuse_company(const char *path, redtune_error *err) {
    static const char *const suffixes[] = {"-journal", "-wal", "-shm"};
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
        rdt_text beside = {0};
        rdt_text_addf(&beside, "%s%s", path, suffixes[i]);
        struct stat info;
        bool there = beside.data && !lstat(beside.data, &info);
        rdt_text_free(&beside);
        if (there)
            return rdt_fail(err, REDTUNE_DATABASE, 0,
                            "cannot import %.400s: a file of the same name with %s lies beside it, "
                            "so that it is not whole; export it where it was made",
                            path, suffixes[i]);
    }
    return REDTUNE_OK;
}

redtune_status rdt_untrusted_read(const char *path, void **data, size_t *bytes,
                                  redtune_error *err) {
    struct stat info;
    int descriptor = -1;
    if (!strcmp(path, "-")) return read_all(STDIN_FILENO, "standard input", data, bytes, err);
    const char *why = rdt_file_open(path, O_RDONLY, &descriptor);
    if (why) return cannot_read(*path ? path : "''", why, errno, err);
    redtune_status status = REDTUNE_OK;
    if (!fstat(descriptor, &info) && info.st_size > RDT_UNTRUSTED_BYTES_MAX)
        status = cannot_read(path, TOO_LARGE, 0, err);
    if (!status) status = refuse_company(path, err);
    if (!status) status = read_all(descriptor, path, data, bytes, err);
    close(descriptor);
    return status;
}

/* ---- what may happen on the connection ----------------------------------------------------- */

/* All that SQL may do beside selecting: an action, and the table, function or pragma. */
static const struct {
    int action;
    const char *name;
} allowed[] = {
    {SQLITE_READ, "gpu"},       {SQLITE_READ, "origin"},        {SQLITE_READ, "measurement"},
    {SQLITE_READ, "import"},    {SQLITE_READ, "sqlite_master"}, {SQLITE_READ, "sqlite_schema"},
    {SQLITE_FUNCTION, "count"}, {SQLITE_FUNCTION, "length"},    {SQLITE_PRAGMA, "integrity_check"},
};

static int authorize(void *user, int action, const char *a, const char *b, const char *database,
                     const char *trigger) {
    (void)user, (void)database, (void)trigger;
    const char *name = action == SQLITE_FUNCTION ? b : a;
    if (action == SQLITE_SELECT) return SQLITE_OK;
    for (size_t i = 0; name && i < sizeof allowed / sizeof *allowed; i++)
        if (allowed[i].action == action && !strcmp(allowed[i].name, name)) return SQLITE_OK;
    return SQLITE_DENY;
}

/* ---- a database ---------------------------------------------------------------------------- */

/* Counts what it passes on. */
typedef struct counter {
    rdt_tuning_each_fn *each;
    rdt_refuse_fn *refuse;
    void *user;
    int64_t given;
} counter;

static redtune_status pass_on(void *user, const rdt_row *row, redtune_error *err) {
    counter *self = user;
    self->given++;
    return self->each(self->user, row, err);
}

static redtune_status give_database(rdt_tuning *tuning, counter *to, redtune_error *err) {
    static const char sql[] = "SELECT " RDT_ROW_COLUMNS " FROM measurement AS m CROSS JOIN gpu AS g"
                              " ON g.id = m.gpu CROSS JOIN origin AS o ON o.id = m.origin";
    rdt_sqlite *file = &tuning->file;
    sqlite3_stmt *statement = NULL;
    int64_t count = 0;
    redtune_status status =
        rdt_sqlite_select(file, "read", "SELECT count(*) FROM measurement", &count, err);
    if (!status && count > RDT_LINES_ROWS_MAX)
        status = rdt_sqlite_fail_kind(file, "it has more than a million rows", err);
    if (!status) status = rdt_sqlite_prepare(file, "read", sql, &statement, err);
    if (!status) status = rdt_tuning_give_rows(tuning, statement, pass_on, to, err);
    sqlite3_finalize(statement);
    /* Rows without a GPU or an origin are not even seen. */
    const rdt_refusal unfit = {"a value of it is missing or out of range", "", 0,
                               count - to->given};
    if (!status && unfit.count) to->refuse(to->user, &unfit);
    return status;
}

static redtune_status each_of_database(const char *name, const void *data, size_t bytes,
                                       counter *to, redtune_error *err) {
    rdt_tuning tuning = {.empty = false};
    rdt_fuel left = {.steps = SCHEMA_STEPS};
    redtune_status status =
        rdt_sqlite_open_bytes(&tuning.file, &rdt_confine_kind, name, data, bytes, err);
    if (status) return status;
    rdt_confine_begin(tuning.file.db, &left, authorize);
    status = rdt_schema_check(&tuning.file, err);
    left.steps += STEPS_PER_BYTE * (int64_t)bytes;
    if (!status) status = rdt_sqlite_check_integrity(&tuning.file, err);
    if (!status && rdt_schema_is_past(&tuning.file)) {
        status = rdt_sqlite_load(&tuning.file, err);
        if (!status) status = rdt_schema_migrate(&tuning.file, err);
        if (!status) rdt_confine_begin(tuning.file.db, &left, authorize);
    }
    if (!status) status = give_database(&tuning, to, err);
    status = rdt_confine_end(&tuning.file, &left, status, err);
    rdt_sqlite_close(&tuning.file);
    return status;
}

redtune_status rdt_untrusted_each(const char *name, const void *data, size_t bytes,
                                  rdt_tuning_each_fn *each, rdt_refuse_fn *refuse, void *user,
                                  redtune_error *err) {
    counter to = {each, refuse, user, 0};
    if (bytes && rdt_lines_may_be(data, bytes))
        return rdt_lines_each(name, data, bytes, each, refuse, user, err);
    return each_of_database(name, data, bytes, &to, err);
}
