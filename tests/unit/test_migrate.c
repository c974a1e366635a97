/* Facts about databases of older versions: each step forward keeps every row. */
#define _GNU_SOURCE
#include "trials.h"

#include <limits.h>

/* A database as version 1 wrote it, to the letter. */
static const char version_1[] =
    "PRAGMA application_id=1919186004; PRAGMA user_version=1;"
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
    ") STRICT"
    ";\n"
    "CREATE TABLE origin( -- what measurements were made with\n"
    "  id INTEGER PRIMARY KEY,\n"
    "  machine TEXT NOT NULL CHECK(length(machine) <= 63), -- the user's label, '' by default\n"
    "  driver_version INTEGER NOT NULL CHECK(driver_version BETWEEN 0 AND 1000000000),\n"
    "  nvrtc_version INTEGER NOT NULL CHECK(nvrtc_version BETWEEN 0 AND 1000000000),\n"
    "  templates TEXT NOT NULL CHECK(length(templates) <= 39), -- hash of their source\n"
    "  UNIQUE(machine, driver_version, nvrtc_version, templates)\n"
    ") STRICT"
    ";\n"
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
    ") STRICT"
    ";\n"
    "CREATE INDEX measurement_by_problem ON measurement(\n"
    "  op, dtype, result, cache_state, count, gpu, outcome, samples)"
    ";\n"
    "INSERT INTO gpu VALUES(7, 'NVIDIA Test GPU', 9, 1, 132, 62914560, 6144, 3201000);"
    "INSERT INTO origin VALUES(5, 'bench 7', 13000, 12090, '00112233445566778899aabbccddeeff');"
    "INSERT INTO measurement VALUES"
    " (1, 7, 5, 'sum', 'f32', 'f32', 1024, 'cold', 'block', 'a', 1, 'good', 1500.5, 2.25, 31,"
    "  1700000000),"
    " (9, 7, 5, 'sum', 'f32', 'f32', 1024, 'cold', 'block', 'b', 0, 'good', 1400.5, 2.25, 31,"
    "  1700000001),"
    " (4, 7, 5, 'sum', 'f32', 'f32', 2048, 'cold', 'block', 'c', 0, 'hung', NULL, NULL, NULL,"
    "  1700000002);";

static bool make_version_1(void) {
    rdt_tuning_close(tuning);
    tuning = NULL;
    unlink(in_scratch("tuning.db"));
    return sql(version_1);
}

static bool rows_are_kept(void) {
    if (take_all(&sum_f32) != 3) return false;
    const rdt_row *row = taken.row;
    return !strcmp(row[0].trial.config, "a") && row[0].trial.median_ns == 1500.5 &&
           row[0].trial.is_default && row[0].date == 1700000000 && row[0].trial.order == INT_MAX &&
           !row[0].trial.cause[0] && !row[0].import && !row[0].trial.conditions.sm_mhz &&
           !strcmp(row[1].trial.config, "b") && row[2].trial.outcome == RDT_OUTCOME_HUNG &&
           !memcmp(&row[1].gpu, &trials_gpu, sizeof trials_gpu) &&
           !memcmp(&row[1].origin, &trials_origin, sizeof trials_origin) && winner() &&
           !strcmp(winner(), "b");
}

static void opening_takes_version_1_forward(void) {
    CHECK(make_version_1());
    CHECK_OK(rdt_tuning_open(in_scratch("tuning.db"), &tuning, &err), err);
    CHECK(rows_are_kept());
    CHECK_INT(ask("PRAGMA user_version"), 2);
    CHECK_INT(ask("SELECT id FROM measurement WHERE config = 'b'"), 9);
    CHECK(put_one(4096, "d", 10, 9));
    CHECK_INT(take_all(&sum_f32), 4);
    rdt_tuning_close(tuning);
    tuning = NULL;
    /* The schema's text is that of a new file, or this is refused. */
    CHECK_OK(rdt_tuning_open(in_scratch("tuning.db"), &tuning, &err), err);
    CHECK_INT(ask("SELECT count(*) FROM pragma_integrity_check WHERE integrity_check = 'ok'"), 1);
}

static void reading_version_1_leaves_the_file_as_it_is(void) {
    size_t bytes = 0;
    CHECK(make_version_1());
    char *before = read_bytes(in_scratch("tuning.db"), &bytes);
    CHECK_OK(rdt_tuning_open_read(in_scratch("tuning.db"), &tuning, &err), err);
    CHECK(rows_are_kept());
    CHECK(holds_bytes(in_scratch("tuning.db"), before, bytes));
    free(before);
}

static void a_file_that_only_says_it_is_of_version_1_is_refused(void) {
    CHECK(begin());
    CHECK(sql("PRAGMA user_version=1"));
    rdt_tuning_close(tuning);
    tuning = NULL;
    CHECK_FAILS(rdt_tuning_open(in_scratch("tuning.db"), &tuning, &err), REDTUNE_DATABASE, err,
                "its tables are not those");
    CHECK_INT(ask("PRAGMA user_version"), 1);
}

static bool open_and_put(int index) {
    rdt_trial trial = trials_make(8192, "more", 1000 + index, 9);
    bool good = !rdt_tuning_open(in_scratch("tuning.db"), &tuning, &err) &&
                !rdt_tuning_put(tuning, &trials_gpu, &trials_origin, &trial, 1, &err);
    if (!good) fprintf(stderr, "%s\n", err.message);
    return good;
}

static void many_processes_take_it_forward_once(void) {
    CHECK(make_version_1());
    CHECK(run_processes(8, open_and_put));
    CHECK_INT(ask("SELECT count(*) FROM measurement"), 11);
}

int main(int argc, char **argv) {
    static const check_fact facts[] = {
        FACT(opening_takes_version_1_forward),
        FACT(reading_version_1_leaves_the_file_as_it_is),
        FACT(a_file_that_only_says_it_is_of_version_1_is_refused),
        FACT(many_processes_take_it_forward_once),
    };
    if (!scratch_begin()) return 1;
    int failed = check_run(facts, sizeof facts / sizeof *facts, argc, argv);
    rdt_tuning_close(tuning);
    scratch_end();
    return failed;
}
