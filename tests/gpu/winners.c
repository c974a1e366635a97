/* Winners: the winners of two tuning databases against each other, re-timed in turns on GPU 0, so
 * that neither is flattered by the day it was measured on. Prints the ratio of each problem that
 * both have, the geometric mean and the worst: above 1, the first database's is slower.
 *
 * usage: winners FIRST.db SECOND.db [GEOMEAN WORST]   fails beyond these ratios, as 1.01 1.03 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "api/select.h"
#include "device.h"
#include "subject.h"
#include "tuner/local.h"
#include "tuner/summary.h"

enum { ROUNDS = 5, SAMPLES = 31, MOST = 1024 };

typedef struct pair {
    const rdt_row *row[2]; /* of the first and of the second database */
} pair;

static redtune_error err;
static device gpu;
static workshop shop;

static int fail(const char *what) {
    fprintf(stderr, "winners: cannot %s: %s\n", what, err.message);
    return 1;
}

static redtune_status make(void *user, int family, const redtune_problem *problem,
                           const rdt_config *config, const rdt_launch *launch, rdt_kernel **out,
                           redtune_error *failure) {
    (void)user;
    return rdt_builder_make(shop.builder, gpu.context, family, problem, config, launch, out,
                            failure);
}

static bool is_same(const rdt_trial *a, const rdt_trial *b) {
    return a->cache == b->cache && a->problem.count == b->problem.count &&
           rdt_problem_same_class(&a->problem, &b->problem);
}

static size_t match(const rdt_rows *first, const rdt_rows *second, pair *pairs) {
    size_t count = 0;
    for (size_t i = 0; i < first->count && count < MOST; i++)
        for (size_t k = 0; k < second->count && count < MOST; k++)
            if (is_same(&first->row[i].trial, &second->row[k].trial) &&
                rdt_facts_same_model(&first->row[i].gpu, &gpu.context->facts) &&
                rdt_facts_same_model(&second->row[k].gpu, &gpu.context->facts))
                pairs[count++] = (pair){{&first->row[i], &second->row[k]}};
    return count;
}

static redtune_status prepare(const rdt_trial *trial, rdt_candidate *out) {
    rdt_case at = {&trial->problem, &gpu.context->facts};
    out->config = (rdt_config){{0}};
    redtune_status status =
        rdt_config_parse(rdt_codegen_space(shop.codegen, 0), trial->config, &out->config, &err);
    return status ? status
                  : rdt_codegen_launch(shop.codegen, 0, at, &out->config, &out->launch, &err);
}

/* The time of the first over that of the second. */
static redtune_status race(const rdt_lab *lab, const pair *each, double *ratio) {
    const rdt_trial *trial = &each->row[0]->trial;
    static double samples[2 * SAMPLES], all[2][ROUNDS * SAMPLES];
    rdt_candidate candidates[2];
    rdt_verdict verdicts[2] = {{.outcome = RDT_OUTCOME_GOOD}, {.outcome = RDT_OUTCOME_GOOD}};
    rdt_conditions conditions[2];
    rdt_batch batch = {&trial->problem, 0, candidates, 2};
    double median[2], spread;
    redtune_status status = prepare(&each->row[0]->trial, &candidates[0]);
    if (!status) status = prepare(&each->row[1]->trial, &candidates[1]);
    for (int round = 0; !status && round < ROUNDS; round++) {
        status = lab->time(lab->self, &batch, trial->cache, SAMPLES, samples, verdicts, conditions,
                           &err);
        for (int i = 0; !status && i < 2; i++)
            memcpy(&all[i][round * SAMPLES], &samples[i * SAMPLES], SAMPLES * sizeof *samples);
    }
    if (status) return status;
    for (int i = 0; i < 2; i++) rdt_summarise(all[i], ROUNDS * SAMPLES, &median[i], &spread);
    *ratio = median[0] / median[1];
    printf("%-4s %-5s %10" PRIu64 " %s %10.1f %10.1f ns  %.4f  %s | %s\n",
           redtune_op_name(trial->problem.op), redtune_dtype_name(trial->problem.dtype),
           trial->problem.count, trial->cache == RDT_CACHE_COLD ? "cold" : "warm", median[0],
           median[1], *ratio, trial->config, each->row[1]->trial.config);
    return REDTUNE_OK;
}

/* Those of one class from the first on: they share the test data. */
static redtune_status race_class(const pair *pairs, size_t count, double *log_sum, double *worst) {
    const rdt_local_parts parts = {.context = gpu.context, .codegen = shop.codegen, .make = make};
    redtune_problem largest = pairs[0].row[0]->trial.problem;
    rdt_local *local = NULL;
    for (size_t i = 0; i < count; i++)
        if (pairs[i].row[0]->trial.problem.count > largest.count)
            largest = pairs[i].row[0]->trial.problem;
    redtune_status status = rdt_local_create(&parts, &largest, &local, &err);
    for (size_t i = 0; !status && i < count; i++) {
        const rdt_lab lab = rdt_local_lab(local);
        double ratio = 1;
        if (strcmp(pairs[i].row[0]->trial.config, pairs[i].row[1]->trial.config))
            status = race(&lab, &pairs[i], &ratio);
        *log_sum += log(ratio);
        if (ratio > *worst) *worst = ratio;
    }
    rdt_local_destroy(local);
    return status;
}

static redtune_status read_winners(const char *path, rdt_rows *out) {
    rdt_tuning *tuning = NULL;
    redtune_status status = rdt_tuning_open_read(path, &tuning, &err);
    if (!status) status = rdt_tuning_each_winner(tuning, rdt_rows_keep, out, &err);
    rdt_tuning_close(tuning);
    return status;
}

static int run(const char *const *paths, double geomean_most, double worst_most) {
    static pair pairs[MOST];
    rdt_rows winners[2] = {{0}};
    double log_sum = 0, worst = 0;
    for (int i = 0; i < 2; i++)
        if (read_winners(paths[i], &winners[i])) return fail("read the winners");
    size_t count = match(&winners[0], &winners[1], pairs), same = 0;
    for (size_t first = 0, end; first < count; first = end) {
        end = first + 1;
        while (end < count && rdt_problem_same_class(&pairs[first].row[0]->trial.problem,
                                                     &pairs[end].row[0]->trial.problem))
            end++;
        if (race_class(&pairs[first], end - first, &log_sum, &worst)) return fail("time winners");
    }
    for (size_t i = 0; i < count; i++)
        same += !strcmp(pairs[i].row[0]->trial.config, pairs[i].row[1]->trial.config);
    rdt_rows_free(&winners[0]);
    rdt_rows_free(&winners[1]);
    double geomean = count ? exp(log_sum / (double)count) : 0;
    printf("%zu problems, %zu with the same winner; geometric mean %.4f, worst %.4f\n", count, same,
           geomean, worst);
    return count && geomean <= geomean_most && worst <= worst_most ? 0 : 1;
}

int main(int argc, char **argv) {
    if (argc != 3 && argc != 5) {
        fprintf(stderr, "usage: winners FIRST.db SECOND.db [GEOMEAN WORST]\n");
        return 2;
    }
    if (device_open(&gpu, &err)) return fail("open the GPU");
    if (workshop_open(&gpu, &shop, &err)) return fail("open the templates");
    int code = run((const char *const *)argv + 1, argc == 5 ? atof(argv[3]) : INFINITY,
                   argc == 5 ? atof(argv[4]) : INFINITY);
    workshop_close(&shop);
    device_close(&gpu);
    return code;
}
