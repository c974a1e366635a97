/* Facts about a tuning database on a disk that fails, and where memory runs out: whatever call
 * fails, the file holds what it held before or what it was to hold, and never anything else.
 *
 * usage: test_disk [--all] [FACT...]; --all: every allocation; else each 13th (and fewer
 * of those of Lua). */
#define _GNU_SOURCE
#include "state.h"
#include "version_2.h"
#include "disk.h"
#include "api/records/convert.h"
#include "codegen/codegen.h"
#include "faults.h"

#include <limits.h>
#include "redtune/records.h"
#include "redtune/tools.h"
#include "shaped.h"

static bool thorough; /* --all */

/* ---- what is done to the database ------------------------------------------------------------ */

static rdt_rows incoming; /* what is imported and merged: some of it is there before */

/* The same through the interface: a database and JSON lines of measurements that it admits. */
static char file_path[256], lines_path[256];

static redtune_status put_two(const char *path) {
    rdt_trial trials[2] = {trials_make(1024, "block=32", 10, 9),
                           trials_make(2048, "block=64", 11, 9)};
    rdt_tuning *own = NULL;
    redtune_status status = rdt_tuning_open(path, &own, &err);
    if (!status) status = rdt_tuning_put(own, &trials_gpu, &trials_origin, trials, 2, &err);
    rdt_tuning_close(own);
    return status;
}

static redtune_status open_once(const char *path) {
    rdt_tuning *own = NULL;
    redtune_status status = rdt_tuning_open(path, &own, &err);
    rdt_tuning_close(own);
    return status;
}

static redtune_status add(const char *path, const char *source) {
    rdt_tuning *own = NULL;
    uint64_t added = 0;
    redtune_status status = rdt_tuning_open(path, &own, &err);
    if (!status) status = rdt_exchange_begin(own, &err);
    if (!status) {
        status = rdt_exchange_add(own, source, &incoming, &added, &err);
        status = rdt_exchange_end(own, status, &err);
    }
    rdt_tuning_close(own);
    return status;
}

static redtune_status import_file(const char *path) { return add(path, "elsewhere.db"); }

static redtune_status merge_file(const char *path) { return add(path, NULL); }

static redtune_status undo_import(const char *path) {
    rdt_tuning *own = NULL;
    uint64_t removed = 0;
    char source[256];
    redtune_status status = rdt_tuning_open(path, &own, &err);
    if (!status) status = rdt_exchange_undo(own, source, &removed, &err);
    rdt_tuning_close(own);
    return status;
}

static redtune_status import_through_api(const char *path) {
    const char *const files[] = {file_path, lines_path};
    const redtune_importing importing = {.database = path, .files = files, .file_count = 2};
    return redtune_import(&importing, NULL, &err);
}

static redtune_status merge_through_api(const char *path) {
    const char *const files[] = {lines_path};
    const redtune_importing importing = {
        .database = path, .files = files, .file_count = 1, .merge = 1};
    return redtune_import(&importing, NULL, &err);
}

static redtune_status undo_through_api(const char *path) {
    char source[256];
    uint64_t removed;
    return redtune_undo(path, source, &removed, &err);
}

typedef struct job {
    const char *name;
    const char *start; /* a file in the folder to begin with; NULL: none */
    redtune_status (*run)(const char *path);
    bool slow; /* it takes Lua */
} job;

static const job jobs[] = {
    {"create", NULL, open_once, false},
    {"create and put", NULL, put_two, false},
    {"put", "some.db", put_two, false},
    {"migrate", "old.db", open_once, false},
    {"migrate and put", "old.db", put_two, false},
    {"import", "some.db", import_file, false},
    {"merge", "some.db", merge_file, false},
    {"merge what was imported", "more.db", merge_file, false},
    {"undo", "more.db", undo_import, false},
    {"redtune_import", "some.db", import_through_api, true},
    {"redtune_import, merging", "old.db", merge_through_api, true},
    {"redtune_undo", "more.db", undo_through_api, false},
};

enum { JOBS = sizeof jobs / sizeof *jobs };

/* ---- before and after ------------------------------------------------------------------------ */

