/* Facts about cache/tuning.h: what is put comes back in order, many users at once. */
#define _GNU_SOURCE
#include "trials.h"
#include "cache/rows.h"
#include "cache/tuning.h"
#include "disk.h"
#include "faults.h"

#include <math.h>
#include <pthread.h>

/* ---- putting and giving ---------------------------------------------------------------------- */

FACT(put_stores_a_thousand_trials_in_one_transaction) {
    static rdt_trial trials[1000];
    CHECK(begin());
    for (int i = 0; i < 1000; i++) trials[i] = trials_make(1024, "block=64", 1 + i, 5);
    CHECK_OK(put(trials, 1000), err);
    CHECK_INT(ask("SELECT count(*) FROM measurement"), 1000);
    CHECK_INT(ask("SELECT count(DISTINCT date) FROM measurement"), 1);
}

FACT(put_stores_gpu_and_origin_once) {
    CHECK(begin());
    CHECK(put_one(1024, "block=32", 10, 9) && put_one(2048, "block=32", 10, 9));
    rdt_facts gpu = trials_gpu;
    rdt_origin origin = trials_origin;
    rdt_trial trial = trials_make(4096, "block=32", 10, 9);
    /* Not of the fingerprint: another card of the model, under another driver. */
    gpu.memory_bytes = 1, gpu.driver_version = 1, gpu.threads_per_sm = 1;
    CHECK_OK(rdt_tuning_put(tuning, &gpu, &origin, &trial, 1, &err), err);
    CHECK_INT(ask("SELECT count(*) FROM gpu"), 1);
    CHECK_INT(ask("SELECT count(*) FROM origin"), 1);
    gpu.sm_count--, origin.nvrtc_version++;
    CHECK_OK(rdt_tuning_put(tuning, &gpu, &origin, &trial, 1, &err), err);
    CHECK_INT(ask("SELECT count(*) FROM gpu"), 2);
    CHECK_INT(ask("SELECT count(*) FROM origin"), 2);
    int64_t rows, gpus;
    CHECK_OK(rdt_tuning_census(tuning, &rows, &gpus, &err), err);
    CHECK_INT(rows, 4);
    CHECK_INT(gpus, 2);
}

FACT(put_stores_all_or_nothing) {
    CHECK(begin());
    rdt_trial trials[3] = {trials_make(1024, "block=32", 10, 9),
                           trials_make(1024, "block=64", 9, 9),
                           trials_make(1024, "block=96", NAN, 9)};
    CHECK_FAILS(put(trials, 3), REDTUNE_INVALID, err, "cannot store measurement 2 of 3: its times");
    CHECK_INT(ask("SELECT count(*) FROM measurement"), 0);
    CHECK_INT(ask("SELECT count(*) FROM gpu"), 0);
    CHECK_OK(put(trials, 2), err);
    CHECK_OK(put(trials, 0), err);
    CHECK_INT(ask("SELECT count(*) FROM measurement"), 2);
}

FACT(each_goes_by_count_gpu_and_age) {
    CHECK(begin());
    rdt_facts other = trials_gpu;
    other.major++;
    rdt_trial trial = trials_make(2048, "a", 10, 9);
    CHECK(put_one(4096, "e", 10, 9) && put_one(2048, "c", 10, 9) && put_one(2048, "b", 10, 9));
    rdt_text_copy(trial.config, sizeof trial.config, "d");
    CHECK_OK(rdt_tuning_put(tuning, &other, &trials_origin, &trial, 1, &err), err);
    CHECK(put_one(1024, "a", 10, 9));
    CHECK(sql("UPDATE measurement SET date = date - 1 WHERE config = 'b'"));
    CHECK_INT(take_all(&sum_f32), 5);
    for (int i = 0; i < 5; i++) CHECK_INT(taken.row[i].trial.config[0], "abcde"[i]);
}

FACT(each_gives_only_the_problem_and_cache_asked_for) {
    CHECK(begin());
    rdt_trial trials[3] = {trials_make(1024, "f32", 10, 9), trials_make(1024, "f64", 10, 9),
                           trials_make(1024, "warm", 10, 9)};
    trials[1].problem.dtype = trials[1].problem.result = REDTUNE_F64;
    trials[2].cache = RDT_CACHE_WARM;
    CHECK_OK(put(trials, 3), err);
    CHECK_INT(take_all(&sum_f32), 1);
    CHECK_TEXT(taken.row[0].trial.config, "f32");
    const redtune_problem none = {.op = REDTUNE_SUM};
    CHECK_FAILS(rdt_tuning_each(tuning, &none, RDT_CACHE_COLD, take, NULL, &err), REDTUNE_INVALID,
                err, "problem.dtype");
}

static redtune_status stop(void *user, const rdt_row *row, redtune_error *error) {
    (void)row;
    ++*(int *)user;
    return rdt_fail(error, REDTUNE_INTERRUPTED, 0, "enough");
}

static redtune_status stop_ranking(void *user, const rdt_standing *standing, redtune_error *error) {
    return stop(user, standing->winner, error);
}

FACT(each_ends_with_the_status_of_its_callback) {
    int calls = 0;
    CHECK(begin());
    CHECK(put_one(1024, "a", 10, 9) && put_one(2048, "b", 10, 9));
    CHECK_FAILS(rdt_tuning_each(tuning, &sum_f32, RDT_CACHE_COLD, stop, &calls, &err),
                REDTUNE_INTERRUPTED, err, "enough");
    CHECK_INT(calls, 1);
    CHECK_FAILS(rank_all(tuning, stop_ranking, &calls), REDTUNE_INTERRUPTED, err, "enough");
    CHECK_INT(calls, 2);
    CHECK_OK(put(&taken.row[0].trial, 0), err);
    CHECK_INT(take_all(&sum_f32), 2);
}

