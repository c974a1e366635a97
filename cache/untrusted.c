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
#include "base/locale.h"
#include "cache/tuning_inside.h"
#include "redtune/tune.h"

enum { LINE_BYTES_MAX = 65536, STEPS_PER_CALL = 500 };

/* The most steps for a schema, and for each byte of content. Honest ones take 100, 0.9 a byte in a
 * database of 10000 rows, and 0.7 in their lines. */
enum { SCHEMA_STEPS = 5000, STEPS_PER_BYTE = 4, STEPS_PER_LINE_BYTE = 2 };

#define TOO_LARGE "it is larger than 256 MiB; export less of it"

/* ---- the bytes ----------------------------------------------------------------------------- */

static redtune_status cannot_read(const char *path, const char *reason, int code,
                                  redtune_error *err) {
    return rdt_fail(err, REDTUNE_FILE, code, "cannot import %.400s: %s", path, reason);
}

/* Whether it may be one, by its first bytes: any other file need not be read to its end. */
static bool may_be_one(const char *data, size_t bytes) {
    static const char magic[] = "SQLite format 3";
    return bytes &&
           (*data == '{' || !memcmp(data, magic, bytes < sizeof magic ? bytes : sizeof magic));
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
        if (!status && !text.length && !may_be_one(chunk, (size_t)got))
            status = rdt_fail(err, REDTUNE_DATABASE, 0,
                              "cannot import %.400s: it is neither an SQLite file nor JSON lines "
                              "of redtune; name one that redtune export wrote",
                              path);
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

static redtune_status check_file(const char *path, int failed, const struct stat *info,
                                 redtune_error *err) {
    if (failed) return cannot_read(path, rdt_locale_reason(errno), errno, err);
    if (!S_ISREG(info->st_mode)) return cannot_read(path, "it is not a regular file", 0, err);
    if (info->st_size > RDT_UNTRUSTED_BYTES_MAX) return cannot_read(path, TOO_LARGE, 0, err);
    return REDTUNE_OK;
}

redtune_status rdt_untrusted_read(const char *path, void **data, size_t *bytes,
                                  redtune_error *err) {
    struct stat info;
    if (!strcmp(path, "-")) return read_all(STDIN_FILENO, "standard input", data, bytes, err);
    /* To open what is no file may wait, or start something; and what was one then may be another.
     */
    redtune_status status = check_file(path, stat(path, &info), &info, err);
    if (status) return status;
    int descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    if (descriptor < 0) return cannot_read(path, rdt_locale_reason(errno), errno, err);
    status = check_file(path, fstat(descriptor, &info), &info, err);
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

/* Steps of SQLite's machine that may be taken: a few times as many as honest content needs. A loop
 * through a file's pages, or a walk that never ends, uses them up. */
typedef struct fuel {
    int64_t steps;
    bool gone;
} fuel;

static int burn(void *user) {
    fuel *left = user;
    left->steps -= STEPS_PER_CALL;
    if (left->steps < 0) left->gone = true;
    return left->gone;
}

/* allows: what may happen; NULL where all SQL is redtune's, on a database without content. */
static void confine(sqlite3 *db, fuel *left,
                    int (*allows)(void *, int, const char *, const char *, const char *,
                                  const char *)) {
    static const struct {
        int id, value;
    } limits[] = {
        {SQLITE_LIMIT_LENGTH, 2 * LINE_BYTES_MAX},
        {SQLITE_LIMIT_SQL_LENGTH, 20000},
        {SQLITE_LIMIT_COLUMN, 64},
        {SQLITE_LIMIT_EXPR_DEPTH, 50},
        {SQLITE_LIMIT_COMPOUND_SELECT, 2},
        {SQLITE_LIMIT_VDBE_OP, 25000},
        {SQLITE_LIMIT_FUNCTION_ARG, 8},
        {SQLITE_LIMIT_ATTACHED, 0},
        {SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 50},
        {SQLITE_LIMIT_VARIABLE_NUMBER, 8},
        {SQLITE_LIMIT_TRIGGER_DEPTH, 1},
        {SQLITE_LIMIT_WORKER_THREADS, 0},
    };
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        sqlite3_limit(db, limits[i].id, limits[i].value);
    sqlite3_progress_handler(db, STEPS_PER_CALL, burn, left);
    sqlite3_set_authorizer(db, allows, NULL);
}

/* Says so where fuel ran out. */
static redtune_status tell_if_burnt(const rdt_sqlite *file, const fuel *left, redtune_status status,
                                    redtune_error *err) {
    if (!status || !left->gone) return status;
    return rdt_sqlite_refuse(file, "reading it takes too long, so it is damaged or a trap", err);
}

static const rdt_sqlite_kind kind = {
    .what = "imported file",
    .remedy = "ask for another export of it",
    .schema = &rdt_schema_tuning,
};

/* ---- a database ---------------------------------------------------------------------------- */

/* Counts what it passes on. */
typedef struct counter {
    rdt_tuning_each_fn *each;
    void *user;
    int64_t given;
} counter;

static redtune_status pass_on(void *user, const rdt_row *row, redtune_error *err) {
    counter *self = user;
    self->given++;
    return self->each(self->user, row, err);
}

static redtune_status give_database(rdt_tuning *tuning, counter *to, int64_t *unfit,
                                    redtune_error *err) {
    static const char sql[] = "SELECT " RDT_ROW_COLUMNS " FROM measurement AS m CROSS JOIN gpu AS g"
                              " ON g.id = m.gpu CROSS JOIN origin AS o ON o.id = m.origin";
    rdt_sqlite *file = &tuning->file;
    sqlite3_stmt *statement = NULL;
    int64_t count = 0;
    redtune_status status =
        rdt_sqlite_select(file, "read", "SELECT count(*) FROM measurement", &count, err);
    if (!status && count > RDT_UNTRUSTED_ROWS_MAX)
        status = rdt_sqlite_refuse(file, "it has more than a million rows", err);
    if (!status) status = rdt_sqlite_prepare(file, "read", sql, &statement, err);
    if (!status) status = rdt_tuning_give_rows(tuning, statement, pass_on, to, err);
    sqlite3_finalize(statement);
    /* Rows without a GPU or an origin are not even seen. */
    *unfit = count - to->given;
    return status;
}

static redtune_status each_of_database(const char *name, const void *data, size_t bytes,
                                       counter *to, int64_t *unfit, redtune_error *err) {
    rdt_tuning tuning = {.empty = false};
    fuel left = {.steps = SCHEMA_STEPS};
    redtune_status status = rdt_sqlite_open_bytes(&tuning.file, &kind, name, data, bytes, err);
    if (status) return status;
    confine(tuning.file.db, &left, authorize);
    status = rdt_schema_check(&tuning.file, err);
    left.steps += STEPS_PER_BYTE * (int64_t)bytes;
    if (!status) status = rdt_sqlite_check_integrity(&tuning.file, err);
    if (!status && rdt_schema_is_past(&tuning.file)) {
        status = rdt_sqlite_load(&tuning.file, err);
        if (!status) status = rdt_schema_migrate(&tuning.file, err);
        if (!status) confine(tuning.file.db, &left, authorize);
    }
    if (!status) status = give_database(&tuning, to, unfit, err);
    status = tell_if_burnt(&tuning.file, &left, status, err);
    rdt_sqlite_close(&tuning.file);
    return status;
}

/* ---- JSON lines ---------------------------------------------------------------------------- */

/* A member's value if it is one, NULL too; else a BLOB, which no column takes. */
#define MEMBER(name)                                                                               \
    ", CASE WHEN json_type(?1, '$." name "') IN ('text', 'integer', 'real', 'null')"               \
    " THEN json_extract(?1, '$." name "') ELSE x'' END"
#define MEMBER_OF(kind, column, least, most, field, note, before)     MEMBER(#column)
#define MEMBER_BEFORE(kind, column, least, most, field, note, before) before(MEMBER(#column))
#define ONE_MORE(kind, column, least, most, field, note, before)      +1
#define BYTES_OF(kind, column, least, most, field, note, before)      +sizeof("\"" #column "\":0")

/* The columns of RDT_ROW_COLUMNS, what the line is, and how many members it has: with as many as
 * there are columns and each of them there, there is no other and none twice. */
#define LINE(measurement)                                                                          \
    "SELECT 0, NULL" measurement MEMBER("gpu") RDT_GPU_FIGURE_LIST(MEMBER_OF) RDT_ORIGIN_LIST(     \
        MEMBER_OF) ", json_type(?1) = 'object', (SELECT count(*) FROM json_each(?1))"

enum {
    LINE_MEMBERS = RDT_MEASUREMENT_LIST(ONE_MORE) RDT_GPU_LIST(ONE_MORE) RDT_ORIGIN_LIST(ONE_MORE),
    LINE_OBJECT_COLUMN = LINE_MEMBERS + 2,
    LINE_COUNT_COLUMN,
    /* The members that version 2 has, too, are longer than this. */
    LINE_BYTES_MIN = RDT_GPU_LIST(BYTES_OF) RDT_ORIGIN_LIST(BYTES_OF),
};

/* The versions whose lines can be read. */
typedef struct line_version {
    int version;
    const char *sql;
    int members;
} line_version;

static const line_version line_versions[] = {
    {3, LINE(RDT_MEASUREMENT_LIST(MEMBER_OF)), LINE_MEMBERS},
    {2, LINE(RDT_MEASUREMENT_LIST(MEMBER_BEFORE)), LINE_MEMBERS - 7},
};

/* Lines as they are read. */
typedef struct lines {
    rdt_tuning tuning;
    const line_version *version; /* NULL before the first line */
    sqlite3_stmt *statement;
    counter *to;
    int64_t unfit;
} lines;

static redtune_status refuse_line(const rdt_sqlite *file, int64_t line, const char *reason,
                                  redtune_error *err) {
    char text[160];
    snprintf(text, sizeof text, "line %lld %s", (long long)line, reason);
    return rdt_sqlite_refuse(file, text, err);
}

/* {"redtune_tuning":3} */
static redtune_status read_first_line(lines *self, const char *line, size_t length,
                                      redtune_error *err) {
    static const char begin[] = "{\"redtune_tuning\":";
    rdt_sqlite *file = &self->tuning.file;
    size_t prefix = sizeof begin - 1;
    int64_t version;
    while (length && strchr(" \r\t", line[length - 1])) length--;
    if (length <= prefix + 1 || memcmp(line, begin, prefix) || line[length - 1] != '}' ||
        !rdt_text_to_int64(line + prefix, length - prefix - 1, &version))
        return rdt_sqlite_refuse(file, "it is neither an SQLite file nor JSON lines of redtune",
                                 err);
    for (size_t i = 0; i < sizeof line_versions / sizeof *line_versions; i++)
        if (line_versions[i].version == version) self->version = &line_versions[i];
    if (!self->version)
        return rdt_sqlite_refuse(
            file, "it is of another version than this redtune knows; update the older one", err);
    return rdt_sqlite_prepare(file, "read", self->version->sql, &self->statement, err);
}

/* An object too short for the members of a row costs no step: there may be very many. */
static bool is_short(const char *line, size_t length) {
    while (length && strchr(" \r\t", line[length - 1])) length--;
    while (length && strchr(" \r\t", *line)) line++, length--;
    return length >= 2 && length < LINE_BYTES_MIN && *line == '{' && line[length - 1] == '}';
}

static redtune_status give_line(lines *self, int64_t number, const char *line, size_t length,
                                redtune_error *err) {
    rdt_row row;
    int64_t gpu;
    const rdt_sqlite *file = &self->tuning.file;
    sqlite3_reset(self->statement);
    int rc = sqlite3_bind_text64(self->statement, 1, line, length, SQLITE_STATIC, SQLITE_UTF8);
    if (!rc) rc = sqlite3_step(self->statement);
    if (rc == SQLITE_NOMEM) return rdt_sqlite_fail(file, "read", rc, err);
    if (rc != SQLITE_ROW || !sqlite3_column_int(self->statement, LINE_OBJECT_COLUMN))
        return refuse_line(file, number, "is no JSON object", err);
    bool good = sqlite3_column_int(self->statement, LINE_COUNT_COLUMN) == self->version->members &&
                rdt_row_read(self->statement, &row, &gpu);
    rc = good ? SQLITE_OK : sqlite3_errcode(file->db);
    if (rc == SQLITE_NOMEM) return rdt_sqlite_fail(file, "read", rc, err);
    self->unfit += !good;
    return good ? pass_on(self->to, &row, err) : REDTUNE_OK;
}

/* SQLite ends a text at an escaped one, as if the rest were not there. */
static bool has_nul(const char *line, size_t length) {
    for (const char *at = line, *end = line + length; at < end; at++) {
        if (!*at) return true;
        if (*at != '\\') continue;
        if (end - at >= 6 && !memcmp(at, "\\u0000", 6)) return true;
        at++; /* what is escaped begins no escape */
    }
    return false;
}

static redtune_status give_lines(lines *self, const char *data, size_t bytes, redtune_error *err) {
    const rdt_sqlite *file = &self->tuning.file;
    redtune_status status = REDTUNE_OK;
    const char *at = data, *end = data + bytes;
    for (int64_t number = 1; !status && at < end; number++) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        size_t length = (size_t)((newline ? newline : end) - at);
        if (length > LINE_BYTES_MAX || number > RDT_UNTRUSTED_ROWS_MAX)
            status = refuse_line(file, number, "is too long, or one too many", err);
        else if (has_nul(at, length))
            status = refuse_line(file, number, "has a NUL in it", err);
        else if (number == 1)
            status = read_first_line(self, at, length, err);
        else if (is_short(at, length))
            self->unfit++;
        else if (length)
            status = give_line(self, number, at, length, err);
        at += length + 1;
    }
    return status;
}

static redtune_status each_of_json(const char *name, const char *data, size_t bytes, counter *to,
                                   int64_t *unfit, redtune_error *err) {
    lines self = {.to = to};
    fuel left = {.steps = SCHEMA_STEPS + STEPS_PER_LINE_BYTE * (int64_t)bytes};
    redtune_status status = rdt_sqlite_open_blank(&self.tuning.file, &kind, name, err);
    if (status) return status;
    confine(self.tuning.file.db, &left, NULL);
    status = give_lines(&self, data, bytes, err);
    status = tell_if_burnt(&self.tuning.file, &left, status, err);
    *unfit = self.unfit;
    sqlite3_finalize(self.statement);
    rdt_sqlite_close(&self.tuning.file);
    return status;
}

redtune_status rdt_untrusted_each(const char *name, const void *data, size_t bytes,
                                  rdt_tuning_each_fn *each, void *user, int64_t *unfit,
                                  redtune_error *err) {
    counter to = {each, user, 0};
    int64_t strange = 0;
    bool json = bytes && *(const char *)data == '{';
    redtune_status status = (json ? each_of_json(name, data, bytes, &to, &strange, err)
                                  : each_of_database(name, data, bytes, &to, &strange, err));
    if (!status) *unfit = strange;
    return status;
}
