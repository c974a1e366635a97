/* Schema: the exact text of both database files, and the check that a file has it.
 *
 * The text is compared byte for byte, comments included: to change it is to make a new version. */
#include "cache/schema.h"

#include <string.h>
#include "cache/sqlite.h"

#define TEXT_OF(number) #number
#define STAMP(id, version)                                                                         \
    "PRAGMA application_id=" TEXT_OF(id) "; PRAGMA user_version=" TEXT_OF(version)

/* "rdtT" and "rdtK" in ASCII. */
#define TUNING_ID       0x72647454
#define TUNING_VERSION  1
#define KERNELS_ID      0x7264744b
#define KERNELS_VERSION 1

static const char gpu_sql[] =
    "CREATE TABLE gpu( -- GPU models, told apart by all columns but id\n"
    "  id INTEGER PRIMARY KEY,\n"
    "  name TEXT NOT NULL CHECK(length(name) BETWEEN 1 AND 95),\n"
    "  major INTEGER NOT NULL CHECK(major BETWEEN 0 AND 999), -- compute capability\n"
    "  minor INTEGER NOT NULL CHECK(minor BETWEEN 0 AND 999),\n"
    "  sm_count INTEGER NOT NULL CHECK(sm_count BETWEEN 1 AND 1000000),\n"
    "  l2_bytes INTEGER NOT NULL CHECK(l2_bytes BETWEEN 0 AND 1099511627776),\n"
    "  bus_bits INTEGER NOT NULL CHECK(bus_bits BETWEEN 0 AND 1000000), -- 0: unknown\n"
    "  memory_khz INTEGER NOT NULL CHECK(memory_khz BETWEEN 0 AND 1000000000), -- 0: unknown\n"
    "  UNIQUE(name, major, minor, sm_count, l2_bytes, bus_bits, memory_khz)\n"
    ") STRICT";

static const char origin_sql[] =
    "CREATE TABLE origin( -- what measurements were made with\n"
    "  id INTEGER PRIMARY KEY,\n"
    "  machine TEXT NOT NULL CHECK(length(machine) <= 63), -- the user's label, '' by default\n"
    "  driver_version INTEGER NOT NULL CHECK(driver_version BETWEEN 0 AND 1000000000),\n"
    "  nvrtc_version INTEGER NOT NULL CHECK(nvrtc_version BETWEEN 0 AND 1000000000),\n"
    "  templates TEXT NOT NULL CHECK(length(templates) <= 39), -- hash of their source\n"
    "  UNIQUE(machine, driver_version, nvrtc_version, templates)\n"
    ") STRICT";

static const char measurement_sql[] =
    "CREATE TABLE measurement( -- one candidate, tried once\n"
    "  id INTEGER PRIMARY KEY,\n"
    "  gpu INTEGER NOT NULL REFERENCES gpu(id),\n"
    "  origin INTEGER NOT NULL REFERENCES origin(id),\n"
    "  op TEXT NOT NULL CHECK(length(op) BETWEEN 1 AND 31),\n"
    "  dtype TEXT NOT NULL CHECK(length(dtype) BETWEEN 1 AND 31),\n"
    "  result TEXT NOT NULL CHECK(length(result) BETWEEN 1 AND 31), -- dtype of the result\n"
    "  count INTEGER NOT NULL CHECK(count BETWEEN 0 AND 1152921504606846976), -- elements\n"
    "  cache_state TEXT NOT NULL CHECK(cache_state IN ('cold', 'warm')), -- L2 at the start\n"
    "  family TEXT NOT NULL CHECK(length(family) BETWEEN 1 AND 31), -- template\n"
    "  config TEXT NOT NULL CHECK(length(config) <= 255), -- its parameters\n"
    "  is_default INTEGER NOT NULL CHECK(is_default IN (0, 1)), -- the built-in default then\n"
    "  outcome TEXT NOT NULL CHECK(length(outcome) BETWEEN 1 AND 31),\n"
    "  median_ns REAL CHECK(median_ns > 0 AND median_ns <= 1e15), -- per call; NULL unless good\n"
    "  spread_ns REAL CHECK(spread_ns BETWEEN 0 AND 1e15), -- half the interquartile range\n"
    "  samples INTEGER CHECK(samples BETWEEN 1 AND 1000000000), -- behind the median\n"
    "  date INTEGER NOT NULL CHECK(date >= 0), -- seconds since 1970, UTC\n"
    "  CHECK((outcome = 'good') = (median_ns IS NOT NULL)\n"
    "    AND (outcome = 'good') = (spread_ns IS NOT NULL)\n"
    "    AND (outcome = 'good') = (samples IS NOT NULL))\n"
    ") STRICT";

/* Serves rdt_tuning_each by its first four columns and the winners by all. */
static const char measurement_by_problem_sql[] =
    "CREATE INDEX measurement_by_problem ON measurement(\n"
    "  op, dtype, result, cache_state, count, gpu, outcome, samples)";

static const rdt_schema_object tuning_objects[] = {
    {"table", "gpu", "gpu", gpu_sql},
    {"table", "origin", "origin", origin_sql},
    {"table", "measurement", "measurement", measurement_sql},
    {"index", "measurement_by_problem", "measurement", measurement_by_problem_sql},
    {NULL, NULL, NULL, NULL},
};

const rdt_schema rdt_schema_tuning = {
    .application_id = TUNING_ID,
    .version = TUNING_VERSION,
    .stamp = STAMP(TUNING_ID, TUNING_VERSION),
    .objects = tuning_objects,
};

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
    .stamp = STAMP(KERNELS_ID, KERNELS_VERSION),
    .objects = kernels_objects,
};

redtune_status rdt_schema_create(rdt_sqlite *file, redtune_error *err) {
    const rdt_schema *schema = file->kind->schema;
    redtune_status status = rdt_sqlite_run(file, "create", schema->stamp, err);
    for (const rdt_schema_object *object = schema->objects; !status && object->name; object++)
        status = rdt_sqlite_run(file, "create", object->sql, err);
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
    return rdt_sqlite_refuse(file, "its tables are not those of this version of redtune", err);
}

/* Sets the bit of the object that the row is. */
static redtune_status see_object(const rdt_sqlite *file, sqlite3_stmt *row, unsigned *seen,
                                 redtune_error *err) {
    int i = find_object(file->kind->schema->objects, row);
    int rc = sqlite3_errcode(file->db);
    if (i < 0 && rc == SQLITE_NOMEM) return rdt_sqlite_fail(file, "open", rc, err);
    if (i < 0 || *seen & 1u << i) return refuse(file, err);
    *seen |= 1u << i;
    return REDTUNE_OK;
}

redtune_status rdt_schema_check(rdt_sqlite *file, redtune_error *err) {
    /* The indexes behind UNIQUE have no text of their own. */
    static const char sql[] = "SELECT type, name, tbl_name, sql FROM sqlite_schema"
                              " WHERE sql IS NOT NULL OR type <> 'index'";
    unsigned seen = 0, all = 0;
    for (int i = 0; file->kind->schema->objects[i].name; i++) all |= 1u << i;

    sqlite3_stmt *row = NULL;
    int rc = sqlite3_prepare_v2(file->db, sql, -1, &row, NULL);
    redtune_status status = rc ? rdt_sqlite_fail(file, "open", rc, err) : REDTUNE_OK;
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
