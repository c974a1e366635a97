/* Lines: measurements as JSON, from bytes that anybody may have made.
 *
 * Objects are found by their braces, and taken apart by SQLite on a database without content. Each
 * is bounded in length, and the steps that all of them take are bounded by the length of the whole.
 * A row that is wrong is refused with its line, the name of its column and the value. */
#include "cache/lines.h"

#include <stdio.h>
#include <string.h>
#include "cache/confine.h"
#include "cache/tuning_inside.h"
#include "redtune/tune.h"

/* The most steps; honest rows take 0.7 a byte. */
enum { SCHEMA_STEPS = 5000, STEPS_PER_BYTE = 2 };

static const char mark[] = "\357\273\277"; /* the byte-order mark */

/* ---- the members of a row -------------------------------------------------------------------- */

/* A member's value if it is one, NULL too; else a BLOB, which no column takes. */
#define MEMBER(name)                                                                               \
    ", CASE WHEN json_type(?1, '$." name "') IN ('text', 'integer', 'real', 'null')"               \
    " THEN json_extract(?1, '$." name "') ELSE x'' END"
#define MEMBER_OF(kind, column, least, most, field, note, before) MEMBER(#column)
#define VALUE_OF(column)                                          " json_extract(?1, '$." #column "') "
#define MEMBER_FROM_3(kind, column, least, most, field, note, before)                              \
    RDT_BEFORE_##before(RDT_PICK_IN_3, MEMBER(#column), "", VALUE_OF)
#define MEMBER_FROM_2(kind, column, least, most, field, note, before)                              \
    RDT_BEFORE_##before(RDT_PICK_IN_2, MEMBER(#column), "", VALUE_OF)
#define ONE_MORE(kind, column, least, most, field, note, before) +1
#define BYTES_OF(kind, column, least, most, field, note, before) +sizeof("\"" #column "\":0")

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
    {4, LINE(RDT_MEASUREMENT_LIST(MEMBER_OF)), LINE_MEMBERS},
    {3, LINE(RDT_MEASUREMENT_LIST(MEMBER_FROM_3)), LINE_MEMBERS - 4},
    {2, LINE(RDT_MEASUREMENT_LIST(MEMBER_FROM_2)), LINE_MEMBERS - 11},
};

/* The member that a row has too many; the first of them. */
#define QUOTED(kind, column, least, most, field, note, before) ", '" #column "'"
static const char extra_sql[] =
    "SELECT key FROM json_each(?1) WHERE key NOT IN ('gpu'" RDT_MEASUREMENT_LIST(QUOTED)
        RDT_GPU_FIGURE_LIST(QUOTED) RDT_ORIGIN_LIST(QUOTED) ") LIMIT 1";

static const char version_sql[] =
    "SELECT json_extract(?1, '$.redtune_tuning') FROM json_each(?1)"
    " WHERE json_type(?1, '$.redtune_tuning') = 'integer' GROUP BY 1 HAVING count(*) = 1";

/* Rows as they are read. */
typedef struct lines {
    rdt_tuning tuning;
    const char *at, *end;
    int64_t line;                /* that `at` is on */
    bool is_list;                /* all is in one */
    const line_version *version; /* NULL before the first object */
    sqlite3_stmt *statement;
    rdt_tuning_each_fn *each;
    rdt_refuse_fn *refuse;
    void *user;
} lines;

static redtune_status refuse_all(const lines *self, int64_t line, const char *reason,
                                 redtune_error *err) {
    char text[160];
    snprintf(text, sizeof text, "line %lld %s", (long long)line, reason);
    return rdt_sqlite_fail_kind(&self->tuning.file, text, err);
}