/* Rows enough that several pages change. */
static bool make_some(void) {
    static rdt_trial trials[45];
    for (int i = 0; i < 45; i++) {
        char config[32];
        snprintf(config, sizeof config, "block=%d", i);
        trials[i] = trials_make(1024u << i % 4, config, 100 + i, 9);
    }
    tuning = NULL;
    bool good = begin() && !put(trials, 45);
    for (size_t i = 0; i < 45 && good; i++) {
        rdt_row row = {.trial = trials[i],
                       .gpu = trials_gpu,
                       .origin = trials_origin,
                       .date = 1700000000 + (int64_t)i};
        if (i % 3 == 1) row.gpu.sm_count = 8;
        if (i % 3 == 2) row.origin.machine[0] = 'w';
        good = !rdt_rows_add(&incoming, &row, &err);
    }
    good = good && sql("UPDATE measurement SET date = 1700000000 + id - 1 WHERE id < 20");
    rdt_tuning_close(tuning);
    tuning = NULL;
    return good && copy_file(in_scratch("tuning.db"), in_scratch("some.db")) &&
           copy_file(in_scratch("some.db"), in_scratch("more.db")) &&
           !import_file(in_scratch("more.db"));
}

/* The file at hand, and another to find states with. */
static char disk_path[256], states_path[256];

/* Measurements of the default at several counts, as a tune elsewhere would have given them. */
static bool make_files(void) {
    const redtune_problem problem =
        PROBLEM(REDTUNE_SUM, REDTUNE_F32, REDTUNE_F32, .count = 1 << 16);
    const redtune_rows_query query = {.database = file_path, .gpu = "all"};
    const rdt_facts facts = rdt_convert_complete(&trials_gpu);
    rdt_codegen *codegen = NULL;
    rdt_point point;
    rdt_trial trials[6];
    rdt_tuning *own = NULL;
    void *lines = NULL;
    size_t bytes = 0;
    redtune_status status = rdt_codegen_open(&codegen, &err);
    if (!status) status = rdt_rules_default(codegen, (rdt_case){&problem, &facts}, &point, &err);
    for (int i = 0; i < 6 && !status; i++) {
        trials[i] = trials_make(UINT64_C(1) << (16 + i), "", 50000, 31);
        trials[i].rank = INT_MAX;
        rdt_point_write(rdt_codegen_spaces(codegen), &point, trials[i].family, trials[i].config);
    }
    rdt_codegen_close(codegen);
    if (!status) status = rdt_tuning_open(file_path, &own, &err);
    if (!status) status = rdt_tuning_put(own, &trials_gpu, &trials_origin, trials, 4, &err);
    rdt_tuning_close(own);
    if (!status) status = redtune_export(&query, REDTUNE_EXPORT_JSON, &lines, &bytes, &err);
    bool good = !status && write_bytes(lines_path, lines, bytes);
    redtune_free(lines);
    return good;
}

static bool start(const job *of, const char *path) {
    unlink(path);
    return !of->start || copy_file(in_scratch(of->start), path);
}

/* The states between which a job leads. A file that is not there holds what an empty one does. */
static char *states[JOBS][2];

static bool find_states(const job *of, char *out[2]) {
    const char *path = states_path;
    if (!start(of, path) || !(out[0] = state_after_repair(path))) return false;
    if (!start(of, path) || of->run(path)) return false;
    out[1] = state_of(path);
    return out[1] && (of->run == open_once) == !strcmp(out[0], out[1]);
}

/* The bytes of the last file whose state was found right, by job: most rounds give the same. */
static struct {
    char *data;
    size_t bytes;
    bool is_old, is_new;
} known[JOBS];

static bool is_known(int job, const char *path) {
    return known[job].data && !has_beside(path, "-journal") &&
           holds_bytes(path, known[job].data, known[job].bytes);
}

/* Whether the file is in a state that it may be in. */
static bool is_right(const job *of, const char *path, bool may_be_old, bool may_be_new) {
    int job = (int)(of - jobs);
    if (!is_known(job, path)) {
        char *now = state_after_repair(path);
        if (!now) return false;
        free(known[job].data);
        known[job].data = read_bytes(path, &known[job].bytes);
        known[job].is_old = !strcmp(now, states[job][0]);
        known[job].is_new = !strcmp(now, states[job][1]);
        free(now);
    }
    bool good = (may_be_old && known[job].is_old) || (may_be_new && known[job].is_new);
    if (!good)
        fprintf(stderr, "%s holds %s\n", path,
                known[job].is_old   ? "what it held before"
                : known[job].is_new ? "what it was not to hold yet"
                                    : "something else");
    return good;
}

/* ---- facts ----------------------------------------------------------------------------------- */

static redtune_status status_of_run;

static bool start_job(const void *self) { return start(self, disk_path); }

static void run_job(const void *self) {
    err = (redtune_error){0};
    status_of_run = ((const job *)self)->run(disk_path);
}

