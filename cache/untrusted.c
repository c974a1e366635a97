/* Untrusted: reading rows from bytes that anybody may have made. */
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
#include "cache/tuning_inside.h"

enum { LINE_BYTES_MAX = 65536, STEPS_PER_CALL = 10000 };

/* ---- the bytes ----------------------------------------------------------------------------- */

static redtune_status cannot_read(const char *path, const char *reason, int code,
                                  redtune_error *err) {
    return rdt_fail(err, REDTUNE_FILE, code, "cannot import %.400s: %s", path, reason);
}

static redtune_status read_all(int descriptor, const char *path, void **data, size_t *bytes,
                               redtune_error *err) {
    rdt_text text = {0};
    char chunk[65536];
    ssize_t got;
    redtune_status status = REDTUNE_OK;
    while (!status && (got = read(descriptor, chunk, sizeof chunk)) != 0) {
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) status = cannot_read(path, strerror(errno), errno, err);
        if (!status) rdt_text_add_bytes(&text, chunk, (size_t)got);
        if (!status && text.length > RDT_UNTRUSTED_BYTES_MAX)
            status = cannot_read(path, "it is larger than 256 MiB; export less of it", 0, err);
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
        bool there = beside.data && rdt_file_exists(beside.data);
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
    if (!strcmp(path, "-")) return read_all(STDIN_FILENO, "standard input", data, bytes, err);
    int descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    if (descriptor < 0) return cannot_read(path, strerror(errno), errno, err);
    redtune_status status = REDTUNE_OK;
    if (fstat(descriptor, &info))
        status = cannot_read(path, strerror(errno), errno, err);
    else if (!S_ISREG(info.st_mode))
        status = cannot_read(path, "it is not a regular file", 0, err);
    else if (info.st_size > RDT_UNTRUSTED_BYTES_MAX)
        status = cannot_read(path, "it is larger than 256 MiB; export less of it", 0, err);
    if (!status) status = refuse_company(path, err);
    if (!status) status = read_all(descriptor, path, data, bytes, err);
    close(descriptor);
    return status;
}

/* ---- what may happen on the connection ----------------------------------------------------- */

static const char *const allowed_tables[] = {"gpu",    "origin",        "measurement",
                                             "import", "sqlite_master", "sqlite_schema"};
static const char *const allowed_functions[] = {"count", "length", "json_extract", "json_type",
                                                "json_remove"};
static const char *const allowed_pragmas[] = {"integrity_check", "user_version"};

static bool is_among(const char *name, const char *const *list, size_t count) {
    for (size_t i = 0; name && i < count; i++)
        if (!strcmp(name, list[i])) return true;
    return false;
}

#define IS_AMONG(name, list) is_among(name, list, sizeof(list) / sizeof *(list))

static int authorize(void *user, int action, const char *a, const char *b, const char *database,
                     const char *trigger) {
    (void)user, (void)database, (void)trigger;
    bool good = action == SQLITE_SELECT || (action == SQLITE_READ && IS_AMONG(a, allowed_tables)) ||
                (action == SQLITE_FUNCTION && IS_AMONG(b, allowed_functions)) ||
                (action == SQLITE_PRAGMA && IS_AMONG(a, allowed_pragmas));
    return good ? SQLITE_OK : SQLITE_DENY;
}

/* Ends what takes longer than honest content of this size can. */
typedef struct fuel {
    int64_t calls;
} fuel;

static int burn(void *user) {
    fuel *left = user;
    return --left->calls < 0;
}

static void confine(sqlite3 *db, size_t bytes, fuel *left) {
    static const struct {
        int id, value;
    } limits[] = {
        {SQLITE_LIMIT_LENGTH, 2000000},
        {SQLITE_LIMIT_SQL_LENGTH, 20000},
        {SQLITE_LIMIT_COLUMN, 64},
        {SQLITE_LIMIT_EXPR_DEPTH, 50},
        {SQLITE_LIMIT_COMPOUND_SELECT, 2},
        {SQLITE_LIMIT_VDBE_OP, 25000},
        {SQLITE_LIMIT_FUNCTION_ARG, 32},
        {SQLITE_LIMIT_ATTACHED, 0},
        {SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 50},
        {SQLITE_LIMIT_VARIABLE_NUMBER, 8},
        {SQLITE_LIMIT_TRIGGER_DEPTH, 1},
        {SQLITE_LIMIT_WORKER_THREADS, 0},
    };
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        sqlite3_limit(db, limits[i].id, limits[i].value);
    left->calls = 1000 + (int64_t)(bytes * 16 / STEPS_PER_CALL);
    sqlite3_progress_handler(db, STEPS_PER_CALL, burn, left);
    sqlite3_set_authorizer(db, authorize, NULL);
}

