/* Strategies: what each finds on the simulated GPU, whose clock is a function of the work, and what
 * it costs: every candidate is measured first, so that the best is known.
 *
 * usage: strategies FOLDER   for the databases */
#define _POSIX_C_SOURCE 200809L
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "cache/tuning.h"
#include "model/winner.h"
#include "redtune/redtune.h"
#include "redtune/tune.h"
#include "shaped.h"

static const redtune_dtype dtypes[] = {REDTUNE_F32, REDTUNE_I8};
static const uint64_t counts[] = {1024, 2048, 4096};
enum { DTYPES = sizeof dtypes / sizeof *dtypes, COUNTS = sizeof counts / sizeof *counts };
enum { RESULTS = DTYPES * COUNTS };

typedef struct run {
    redtune_tuned tuned[RESULTS];
    size_t count;
    char database[512];
} run;

static int fail(const char *what, const redtune_error *err) {
    fprintf(stderr, "strategies: cannot %s: %s\n", what, err->message);
    return 1;
}

static void keep(void *user, const redtune_tuned *result) {
    run *self = user;
    for (size_t i = 0; result->again && i < self->count; i++)
        if (self->tuned[i].problem.dtype == result->problem.dtype &&
            shaped_of(&self->tuned[i].problem).count == shaped_of(&result->problem).count)
            self->tuned[i] = *result;
    if (!result->again && self->count < RESULTS) self->tuned[self->count++] = *result;
}

static redtune_status tune(run *self, redtune_effort effort, const char *folder, const char *name,
                           redtune_error *err) {
    redtune *rt = NULL;
    self->count = 0;
    snprintf(self->database, sizeof self->database, "%s/%s.db", folder, name);
    unlink(self->database);
    const redtune_options options = {.device = "sim", .database = self->database};
    const redtune_tuning tuning = {.dtypes = dtypes,
                                   .dtype_count = DTYPES,
                                   .counts = counts,
                                   .count_count = COUNTS,
                                   .effort = effort,
                                   .seed = 11,
                                   .tuned = keep,
                                   .user = self};
    redtune_status status = redtune_open(&options, &rt, err);
    if (!status) status = redtune_tune(rt, &tuning, err);
    redtune_close(rt);
    return status;
}

/* ---- the rows of a database, in the order in which they were measured ------------------------ */

static redtune_status write_row(void *user, const rdt_row *row, redtune_error *err) {
    (void)err;
    rdt_text_addf(user, "%" PRIu64 " %d %s %.17g %.17g %d\n", shaped_of(&row->trial.problem).count,
                  row->trial.cache, row->trial.config, row->trial.median_ns, row->trial.spread_ns,
                  row->trial.samples);
    return REDTUNE_OK;
}

static redtune_status dump(const char *path, rdt_text *out, redtune_error *err) {
    rdt_tuning *tuning = NULL;
    redtune_status status = rdt_tuning_open_read(path, &tuning, err);
    for (size_t i = 0; !status && i < DTYPES; i++)
        for (int cache = 0; !status && cache < 2; cache++) {
            redtune_problem problem = {REDTUNE_SUM, dtypes[i]};
            redtune_problem resolved;
            status = rdt_problem_resolve(&problem, &resolved, err);
            if (!status)
                status =
                    rdt_tuning_each(tuning, &resolved, (rdt_cache_state)cache, write_row, out, err);
        }
    rdt_tuning_close(tuning);
    return status;
}

/* ---- comparing --------------------------------------------------------------------------------
 */

/* Of one problem, in both states of the cache: a handful, and probes of five names that the default
 * never has; the first count of a class has nothing like it to start from. Of all points these are
 * few, since exhaustive goes through every name. */
static bool is_crowded(const run *some, size_t i) {
    const uint64_t first = 28, handful = 16, probes = 2 * 15;
    return some->tuned[i].measured > (i % COUNTS ? handful : first) + handful + probes;
}

/* Prints how far the winners are from the best, and what was measured for them; whether both are
 * within bounds. */
static bool compare(const char *name, const run *all, const run *some) {
    double worst = 0;
    uint64_t measured = 0, points = 0;
    size_t crowded = 0;
    for (size_t i = 0; i < RESULTS; i++) {
        double cold = some->tuned[i].median_ns / all->tuned[i].median_ns;
        double warm = some->tuned[i].warm_ns / all->tuned[i].warm_ns;
        if (cold > worst) worst = cold;
        if (warm > worst) worst = warm;
        measured += some->tuned[i].measured;
        points += all->tuned[i].measured;
        crowded += is_crowded(some, i);
    }
    const double share = (double)measured / (double)points;
    printf("%s: %.1f %% of %" PRIu64 " candidates measured, %.2f %% above the best at worst\n",
           name, 100 * share, points, 100 * (worst - 1));
    if (crowded) printf("%s: too much was measured of %zu problems\n", name, crowded);
    return worst <= 1.02 && share <= 0.15 && !crowded;
}

int main(int argc, char **argv) {
    static run exhaustive, standard, again, quick;
    rdt_text first = {0}, second = {0};
    redtune_error err;
    if (argc != 2) {
        fprintf(stderr, "usage: strategies FOLDER\n");
        return 2;
    }
    if (tune(&exhaustive, REDTUNE_EFFORT_EXHAUSTIVE, argv[1], "exhaustive", &err) ||
        tune(&standard, REDTUNE_EFFORT_STANDARD, argv[1], "standard", &err) ||
        tune(&again, REDTUNE_EFFORT_STANDARD, argv[1], "again", &err) ||
        tune(&quick, REDTUNE_EFFORT_QUICK, argv[1], "quick", &err))
        return fail("tune", &err);
    if (exhaustive.count != RESULTS || standard.count != RESULTS || quick.count != RESULTS) {
        fprintf(stderr, "strategies: not every problem was tuned\n");
        return 1;
    }
    bool good = compare("standard", &exhaustive, &standard);
    good = compare("quick", &exhaustive, &quick) && good;
    if (dump(standard.database, &first, &err) || dump(again.database, &second, &err))
        return fail("read what was measured", &err);
    bool same = first.data && second.data && !strcmp(first.data, second.data);
    printf("standard, twice: %zu bytes of measurements, %s\n", first.length,
           same ? "the same" : "NOT the same");
    rdt_text_free(&first);
    rdt_text_free(&second);
    return good && same ? 0 : 1;
}
