/* The schema of the tuning database, made from the lists of columns, and the steps from older
 * versions.
 */
#include "cache/schema.h"

#include <stddef.h>
#include "cache/columns.h"

/* "rdtT" in ASCII. */
#define TUNING_ID      0x72647454
#define TUNING_VERSION 4

/* ---- columns as SQL -------------------------------------------------------------------------- */

#define BETWEEN(value, least, most) " CHECK(" value " BETWEEN " #least " AND " #most ")"

#define SQL_TEXT(column, least, most) " TEXT NOT NULL" BETWEEN("length(" #column ")", least, most)
#define SQL_OP                        SQL_TEXT
#define SQL_DTYPE                     SQL_TEXT
#define SQL_LAYOUT                    SQL_TEXT
#define SQL_ORDER                     SQL_TEXT
#define SQL_OUTCOME                   SQL_TEXT
#define SQL_MASK                      SQL_TEXT
#define SQL_KEYED                     SQL_TEXT
#define SQL_SPREAD_OF                 SQL_TEXT
#define SQL_AXES                      SQL_LABEL
#define SQL_CACHE(column, ...)        " TEXT NOT NULL CHECK(" #column " IN ('cold', 'warm'))"
#define SQL_LABEL(column, _, most)    " TEXT NOT NULL CHECK(length(" #column ") <= " #most ")"
#define SQL_CAUSE(column, low, high)  " TEXT" BETWEEN("length(" #column ")", low, high)
#define SQL_KERNEL(column, _, most)   " TEXT CHECK(length(" #column ") = " #most ")"

#define SQL_INTEGER(column, least, most) " INTEGER NOT NULL" BETWEEN(#column, least, most)
#define SQL_COUNT                        SQL_INTEGER
#define SQL_EXTENT                       SQL_INTEGER
#define SQL_FLAG(column, ...)            " INTEGER NOT NULL CHECK(" #column " IN (0, 1))"
#define SQL_DATE(column, ...)            " INTEGER NOT NULL CHECK(" #column " >= 0)"
#define SQL_CLOCK(column, least, most)   " INTEGER" BETWEEN(#column, least, most)
#define SQL_PLACE                        SQL_CLOCK
#define SQL_CONDITION                    SQL_CLOCK
#define SQL_SAMPLES                      SQL_CLOCK
#define SQL_BITS(column, ...)            " INTEGER CHECK(" #column " >= 0)"

#define SQL_TIME(column, ...)   " REAL CHECK(" #column " > 0 AND " #column " <= 1e15)"
#define SQL_SPREAD(column, ...) " REAL CHECK(" #column " BETWEEN 0 AND 1e15)"

#define COLUMN(kind, column, least, most, field, note, before)                                     \
    "  " #column SQL_##kind(column, least, most) "," note "\n"

/* ---- the present version --------------------------------------------------------------------- */

static const char gpu_sql[] =
    "CREATE TABLE gpu( -- GPU models, told apart by all columns but id\n"
    "  id INTEGER PRIMARY KEY,\n" RDT_GPU_LIST(
        COLUMN) "  UNIQUE(name, major, minor, sm_count, l2_bytes, bus_bits, memory_khz)\n"
                ") STRICT";

static const char origin_sql[] =
    "CREATE TABLE origin( -- what measurements were made with\n"
    "  id INTEGER PRIMARY KEY,\n" RDT_ORIGIN_LIST(
        COLUMN) "  UNIQUE(machine, driver_version, nvrtc_version, templates)\n"
                ") STRICT";

static const char import_sql[] =
    "CREATE TABLE import( -- files whose measurements were taken into this one\n"
    "  id INTEGER PRIMARY KEY,\n"
    "  source TEXT NOT NULL CHECK(length(source) <= 255), -- its name\n"
    "  date INTEGER NOT NULL CHECK(date >= 0) -- seconds since 1970, UTC\n"
    ") STRICT";

#define MEASUREMENT(columns)                                                                       \
    "CREATE TABLE measurement( -- one candidate, tried once\n"                                     \
    "  id INTEGER PRIMARY KEY,\n"                                                                  \
    "  gpu INTEGER NOT NULL REFERENCES gpu(id),\n"                                                 \
    "  origin INTEGER NOT NULL REFERENCES origin(id),\n" columns                                   \
    "  import INTEGER REFERENCES import(id), -- NULL: measured into this file\n"                   \
    "  CHECK((outcome = 'good') = (median_ns IS NOT NULL)\n"                                       \
    "    AND (outcome = 'good') = (spread_ns IS NOT NULL)\n"                                       \
    "    AND (outcome = 'good') = (samples IS NOT NULL))\n"                                        \
    ") STRICT"

static const char measurement_sql[] = MEASUREMENT(RDT_MEASUREMENT_LIST(COLUMN));

/* Finds the rows of a problem by its class, cache state, GPU and extents; the others tell, without
 * a look at the rows, which of them may have a say in who wins. */
static const char measurement_by_problem_sql[] =
    "CREATE INDEX measurement_by_problem ON measurement(\n"
    "  op, dtype, result, layout, ordering, mask, key_dtype, spread, cache_state, gpu, count, "
    "kept,\n"
    "  reduced, greatest, median, keys, origin, outcome, samples, is_default)";