static const rdt_sqlite_kind kind = {
    .what = "imported file",
    .remedy = "ask for another export of it",
    .schema = &rdt_schema_tuning,
};

/* ---- a database ---------------------------------------------------------------------------- */

static redtune_status check_integrity(rdt_sqlite *file, redtune_error *err) {
    sqlite3_stmt *check = NULL;
    bool good = false;
    int rc = sqlite3_prepare_v2(file->db, "PRAGMA integrity_check(1)", -1, &check, NULL);
    if (!rc) rc = sqlite3_step(check);
    if (rc == SQLITE_ROW) {
        const char *text = (const char *)sqlite3_column_text(check, 0);
        good = text && !strcmp(text, "ok");
        rc = SQLITE_OK;
    }
    int ended = sqlite3_finalize(check);
    if (rc == SQLITE_NOMEM || ended == SQLITE_NOMEM)
        return rdt_sqlite_fail(file, "open", SQLITE_NOMEM, err);
    return good ? REDTUNE_OK : rdt_sqlite_refuse(file, "its content is damaged", err);
}

static redtune_status count_rows(rdt_sqlite *file, int64_t *count, redtune_error *err) {
    sqlite3_stmt *statement = NULL;
    int rc = sqlite3_prepare_v2(file->db, "SELECT count(*) FROM measurement", -1, &statement, NULL);
    if (!rc) rc = sqlite3_step(statement);
    redtune_status status = REDTUNE_OK;
    if (rc == SQLITE_ROW)
        *count = sqlite3_column_int64(statement, 0);
    else
        status = rdt_sqlite_fail(file, "read", rc, err);
    sqlite3_finalize(statement);
    if (status) return status;
    return *count <= RDT_UNTRUSTED_ROWS_MAX
               ? REDTUNE_OK
               : rdt_sqlite_refuse(file, "it has more than a million rows", err);
}

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
    sqlite3_stmt *statement = NULL;
    int64_t count = 0, strange = 0;
    redtune_status status = count_rows(&tuning->file, &count, err);
    if (status) return status;
    int rc = sqlite3_prepare_v2(tuning->file.db, sql, -1, &statement, NULL);
    if (rc) status = rdt_sqlite_fail(&tuning->file, "read", rc, err);
    if (!status) status = rdt_tuning_give_rows(tuning, statement, pass_on, to, &strange, err);
    sqlite3_finalize(statement);
    /* What refers to no GPU or origin is not even seen. */
    *unfit = count - to->given;
    return status;
}

static redtune_status each_of_database(const char *name, const void *data, size_t bytes,
                                       counter *to, int64_t *unfit, redtune_error *err) {
    rdt_tuning tuning = {.empty = false};
    fuel left;
    redtune_status status = rdt_sqlite_open_bytes(&tuning.file, &kind, name, data, bytes, err);
    if (status) return status;
    confine(tuning.file.db, bytes, &left);
    status = rdt_schema_check(&tuning.file, err);
    if (!status) status = check_integrity(&tuning.file, err);
    if (!status && rdt_schema_is_past(&tuning.file)) {
        status = rdt_sqlite_load(&tuning.file, err);
        if (!status) status = rdt_schema_migrate(&tuning.file, err);
        if (!status) confine(tuning.file.db, bytes, &left);
    }
    if (!status) status = give_database(&tuning, to, unfit, err);
    rdt_sqlite_close(&tuning.file);
    return status;
}

/* ---- JSON lines ---------------------------------------------------------------------------- */

/* clang-format off */
#define MEMBER(name) "json_extract(?1, '$." name "')"
/* A time may be written without a point, and is a REAL all the same; a string is none. */
#define TIME(name)                                                                                 \
    "CASE json_type(?1, '$." name "') WHEN 'integer' THEN " MEMBER(name) " + 0.0"                  \
    " ELSE " MEMBER(name) " END"

/* The columns of RDT_ROW_COLUMNS, and what is left of the object without them. */
static const char line_sql[] = "SELECT "
    MEMBER("op") ", " MEMBER("dtype") ", " MEMBER("result") ", "
    MEMBER("count") ", " MEMBER("cache_state") ", " MEMBER("family") ", "
    MEMBER("config") ", " MEMBER("is_default") ", " MEMBER("outcome") ", "
    TIME("median_ns") ", " TIME("spread_ns") ", " MEMBER("samples") ", "
    MEMBER("place") ", " MEMBER("cause") ", " MEMBER("sm_mhz") ", "
    MEMBER("memory_mhz") ", " MEMBER("temperature_c") ", " MEMBER("throttle") ", "
    MEMBER("others") ", " MEMBER("date") ", NULL, "
    MEMBER("gpu") ", " MEMBER("major") ", " MEMBER("minor") ", "
    MEMBER("sm_count") ", " MEMBER("l2_bytes") ", " MEMBER("bus_bits") ", "
    MEMBER("memory_khz") ", " MEMBER("machine") ", " MEMBER("driver_version") ", "
    MEMBER("nvrtc_version") ", " MEMBER("templates") ", 0, "
    "json_remove(?1, '$.op', '$.dtype', '$.result', '$.count', '$.cache_state', '$.family'"
    ", '$.config', '$.is_default', '$.outcome', '$.median_ns', '$.spread_ns', '$.samples'"
    ", '$.place', '$.cause', '$.sm_mhz', '$.memory_mhz', '$.temperature_c', '$.throttle'"
    ", '$.others', '$.date', '$.gpu', '$.major', '$.minor', '$.sm_count', '$.l2_bytes'"
    ", '$.bus_bits', '$.memory_khz', '$.machine', '$.driver_version', '$.nvrtc_version'"
    ", '$.templates')";
