/* Trials: a tuning database and measurements for the tests of it. */
#pragma once

#include "database.h"
#include "cache/contenders.h"
#include "cache/tuning.h"
#include "shaped.h"

UNUSED static const rdt_facts trials_gpu = {
    .name = "NVIDIA Test GPU",
    .major = 9,
    .minor = 1,
    .sm_count = 132,
    .l2_bytes = UINT64_C(60) << 20,
    .bus_bits = 6144,
    .memory_khz = 3201000,
};

UNUSED static const rdt_origin trials_origin = {
    .machine = "bench 7",
    .driver_version = 13000,
    .nvrtc_version = 12090,
    .templates = "00112233445566778899aabbccddeeff",
};

UNUSED static rdt_trial trials_make(uint64_t count, const char *config, double median_ns,
                                    int samples) {
    rdt_trial trial = {
        .problem = PROBLEM(REDTUNE_SUM, REDTUNE_F32, REDTUNE_F32, .count = count),
        .cache = RDT_CACHE_COLD,
        .family = "block",
        .outcome = RDT_OUTCOME_GOOD,
        .median_ns = median_ns,
        .spread_ns = median_ns / 64,
        .samples = samples,
    };
    rdt_text_copy(trial.config, sizeof trial.config, config);
    return trial;
}

enum { ROWS_MAX = 64 };

static redtune_error err;
static rdt_tuning *tuning;
UNUSED static const redtune_problem sum_f32 = {.op = REDTUNE_SUM, .dtype = REDTUNE_F32};

/* What the last call of take_all or take_winners gave. */
UNUSED static struct {
    rdt_row row[ROWS_MAX];
    int count;
} taken;

/* An open database without rows; the last one is closed. */
UNUSED static bool begin(void) {
    rdt_tuning_close(tuning);
    tuning = NULL;
    unlink(in_scratch("tuning.db"));
    return !rdt_tuning_open(in_scratch("tuning.db"), &tuning, &err);
}

UNUSED static bool sql(const char *text) { return run_sql(in_scratch("tuning.db"), text); }

UNUSED static int64_t ask(const char *text) { return ask_sql(in_scratch("tuning.db"), text); }

UNUSED static redtune_status put(const rdt_trial *trials, size_t count) {
    return rdt_tuning_put(tuning, &trials_gpu, &trials_origin, trials, count, &err);
}

UNUSED static bool put_one(uint64_t count, const char *config, double median_ns, int samples) {
    rdt_trial trial = trials_make(count, config, median_ns, samples);
    return !put(&trial, 1);
}

UNUSED static redtune_status take(void *user, const rdt_row *row, redtune_error *error) {
    (void)user, (void)error;
    if (taken.count < ROWS_MAX) taken.row[taken.count] = *row;
    taken.count++;
    return REDTUNE_OK;
}

UNUSED static int take_all(const redtune_problem *problem) {
    taken.count = 0;
    redtune_status status = rdt_tuning_each(tuning, problem, RDT_CACHE_COLD, take, NULL, &err);
    return status ? -1 : taken.count;
}

UNUSED static redtune_status take_standing(void *user, const rdt_standing *standing,
                                           redtune_error *error) {
    return take(user, standing->winner, error);
}

/* Gives the standing of each problem, as whoever reads a database finds it. */
UNUSED static redtune_status rank_all(rdt_tuning *from, rdt_rows_rank_fn *each, void *user) {
    rdt_rows rows = {0};
    redtune_status status = rdt_contenders_read(from, NULL, RDT_CACHE_COLD, &rows, &err);
    if (!status) status = rdt_rows_rank(&rows, each, user, &err);
    rdt_rows_free(&rows);
    return status;
}

UNUSED static int take_winners(void) {
    taken.count = 0;
    return rank_all(tuning, take_standing, NULL) ? -1 : taken.count;
}

/* The config of the only winner; NULL where there is none, or more. */
UNUSED static const char *winner(void) {
    return take_winners() == 1 ? taken.row[0].trial.config : NULL;
}