static const rdt_schema_object objects[] = {
    {"table", "gpu", "gpu", gpu_sql},
    {"table", "origin", "origin", origin_sql},
    {"table", "import", "import", import_sql},
    {"table", "measurement", "measurement", measurement_sql},
    {"index", "measurement_by_problem", "measurement", measurement_by_problem_sql},
    {NULL, NULL, NULL, NULL},
};

/* ---- version 3: extents in place of axes ----------------------------------------------------- */

#define EXTENTS_3                                                                                  \
    COLUMN(EXTENT, outer, 1, 1152921504606846976, , " -- results are outer * inner", )             \
    COLUMN(EXTENT, inner, 1, 1152921504606846976, , "", )                                          \
    COLUMN(EXTENT, outer_step, 0, 1152921504606846976, , " -- elements; 0: packed", )              \
    COLUMN(EXTENT, step, 0, 1152921504606846976, , "", )
#define COLUMN_3(kind, column, least, most, field, note, before)                                   \
    RDT_BEFORE_##before(RDT_PICK_HAS_3,                                                            \
                        "  " #column SQL_##kind(column, least, most) "," note "\n", EXTENTS_3,     \
                        RDT_COLUMN_SELF)
static const char measurement_3_sql[] = MEASUREMENT(RDT_MEASUREMENT_LIST(COLUMN_3));

static const char measurement_by_problem_3_sql[] =
    "CREATE INDEX measurement_by_problem ON measurement(\n"
    "  op, dtype, result, layout, ordering, cache_state, gpu, count, outer, inner, outer_step,\n"
    "  step, origin, outcome, samples, is_default)";

static const rdt_schema_object objects_3[] = {
    {"table", "gpu", "gpu", gpu_sql},
    {"table", "origin", "origin", origin_sql},
    {"table", "import", "import", import_sql},
    {"table", "measurement", "measurement", measurement_3_sql},
    {"index", "measurement_by_problem", "measurement", measurement_by_problem_3_sql},
    {NULL, NULL, NULL, NULL},
};

/* A table that is renamed gets another text, so the new one is made under its own name. Rows that
 * refer to nothing could not be read before either. */
#define MAKE_AWAY(table)                                                                           \
    "DROP INDEX measurement_by_problem", "ALTER TABLE measurement RENAME TO " table
#define FILL(columns, values, table)                                                               \
    "INSERT INTO measurement(id, import, gpu, origin" columns                                      \
    ") SELECT id, import, gpu, origin" values " FROM " table " WHERE gpu IN (SELECT id FROM gpu)"  \
    " AND origin IN (SELECT id FROM origin)",                                                      \
        "DROP TABLE " table

static const char *const step_3[] = {
    MAKE_AWAY("measurement_3"),
    measurement_sql,
    FILL(RDT_MEASUREMENT_LIST(RDT_COLUMN_NAME), RDT_MEASUREMENT_LIST(RDT_COLUMN_FROM_3),
         "measurement_3"),
    measurement_by_problem_sql,
    NULL,
};

/* ---- version 2: whole arrays only, and no kernels -------------------------------------------- */

#define COLUMN_2(kind, column, least, most, field, note, before)                                   \
    RDT_BEFORE_##before(RDT_PICK_HAS_2,                                                            \
                        "  " #column SQL_##kind(column, least, most) "," note "\n", "",            \
                        RDT_COLUMN_SELF)

static const char measurement_2_sql[] = MEASUREMENT(RDT_MEASUREMENT_LIST(COLUMN_2));

static const char measurement_by_problem_2_sql[] =
    "CREATE INDEX measurement_by_problem ON measurement(\n"
    "  op, dtype, result, cache_state, gpu, count, origin, outcome, samples, is_default)";

static const rdt_schema_object objects_2[] = {
    {"table", "gpu", "gpu", gpu_sql},
    {"table", "origin", "origin", origin_sql},
    {"table", "import", "import", import_sql},
    {"table", "measurement", "measurement", measurement_2_sql},
    {"index", "measurement_by_problem", "measurement", measurement_by_problem_2_sql},
    {NULL, NULL, NULL, NULL},
};

/* To version 3. */
static const char *const step_2[] = {
    MAKE_AWAY("measurement_2"),
    measurement_3_sql,
    FILL(RDT_MEASUREMENT_LIST(RDT_COLUMN_IN_2) ", layout, ordering, outer, inner, outer_step, step",
         RDT_MEASUREMENT_LIST(RDT_COLUMN_IN_2) ", 'whole', 'free', 1, 1, 0, 0", "measurement_2"),
    measurement_by_problem_3_sql,
    NULL,
};

static const rdt_schema_version past[] = {
    {2, objects_2, step_2},
    {3, objects_3, step_3},
    {0, NULL, NULL},
};

const rdt_schema rdt_schema_tuning = {
    .application_id = TUNING_ID,
    .version = TUNING_VERSION,
    .stamp = RDT_SCHEMA_STAMP(TUNING_ID, TUNING_VERSION),
    .objects = objects,
    .past = past,
};
