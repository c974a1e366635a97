/* The schema of the tuning database, version by version, and the steps between them. */
#include "cache/schema.h"

#include <stddef.h>

/* "rdtT" in ASCII. */
#define TUNING_ID      0x72647454
#define TUNING_VERSION 2

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

static const char import_sql[] =
    "CREATE TABLE import( -- files whose measurements were taken into this one\n"
    "  id INTEGER PRIMARY KEY,\n"
    "  source TEXT NOT NULL CHECK(length(source) <= 255), -- its name\n"
    "  date INTEGER NOT NULL CHECK(date >= 0) -- seconds since 1970, UTC\n"
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
    "  place INTEGER CHECK(place BETWEEN 0 AND 2147483646), -- in the template's space\n"
    "  cause TEXT CHECK(length(cause) BETWEEN 1 AND 159), -- why it is not good\n"
    "  sm_mhz INTEGER CHECK(sm_mhz BETWEEN 1 AND 1000000), -- clocks while it was timed\n"
    "  memory_mhz INTEGER CHECK(memory_mhz BETWEEN 1 AND 1000000),\n"
    "  temperature_c INTEGER CHECK(temperature_c BETWEEN 1 AND 1000),\n"
    "  throttle INTEGER CHECK(throttle >= 0), -- NVML's reasons for lower clocks, or'ed\n"
    "  others INTEGER CHECK(others BETWEEN 0 AND 1000000000), -- other processes on the GPU\n"
    "  date INTEGER NOT NULL CHECK(date >= 0), -- seconds since 1970, UTC\n"
    "  import INTEGER REFERENCES import(id), -- NULL: measured into this file\n"
    "  CHECK((outcome = 'good') = (median_ns IS NOT NULL)\n"
    "    AND (outcome = 'good') = (spread_ns IS NOT NULL)\n"
    "    AND (outcome = 'good') = (samples IS NOT NULL))\n"
    ") STRICT";

/* Finds the rows of a problem by its first six columns; the others tell, without a look at the
 * rows, which of them may have a say in who wins. */
static const char measurement_by_problem_sql[] =
    "CREATE INDEX measurement_by_problem ON measurement(\n"
    "  op, dtype, result, cache_state, gpu, count, origin, outcome, samples, is_default)";

static const rdt_schema_object objects[] = {
    {"table", "gpu", "gpu", gpu_sql},
    {"table", "origin", "origin", origin_sql},
    {"table", "import", "import", import_sql},
    {"table", "measurement", "measurement", measurement_sql},
    {"index", "measurement_by_problem", "measurement", measurement_by_problem_sql},
    {NULL, NULL, NULL, NULL},
};

/* ---- version 1: neither place, cause and conditions, nor imports ----------------------------- */

static const char measurement_1_sql[] =
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

static const char measurement_by_problem_1_sql[] =
    "CREATE INDEX measurement_by_problem ON measurement(\n"
    "  op, dtype, result, cache_state, count, gpu, outcome, samples)";

static const rdt_schema_object objects_1[] = {
    {"table", "gpu", "gpu", gpu_sql},
    {"table", "origin", "origin", origin_sql},
    {"table", "measurement", "measurement", measurement_1_sql},
    {"index", "measurement_by_problem", "measurement", measurement_by_problem_1_sql},
    {NULL, NULL, NULL, NULL},
};

#define COLUMNS_1                                                                                  \
    "id, gpu, origin, op, dtype, result, count, cache_state, family, config, is_default, outcome," \
    " median_ns, spread_ns, samples, date"

/* A table that is renamed gets another text, so the new one is made under its own name. Rows that
 * refer to nothing could not be read before either. */
static const char *const step_1[] = {
    "DROP INDEX measurement_by_problem",
    "ALTER TABLE measurement RENAME TO measurement_1",
    import_sql,
    measurement_sql,
    "INSERT INTO measurement(" COLUMNS_1 ") SELECT " COLUMNS_1 " FROM measurement_1"
    " WHERE gpu IN (SELECT id FROM gpu) AND origin IN (SELECT id FROM origin)",
    "DROP TABLE measurement_1",
    measurement_by_problem_sql,
    NULL,
};

static const rdt_schema_version past[] = {
    {1, objects_1, step_1},
    {0, NULL, NULL},
};

const rdt_schema rdt_schema_tuning = {
    .application_id = TUNING_ID,
    .version = TUNING_VERSION,
    .stamp = RDT_SCHEMA_STAMP(TUNING_ID, TUNING_VERSION),
    .objects = objects,
    .past = past,
};