static redtune_status refuse_kind(const lines *self, redtune_error *err) {
    return rdt_sqlite_fail_kind(&self->tuning.file,
                                "it is neither an SQLite file nor JSON lines of redtune", err);
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* {"redtune_tuning":4} */
static redtune_status read_version(lines *self, const char *text, size_t length,
                                   redtune_error *err) {
    rdt_sqlite *file = &self->tuning.file;
    sqlite3_stmt *find = NULL;
    redtune_status status = rdt_sqlite_prepare(file, "read", version_sql, &find, err);
    if (status) return status;
    int rc = sqlite3_bind_text64(find, 1, text, length, SQLITE_STATIC, SQLITE_UTF8);
    if (!rc) rc = sqlite3_step(find);
    const int64_t version = rc == SQLITE_ROW ? sqlite3_column_int64(find, 0) : 0;
    sqlite3_finalize(find);
    if (rc == SQLITE_NOMEM) return rdt_sqlite_fail(file, "read", rc, err);
    if (rc != SQLITE_ROW) return refuse_kind(self, err);
    for (size_t i = 0; i < sizeof line_versions / sizeof *line_versions; i++)
        if (line_versions[i].version == version) self->version = &line_versions[i];
    if (!self->version)
        return rdt_sqlite_fail_kind(
            file, "it is of another version than this redtune knows; update the older one", err);
    return rdt_sqlite_prepare(file, "read", self->version->sql, &self->statement, err);
}

static void refuse_row(const lines *self, int64_t line, const char *reason, const char *value) {
    const rdt_refusal refusal = {reason, value, line, 1};
    self->refuse(self->user, &refusal);
}

/* Of a row that has not the members of one. */
static redtune_status refuse_members(lines *self, int64_t line, const char *text, size_t length,
                                     redtune_error *err) {
    sqlite3_stmt *find = NULL;
    char key[64] = "";
    redtune_status status = rdt_sqlite_prepare(&self->tuning.file, "read", extra_sql, &find, err);
    if (status) return status;
    int rc = sqlite3_bind_text64(find, 1, text, length, SQLITE_STATIC, SQLITE_UTF8);
    if (!rc && sqlite3_step(find) == SQLITE_ROW)
        rdt_text_copy_plain(key, sizeof key, (const char *)sqlite3_column_text(find, 0));
    sqlite3_finalize(find);
    refuse_row(self, line,
               *key ? "it has a member that is no column" : "a column is missing, or there twice",
               key);
    return REDTUNE_OK;
}

/* As the file has it, more or less. */
static void quote_value(sqlite3_stmt *statement, int column, char out[64]) {
    const int type = column < 0 ? SQLITE_NULL : sqlite3_column_type(statement, column);
    const char *text =
        type == SQLITE_NULL ? "null" : (const char *)sqlite3_column_text(statement, column);
    char plain[60];
    rdt_text_copy_plain(plain, sizeof plain, text ? text : "");
    if (type == SQLITE_BLOB)
        strcpy(out, "missing, or no text, number or null");
    else
        snprintf(out, 64, type == SQLITE_TEXT ? "'%s'" : "%s", column < 0 ? "" : plain);
}

static redtune_status give_row(lines *self, int64_t line, const char *text, size_t length,
                               redtune_error *err) {
    rdt_row row;
    int64_t gpu;
    char value[64];
    const rdt_sqlite *file = &self->tuning.file;
    sqlite3_stmt *read = self->statement;
    sqlite3_reset(read);
    int rc = sqlite3_bind_text64(read, 1, text, length, SQLITE_STATIC, SQLITE_UTF8);
    if (!rc) rc = sqlite3_step(read);
    if (rc == SQLITE_NOMEM) return rdt_sqlite_fail(file, "read", rc, err);
    if (rc != SQLITE_ROW || !sqlite3_column_int(read, LINE_OBJECT_COLUMN))
        return refuse_all(self, line, "is no JSON object", err);
    if (sqlite3_column_int(read, LINE_COUNT_COLUMN) != self->version->members)
        return refuse_members(self, line, text, length, err);
    const char *wrong = rdt_row_read_or_why(read, &row, &gpu);
    if (!wrong) {
        row.line = line;
        return self->each(self->user, &row, err);
    }
    rc = sqlite3_errcode(file->db);
    if (rc == SQLITE_NOMEM) return rdt_sqlite_fail(file, "read", rc, err);
    quote_value(read, rdt_row_column_of(wrong), value);
    refuse_row(self, line, wrong, value);
    return REDTUNE_OK;
}

/* ---- objects --------------------------------------------------------------------------------- */

static bool is_blank(char letter) {
    return letter == ' ' || letter == '\t' || letter == '\r' || letter == '\n';
}

static void pass_blanks(lines *self) {
    for (; self->at < self->end && is_blank(*self->at); self->at++) self->line += *self->at == '\n';
}

/* Behind the brace that closes the one at *at; NULL: none does before end. */
static const char *find_end(const char *at, const char *end) {
    int depth = 0;
    bool in_text = false;
    for (; at < end; at++) {
        if (in_text && *at == '\\')
            at++; /* what is escaped ends nothing */
        else if (*at == '"')
            in_text = !in_text;
        else if (!in_text && (*at == '{' || *at == '}') && (depth += *at == '{' ? 1 : -1) == 0)
            return at + 1;
    }
    return NULL;
}

/* SQLite ends a text at an escaped one, as if the rest were not there. */
static bool has_nul(const char *text, size_t length) {
    for (const char *at = text, *end = text + length; at < end; at++) {
        if (!*at) return true;
        if (*at != '\\') continue;
        if (end - at >= 6 && !memcmp(at, "\\u0000", 6)) return true;
        at++; /* what is escaped begins no escape */
    }
    return false;
}

/* The object at self->at, which it leaves behind. */
static redtune_status give_object(lines *self, redtune_error *err) {
    const char *text = self->at, *end = self->end;
    const int64_t line = self->line;
    if (end - text > RDT_CONFINE_TEXT_MAX) end = text + RDT_CONFINE_TEXT_MAX;
    if (*text != '{')
        return self->version ? refuse_all(self, line, "is no JSON object", err)
                             : refuse_kind(self, err);
    const char *after = find_end(text, end);
    if (!after && end < self->end) return refuse_all(self, line, "is too long", err);
    if (!after)
        return self->version ? refuse_all(self, line, "is no JSON object: it does not end", err)
                             : refuse_kind(self, err);
    for (self->at = text; self->at < after; self->at++) self->line += *self->at == '\n';
    const size_t length = (size_t)(after - text);
    if (has_nul(text, length)) return refuse_all(self, line, "has a NUL in it", err);
    if (!self->version) return read_version(self, text, length, err);
    /* One too short for the members of a row costs no step: there may be very many. */
    if (length >= LINE_BYTES_MIN) return give_row(self, line, text, length, err);
    refuse_row(self, line, "it has too few members for a row", "");
    return REDTUNE_OK;
}

/* What stands between two objects; *more: another one comes. */
static redtune_status pass_between(lines *self, bool *more, redtune_error *err) {
    const int64_t line = self->line;
    pass_blanks(self);
    const char next = self->at < self->end ? *self->at : '\0';
    *more = next != '\0';
    if (!self->is_list && next && self->line == line)
        return refuse_all(self, line, "is no JSON object: it has more behind it", err);
    if (!self->is_list) return REDTUNE_OK;
    if (next != ',' && next != ']')
        return refuse_all(self, self->line, "has neither ',' nor ']' behind a row", err);
    self->at++;
    pass_blanks(self);
    *more = next == ',' && self->at < self->end;
    if (*more == (next == ',') && (*more || self->at == self->end)) return REDTUNE_OK;
    return refuse_all(self, self->line, "does not end the list, or has more behind it", err);
}

static redtune_status give_objects(lines *self, redtune_error *err) {
    bool more = true;
    redtune_status status = REDTUNE_OK;
    if (self->end - self->at >= 3 && !memcmp(self->at, mark, 3)) self->at += 3;
    pass_blanks(self);
    self->is_list = self->at < self->end && *self->at == '[';
    self->at += self->is_list;
    pass_blanks(self);
    if (self->at == self->end) return refuse_kind(self, err);
    for (int64_t number = 0; !status && more; number++) {
        if (number > RDT_LINES_ROWS_MAX)
            return refuse_all(self, self->line, "is one row too many", err);
        status = give_object(self, err);
        if (!status) status = pass_between(self, &more, err);
    }
    return status;
}

bool rdt_lines_may_be(const char *data, size_t bytes) {
    const char *end = data + bytes;
    if (!memcmp(data, mark, bytes < 3 ? bytes : 3)) data += bytes < 3 ? bytes : 3;
    while (data < end && is_blank(*data)) data++;
    return data == end || *data == '{' || *data == '[';
}

redtune_status rdt_lines_each(const char *name, const char *data, size_t bytes,
                              rdt_tuning_each_fn *each, rdt_refuse_fn *refuse, void *user,
                              redtune_error *err) {
    lines self = {
        .at = data, .end = data + bytes, .line = 1, .each = each, .refuse = refuse, .user = user};
    rdt_fuel left = {.steps = SCHEMA_STEPS + STEPS_PER_BYTE * (int64_t)bytes};
    redtune_status status = rdt_sqlite_open_blank(&self.tuning.file, &rdt_confine_kind, name, err);
    if (status) return status;
    rdt_confine_begin(self.tuning.file.db, &left, NULL);
    status = give_objects(&self, err);
    status = rdt_confine_end(&self.tuning.file, &left, status, err);
    sqlite3_finalize(self.statement);
    rdt_sqlite_close(&self.tuning.file);
    return status;
}
