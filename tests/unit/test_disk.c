/* Facts about a tuning database on a disk that fails, and where memory runs out: whatever call
 * fails, the file holds what it held before or what it was to hold, and never anything else.
 *
 * usage: test_disk [--all] [FACT...]; --all: every allocation; else each 13th. */
#define _GNU_SOURCE
#include "state.h"
#include "version_1.h"
#include "disk.h"
#include "faults.h"

static bool thorough; /* --all */

/* ---- what is done to the database ------------------------------------------------------------ */

static rdt_rows incoming; /* what is imported and merged: some of it is there before */

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
    if (!status) status = rdt_tuning_begin(own, &err);
    if (!status) {
        status = rdt_tuning_add(own, source, &incoming, &added, &err);
        status = rdt_tuning_end(own, status, &err);
    }
    rdt_tuning_close(own);
    return status;
}

static redtune_status import_file(const char *path) {
    return add(path, "elsewhere.db");
}

static redtune_status merge_file(const char *path) {
    return add(path, NULL);
}

static redtune_status undo_import(const char *path) {
    rdt_tuning *own = NULL;
    uint64_t removed = 0;
    char source[256];
    redtune_status status = rdt_tuning_open(path, &own, &err);
    if (!status) status = rdt_tuning_undo(own, source, &removed, &err);
    rdt_tuning_close(own);
    return status;
}

typedef struct job {
    const char *name;
    const char *start; /* a file in the folder to begin with; NULL: none */
    redtune_status (*run)(const char *path);
} job;

static const job jobs[] = {
    {"create", NULL, open_once},
    {"create and put", NULL, put_two},
    {"put", "some.db", put_two},
    {"migrate", "old.db", open_once},
    {"migrate and put", "old.db", put_two},
    {"import", "some.db", import_file},
    {"merge", "some.db", merge_file},
    {"merge what was imported", "more.db", merge_file},
    {"undo", "more.db", undo_import},
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
    return out[1] != NULL;
}

/* The bytes of the last file whose state was found right, by job: most rounds give the same. */
static struct {
    char *data;
    size_t bytes;
    bool is_new;
} known[JOBS];

static bool is_known(const job *of, const char *path, bool done) {
    char *data = known[of - jobs].data;
    return data && known[of - jobs].is_new >= done && !has_beside(path, "-journal") &&
           holds_bytes(path, data, known[of - jobs].bytes);
}

/* done: the job said so. */
static bool is_old_or_new(const job *of, const char *path, bool done) {
    char **both = states[of - jobs];
    if (is_known(of, path, done)) return true;
    char *now = state_after_repair(path);
    bool is_new = now && !strcmp(now, both[1]);
    bool good = is_new || (now && !done && !strcmp(now, both[0]));
    if (now && !good)
        fprintf(stderr, "%s holds %zu bytes of text; before %zu, after %zu\n", path, strlen(now),
                strlen(both[0]), strlen(both[1]));
    free(now);
    if (!good) return false;
    free(known[of - jobs].data);
    known[of - jobs].data = read_bytes(path, &known[of - jobs].bytes);
    known[of - jobs].is_new = is_new;
    return true;
}

/* ---- facts ----------------------------------------------------------------------------------- */

/* Each call in turn. *hits counts the rounds. */
static bool survives(const job *of, disk_fault fault, unsigned seed, long *hits) {
    const char *path = disk_path;
    for (long n = 1;; n++) {
        if (!start(of, path)) return false;
        if (!disk_begin(fault, n, seed + (unsigned)n)) return true;
        err = (redtune_error){0};
        redtune_status status = of->run(path);
        bool hit = disk_end();
        *hits += hit;
        bool told = !status || (err.status == status && strlen(err.message) > 10);
        if (told && (hit || !status) && is_old_or_new(of, path, !status)) continue;
        fprintf(stderr, "%s, call %ld: %s: status %d, %s\n", of->name, n, disk_fault_text(fault),
                (int)status, err.message);
        return false;
    }
}

static void any_call_of_the_disk_may_fail(void) {
    long hits = 0;
    for (int i = 0; i < JOBS; i++)
        for (int fault = 0; fault < DISK_FAULTS; fault++)
            if (fault != DISK_POWER) CHECK(survives(&jobs[i], (disk_fault)fault, 0, &hits));
    printf("%ld calls failed\n", hits);
    CHECK(hits > 20 * JOBS);
}

static void the_power_may_fail(void) {
    long hits = 0;
    for (int i = 0; i < JOBS; i++)
        for (unsigned seed = 1; seed <= 5; seed++)
            CHECK(survives(&jobs[i], DISK_POWER, seed * 1000, &hits));
    printf("%ld times\n", hits);
    CHECK(hits > 20 * JOBS);
}

static void any_allocation_may_fail(void) {
    const char *path = disk_path;
    long failures = 0, step = thorough ? 1 : 13;
    for (int i = 0; i < JOBS; i++) {
        for (long n = 1;; n += step) {
            CHECK(start(&jobs[i], path));
            if (!faults_begin(n)) break;
            err = (redtune_error){0};
            redtune_status status = jobs[i].run(path);
            bool failed = faults_end();
            failures += failed;
            /* SQLite goes on without some of them. */
            bool good = !status || (failed && status == REDTUNE_MEMORY);
            if (!good || !is_old_or_new(&jobs[i], path, !status)) {
                fprintf(stderr, "%s, allocation %ld: status %d, %s\n", jobs[i].name, n, (int)status,
                        err.message);
                CHECK(false);
            }
        }
    }
    printf("%ld allocations failed\n", failures);
    CHECK(failures > 20 * JOBS);
}

int main(int argc, char **argv) {
    static const check_fact facts[] = {
        FACT(any_call_of_the_disk_may_fail),
        FACT(the_power_may_fail),
        FACT(any_allocation_may_fail),
    };
    thorough = argc > 1 && !strcmp(argv[1], "--all");
    if (thorough) argc--, argv++;
    bool good = disk_install() && scratch_begin();
    rdt_text_copy(disk_path, sizeof disk_path, in_scratch("disk.db"));
    rdt_text_copy(states_path, sizeof states_path, in_scratch("states.db"));
    good = good && make_some() && run_sql(in_scratch("old.db"), version_1);
    for (int i = 0; i < JOBS && good; i++) {
        good = find_states(&jobs[i], states[i]);
        if (!good) fprintf(stderr, "%s: %s\n", jobs[i].name, err.message);
    }
    int failed = good ? check_run(facts, sizeof facts / sizeof *facts, argc, argv) : 1;
    for (int i = 0; i < JOBS; i++) free(states[i][0]), free(states[i][1]), free(known[i].data);
    rdt_rows_free(&incoming);
    scratch_end();
    return failed;
}