static bool job_holds(const void *self, disk_fault fault, bool hit) {
    (void)fault;
    const redtune_status status = status_of_run;
    bool told = !status || (err.status == status && strlen(err.message) > 10);
    bool good = told && (hit || !status) && is_right(self, disk_path, status, true);
    if (!good) fprintf(stderr, "status %d, %s\n", (int)status, err.message);
    return good;
}

/* Fails every job's calls in turn; how many failed. */
static long fail_each(bool (*survives)(disk_job *job)) {
    long hits = 0;
    for (int i = 0; i < JOBS; i++) {
        disk_job job = {.self = &jobs[i],
                        .name = jobs[i].name,
                        .start = start_job,
                        .run = run_job,
                        .holds = job_holds,
                        .step = jobs[i].slow && !thorough ? 3 : 1,
                        .powers = jobs[i].slow ? 1 : 5};
        if (!survives(&job)) return 0;
        hits += job.hits;
    }
    return hits;
}

FACT(any_call_of_the_disk_may_fail) {
    long hits = fail_each(disk_survives_faults);
    printf("%ld calls failed\n", hits);
    CHECK(hits > 20 * JOBS);
}

FACT(the_power_may_fail) {
    long hits = fail_each(disk_survives_power);
    printf("%ld times\n", hits);
    CHECK(hits > 20 * JOBS);
}

FACT(any_allocation_may_fail) {
    const char *path = disk_path;
    long failures = 0;
    for (int i = 0; i < JOBS; i++) {
        long step = jobs[i].slow ? (thorough ? 37 : 997) : thorough ? 1 : 13;
        for (long n = 1;; n += step) {
            CHECK(start(&jobs[i], path));
            if (!faults_begin(n)) break;
            err = (redtune_error){0};
            redtune_status status = jobs[i].run(path);
            bool failed = faults_end();
            failures += failed;
            /* SQLite goes on without some of them. */
            bool good = !status || (failed && status == REDTUNE_MEMORY);
            if (!good || !is_right(&jobs[i], path, status, !status)) {
                fprintf(stderr, "%s, allocation %ld: status %d, %s\n", jobs[i].name, n, (int)status,
                        err.message);
                CHECK(false);
            }
        }
    }
    printf("%ld allocations failed\n", failures);
    CHECK(failures > 20 * JOBS);
}

/* What is exported is all of it, or nothing. */
FACT(an_export_is_whole) {
    for (int format = 0; format < 2; format++) {
        const redtune_rows_query query = {.database = file_path, .gpu = "all"};
        void *whole = NULL, *data = NULL;
        size_t whole_bytes = 0, bytes = 0;
        CHECK_OK(redtune_export(&query, format, &whole, &whole_bytes, &err), err);
        long failures = 0, reads = 0;
        for (long n = 1; faults_begin(n); n += thorough ? 5 : 61) {
            redtune_status status = redtune_export(&query, format, &data, &bytes, &err);
            failures += faults_end();
            CHECK(status == REDTUNE_MEMORY ||
                  (!status && bytes == whole_bytes && !memcmp(data, whole, bytes)));
            redtune_free(data);
            data = NULL;
        }
        for (long n = 1; disk_begin(DISK_UNREADABLE, n, 0); n++) {
            redtune_status status = redtune_export(&query, format, &data, &bytes, &err);
            reads += disk_end();
            CHECK(status || (bytes == whole_bytes && !memcmp(data, whole, bytes)));
            redtune_free(data);
            data = NULL;
        }
        CHECK(failures > 20 && reads > 3);
        redtune_free(whole);
    }
}

int main(int argc, char **argv) {
    thorough = argc > 1 && !strcmp(argv[1], "--all");
    if (thorough) argc--, argv++;
    bool good = disk_install() && scratch_begin();
    rdt_text_copy(disk_path, sizeof disk_path, in_scratch("disk.db"));
    rdt_text_copy(states_path, sizeof states_path, in_scratch("states.db"));
    rdt_text_copy(file_path, sizeof file_path, in_scratch("elsewhere.db"));
    rdt_text_copy(lines_path, sizeof lines_path, in_scratch("elsewhere.json"));
    good = good && make_some() && make_files() && run_sql(in_scratch("old.db"), version_2);
    for (int i = 0; i < JOBS && good; i++) {
        good = find_states(&jobs[i], states[i]);
        if (!good) fprintf(stderr, "%s: %s\n", jobs[i].name, err.message);
    }
    if (!good) fprintf(stderr, "not begun: %s\n", err.message);
    int failed = good ? check_run(argc, argv) : 1;
    for (int i = 0; i < JOBS; i++) free(states[i][0]), free(states[i][1]), free(known[i].data);
    rdt_rows_free(&incoming);
    scratch_end();
    return failed;
}