/* clang-format on */

enum { LINE_REST_COLUMN = 33 };

static redtune_status refuse_line(const rdt_sqlite *file, int64_t line, const char *reason,
                                  redtune_error *err) {
    char text[160];
    snprintf(text, sizeof text, "line %lld %s", (long long)line, reason);
    return rdt_sqlite_refuse(file, text, err);
}

/* {"redtune_tuning":2} */
static redtune_status check_first_line(const rdt_sqlite *file, const char *line, size_t length,
                                       redtune_error *err) {
    static const char begin[] = "{\"redtune_tuning\":";
    size_t prefix = sizeof begin - 1;
    int64_t version;
    while (length && strchr(" \r\t", line[length - 1])) length--;
    if (length <= prefix + 1 || memcmp(line, begin, prefix) || line[length - 1] != '}' ||
        !rdt_text_to_int64(line + prefix, length - prefix - 1, &version))
        return rdt_sqlite_refuse(file, "it is neither an SQLite file nor JSON lines of redtune",
                                 err);
    if (version == rdt_schema_tuning.version) return REDTUNE_OK;
    return rdt_sqlite_refuse(
        file, "it is of another version than this redtune writes; update the older one", err);
}

static redtune_status give_line(rdt_tuning *tuning, sqlite3_stmt *statement, int64_t number,
                                const char *line, size_t length, counter *to, int64_t *unfit,
                                redtune_error *err) {
    rdt_row row;
    int64_t gpu;
    sqlite3_reset(statement);
    int rc = sqlite3_bind_text64(statement, 1, line, length, SQLITE_STATIC, SQLITE_UTF8);
    if (!rc) rc = sqlite3_step(statement);
    if (rc == SQLITE_NOMEM) return rdt_sqlite_fail(&tuning->file, "read", rc, err);
    if (rc != SQLITE_ROW) return refuse_line(&tuning->file, number, "is no JSON object", err);
    const char *rest = (const char *)sqlite3_column_text(statement, LINE_REST_COLUMN);
    bool good = rest && !strcmp(rest, "{}") && rdt_row_read(statement, &row, &gpu);
    if (!good) ++*unfit;
    return good ? pass_on(to, &row, err) : REDTUNE_OK;
}

static redtune_status give_lines(rdt_tuning *tuning, sqlite3_stmt *statement, const char *data,
                                 size_t bytes, counter *to, int64_t *unfit, redtune_error *err) {
    redtune_status status = REDTUNE_OK;
    const char *at = data, *end = data + bytes;
    for (int64_t number = 1; !status && at < end; number++) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        size_t length = (size_t)((newline ? newline : end) - at);
        if (length > LINE_BYTES_MAX || number > RDT_UNTRUSTED_ROWS_MAX)
            status = refuse_line(&tuning->file, number, "is too long, or one too many", err);
        else if (memchr(at, '\0', length))
            status = refuse_line(&tuning->file, number, "has a NUL in it", err);
        else if (number == 1)
            status = check_first_line(&tuning->file, at, length, err);
        else if (length)
            status = give_line(tuning, statement, number, at, length, to, unfit, err);
        at += length + 1;
    }
    return status;
}

static redtune_status each_of_json(const char *name, const char *data, size_t bytes, counter *to,
                                   int64_t *unfit, redtune_error *err) {
    rdt_tuning tuning = {.empty = false};
    sqlite3_stmt *statement = NULL;
    fuel left;
    redtune_status status = rdt_sqlite_open_blank(&tuning.file, &kind, name, err);
    if (status) return status;
    confine(tuning.file.db, bytes, &left);
    int rc = sqlite3_prepare_v2(tuning.file.db, line_sql, -1, &statement, NULL);
    if (rc) status = rdt_sqlite_fail(&tuning.file, "read", rc, err);
    if (!status) status = give_lines(&tuning, statement, data, bytes, to, unfit, err);
    sqlite3_finalize(statement);
    rdt_sqlite_close(&tuning.file);
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
