/* Schema: the text of the kernel cache, and the check that a file has the text of its kind.
 *
 * The text is compared byte for byte, comments included: to change it is to make a new version. */
#include "cache/schema.h"

#include <string.h>
#include "cache/sqlite.h"

/* "rdtK" in ASCII. */
#define KERNELS_ID      0x7264744b
#define KERNELS_VERSION 1

/* The content comes last: what stands before it is read without it. */
static const char kernel_sql[] =
    "CREATE TABLE kernel( -- compiled kernels\n"
    "  key TEXT NOT NULL UNIQUE, -- hash of source, architecture and compiler\n"
    "  bytes INTEGER NOT NULL CHECK(bytes = length(content)),\n"
    "  ptx INTEGER NOT NULL CHECK(ptx IN (0, 1)), -- 1: PTX text, 0: cubin\n"
    "  hash TEXT NOT NULL, -- of key, ptx and content\n"
    "  used INTEGER NOT NULL, -- last use to within an hour, seconds since 1970, UTC\n"
    "  content BLOB NOT NULL\n"
    ") STRICT";

static const char kernel_by_used_sql[] = "CREATE INDEX kernel_by_used ON kernel(used)";

static const rdt_schema_object kernels_objects[] = {
    {"table", "kernel", "kernel", kernel_sql},
    {"index", "kernel_by_used", "kernel", kernel_by_used_sql},
    {NULL, NULL, NULL, NULL},
};

const rdt_schema rdt_schema_kernels = {
    .application_id = KERNELS_ID,
    .version = KERNELS_VERSION,
    .stamp = RDT_SCHEMA_STAMP(KERNELS_ID, KERNELS_VERSION),
    .objects = kernels_objects,
};

/* SQLite's own, which ANALYZE and PRAGMA optimize make, or AUTOINCREMENT. They hold nothing of
 * redtune's, and only advise SQLite. */
static const rdt_schema_object sqlites_own[] = {
    {"table", "sqlite_stat1", "sqlite_stat1", "CREATE TABLE sqlite_stat1(tbl,idx,stat)"},
    {"table", "sqlite_stat4", "sqlite_stat4",
     "CREATE TABLE sqlite_stat4(tbl,idx,neq,nlt,ndlt,sample)"},
    {"table", "sqlite_sequence", "sqlite_sequence", "CREATE TABLE sqlite_sequence(name,seq)"},
    {NULL, NULL, NULL, NULL},
};

static const rdt_schema_object *objects_of(const rdt_sqlite *file) {
    const rdt_schema *schema = file->kind->schema;
    const rdt_schema_version *past = rdt_version_find_past(schema, file->version);
    return past ? past->objects : schema->objects;
}

bool rdt_schema_is_past(const rdt_sqlite *file) {
    return file->version < (uint32_t)file->kind->schema->version;
}

redtune_status rdt_schema_migrate(rdt_sqlite *file, redtune_error *err) {
    const rdt_schema *schema = file->kind->schema;
    const rdt_schema_version *past;
    redtune_status status = REDTUNE_OK;
    for (uint32_t at = file->version; !status && (past = rdt_version_find_past(schema, at)); at++)
        for (const char *const *sql = past->step; !status && *sql; sql++)
            status = rdt_sqlite_run(file, "update", *sql, err);
    if (!status) status = rdt_sqlite_run(file, "update", schema->stamp, err);
    if (!status) file->version = (uint32_t)schema->version;
    return status;
}

redtune_status rdt_schema_create(rdt_sqlite *file, redtune_error *err) {
    const rdt_schema *schema = file->kind->schema;
    redtune_status status = rdt_sqlite_run(file, "create", schema->stamp, err);
    for (const rdt_schema_object *object = schema->objects; !status && object->name; object++)
        status = rdt_sqlite_run(file, "create", object->sql, err);
    if (!status) file->version = (uint32_t)schema->version;
    return status;
}

static bool same_text(sqlite3_stmt *row, int column, const char *expected) {
    const char *text = (const char *)sqlite3_column_text(row, column);
    size_t bytes = (size_t)sqlite3_column_bytes(row, column);
    return text && bytes == strlen(expected) && !memcmp(text, expected, bytes);
}

/* The index of the object that the row is, or -1. */
static int find_object(const rdt_schema_object *objects, sqlite3_stmt *row) {
    for (int i = 0; objects[i].name; i++)
        if (same_text(row, 0, objects[i].type) && same_text(row, 1, objects[i].name) &&
            same_text(row, 2, objects[i].table) && same_text(row, 3, objects[i].sql))
            return i;
    return -1;
}

static redtune_status refuse(const rdt_sqlite *file, redtune_error *err) {
    return rdt_sqlite_fail_content(file, "its tables are not those of this version of redtune",
                                   err);
}

/* Sets the bit of the object that the row is. */
static redtune_status see_object(const rdt_sqlite *file, sqlite3_stmt *row, unsigned *seen,
                                 redtune_error *err) {
    int i = find_object(objects_of(file), row);
    bool none = i < 0 && find_object(sqlites_own, row) < 0;
    int rc = sqlite3_errcode(file->db);
    if (none && rc == SQLITE_NOMEM) return rdt_sqlite_fail(file, "open", rc, err);
    if (i < 0 && !none) return REDTUNE_OK;
    if (i < 0 || *seen & 1u << i) return refuse(file, err);
    *seen |= 1u << i;
    return REDTUNE_OK;
}

redtune_status rdt_schema_check(rdt_sqlite *file, redtune_error *err) {
    /* The indexes behind UNIQUE have no text of their own. */
    static const char sql[] = "SELECT type, name, tbl_name, sql FROM sqlite_schema"
                              " WHERE sql IS NOT NULL OR type <> 'index'";
    unsigned seen = 0, all = 0;
    for (int i = 0; objects_of(file)[i].name; i++) all |= 1u << i;

    sqlite3_stmt *row = NULL;
    redtune_status status = rdt_sqlite_prepare(file, "open", sql, &row, err);
    while (!status) {
        bool more = false;
        status = rdt_sqlite_step(file, "open", row, &more, err);
        if (status || !more) break;
        if (!seen) status = rdt_sqlite_check_length(file, err);
        if (!status) status = see_object(file, row, &seen, err);
    }
    if (!status && seen != all) status = refuse(file, err);
    sqlite3_finalize(row);
    return status;
}