/* ---- many at once ---------------------------------------------------------------------------- */

FACT(a_reader_sees_whole_transactions) {
    sqlite3 *writer = NULL;
    rdt_tuning *reader = NULL;
    CHECK(begin());
    CHECK(put_one(1024, "a", 10, 9));
    CHECK_OK(rdt_tuning_open_read(in_scratch("tuning.db"), &reader, &err), err);
    rdt_tuning_close(tuning);
    tuning = reader;
    CHECK(!sqlite3_open(in_scratch("tuning.db"), &writer));
    CHECK(!sqlite3_exec(writer, "BEGIN IMMEDIATE; UPDATE measurement SET config = 'b'", NULL, NULL,
                        NULL));
    CHECK_INT(take_all(&sum_f32), 1);
    CHECK_TEXT(taken.row[0].trial.config, "a");
    CHECK(!sqlite3_exec(writer, "COMMIT", NULL, NULL, NULL));
    CHECK_INT(take_all(&sum_f32), 1);
    CHECK_TEXT(taken.row[0].trial.config, "b");
    sqlite3_close(writer);
}

static bool put_forty(const char *path, int index) {
    rdt_tuning *own = NULL;
    redtune_error why = {0};
    redtune_status status = rdt_tuning_open(path, &own, &why);
    for (int i = 0; i < 40 && !status; i++) {
        rdt_trial trials[2] = {trials_make(1024, "first", 1 + index, 9),
                               trials_make(1024, "second", 100 + i, 9)};
        status = rdt_tuning_put(own, &trials_gpu, &trials_origin, trials, 2, &why);
    }
    if (status) fprintf(stderr, "writer %d: %s\n", index, why.message);
    rdt_tuning_close(own);
    return !status;
}

static bool put_forty_in_a_process(int index) { return put_forty(in_scratch("tuning.db"), index); }

static void *put_forty_in_a_thread(void *path) { return put_forty(path, 1) ? path : NULL; }

FACT(two_threads_write_at_once) {
    char path[256];
    pthread_t thread;
    void *good = NULL;
    CHECK(begin());
    snprintf(path, sizeof path, "%s", in_scratch("tuning.db"));
    CHECK(!pthread_create(&thread, NULL, put_forty_in_a_thread, path));
    bool own = put_forty(path, 2);
    CHECK(!pthread_join(thread, &good));
    CHECK(good && own);
    CHECK_INT(ask("SELECT count(*) FROM measurement"), 160);
}

FACT(eight_processes_write_at_once) {
    CHECK(begin());
    CHECK(run_processes(8, put_forty_in_a_process));
    CHECK_INT(ask("SELECT count(*) FROM measurement"), 640);
    CHECK_INT(ask("SELECT count(*) FROM gpu"), 1);
    CHECK_INT(ask("SELECT count(*) FROM origin"), 1);
    CHECK(!has_beside(in_scratch("tuning.db"), "-journal"));
}

/* ---- memory that runs out ----------------------------------------------------------------------
 */

/* Opens, writes and reads everything once. */
static redtune_status use_all(const char *path) {
    rdt_tuning *own = NULL;
    int64_t rows, gpus;
    rdt_trial trials[2] = {trials_make(1024, "block=32", 10, 9),
                           trials_make(1024, "block=64", 11, 9)};
    taken.count = 0;
    redtune_status status = rdt_tuning_open(path, &own, &err);
    if (!status) status = rdt_tuning_put(own, &trials_gpu, &trials_origin, trials, 2, &err);
    rdt_tuning_close(own);
    own = NULL;
    if (!status) status = rdt_tuning_open_read(path, &own, &err);
    if (!status) status = rdt_tuning_each(own, &sum_f32, RDT_CACHE_COLD, take, NULL, &err);
    if (!status) status = rank_all(own, take_standing, NULL);
    if (!status) status = rdt_tuning_census(own, &rows, &gpus, &err);
    rdt_tuning_close(own);
    return status;
}

FACT(every_allocation_may_fail) {
    const char *path = in_scratch("memory.db");
    int64_t rows, gpus;
    long n = 1;
    rdt_tuning_close(tuning);
    tuning = NULL;
    CHECK(disk_install()); /* which does not sync in truth: that takes most of the time */
    for (; faults_begin(n); n++) {
        unlink(path);
        redtune_status status = use_all(path);
        bool failed = faults_end();
        if (status != REDTUNE_OK && status != REDTUNE_MEMORY)
            fprintf(stderr, "allocation %ld: %s\n", n, err.message);
        /* SQLite goes on without some of them; then nothing may be missing. */
        CHECK(status == REDTUNE_OK || (failed && status == REDTUNE_MEMORY));
        CHECK(status || taken.count == 3);
        CHECK(!has_beside(path, "-journal"));
        CHECK_OK(rdt_tuning_open(path, &tuning, &err), err);
        CHECK_OK(rdt_tuning_census(tuning, &rows, &gpus, &err), err);
        CHECK(status ? (rows == 0 && gpus == 0) || rows == 2 : rows == 2);
        rdt_tuning_close(tuning);
        tuning = NULL;
    }
    CHECK(n > 4);
}

int main(int argc, char **argv) {
    if (!scratch_begin()) return 1;
    int failed = check_run(argc, argv);
    rdt_tuning_close(tuning);
    scratch_end();
    return failed;
}
