/* Winners: the winners of two tuning databases against each other, re-timed in turns on GPU 0, so
 * that neither is flattered by the day it was measured on. Where data and code lie makes one config
 * or the other up to 5 % faster, and which one follows from the order in which the two are made. So
 * each round has memory and modules of its own, two rounds with both orders are a pair, whose ratio
 * is the geometric mean of theirs, and the median of the pairs counts. Prints it for each problem
 * that both have, with all rounds, and the geometric mean and the extremes of all: above 1, the
 * first database's is slower.
 *
 * usage: winners FIRST.db SECOND.db [GEOMEAN WORST [BEST]]   fails beyond these ratios,
 * as 1.01 1.03 and, for two tunes that should agree, 0.97 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "api/records/select.h"
#include "device.h"
#include "subject.h"
#include "tuner/measure/local.h"
#include "tuner/summary.h"

enum { PAIRS = 4, ROUNDS = 2 * PAIRS, SAMPLES = 31, MOST = 1024 };

typedef struct pair {
    const rdt_row *row[2]; /* of the first and of the second database */
    double ratio[ROUNDS];  /* the first's time over the second's */
} pair;

/* Of all pairs. */
typedef struct verdict {
    double geomean, worst, best;
    size_t same;
} verdict;

static redtune_error err;
static device gpu;
static workshop shop;

static int fail(const char *what) {
    fprintf(stderr, "winners: cannot %s: %s\n", what, err.message);
    return 1;
}

static redtune_status make(void *user, const redtune_problem *problem, const rdt_point *point,
                           const rdt_launch *launch, rdt_kernel **out, redtune_error *failure) {
    (void)user;
    return rdt_builder_make(shop.builder, gpu.context, problem, point, launch, out, failure);
}

static bool is_same(const rdt_trial *a, const rdt_trial *b) {
    return a->cache == b->cache && rdt_problem_same(&a->problem, &b->problem);
}

static size_t match(const rdt_rows *first, const rdt_rows *second, pair *pairs) {
    size_t count = 0;
    for (size_t i = 0; i < first->count && count < MOST; i++)
        for (size_t k = 0; k < second->count && count < MOST; k++)
            if (is_same(&first->row[i].trial, &second->row[k].trial) &&
                rdt_facts_same_model(&first->row[i].gpu, &gpu.context->facts) &&
                rdt_facts_same_model(&second->row[k].gpu, &gpu.context->facts))
                pairs[count++] = (pair){.row = {&first->row[i], &second->row[k]}};
    return count;
}

static redtune_status prepare(const rdt_trial *trial, rdt_candidate *out) {
    rdt_case at = {&trial->problem, &gpu.context->facts};
    redtune_status status = rdt_point_read(rdt_codegen_spaces(shop.codegen), trial->family,
                                           trial->config, &out->point, &err);
    return status ? status : rdt_rules_launch(shop.codegen, at, &out->point, &out->launch, &err);
}

static redtune_status race(const rdt_evaluator *evaluator, pair *each, int round) {
    const rdt_trial *trial = &each->row[0]->trial;
    const int first = round % 2; /* of the two, which is made and timed first */
    double samples[2 * SAMPLES], median[2], spread;
    rdt_candidate candidates[2];
    rdt_verdict verdicts[2] = {{.outcome = RDT_OUTCOME_GOOD}, {.outcome = RDT_OUTCOME_GOOD}};
    rdt_conditions conditions[2];
    rdt_batch batch = {&trial->problem, candidates, 2};
    redtune_status status = REDTUNE_OK;
    for (int i = 0; !status && i < 2; i++)
        status = prepare(&each->row[i]->trial, &candidates[i ^ first]);
    if (!status)
        status = evaluator->time(evaluator->self, &batch, trial->cache, SAMPLES, samples, verdicts,
                                 conditions, &err);
    for (int i = 0; !status && i < 2; i++)
        rdt_summary_of(&samples[(i ^ first) * SAMPLES], SAMPLES, &median[i], &spread);
    if (!status) each->ratio[round] = median[0] / median[1];
    return status;
}

static bool is_tie(const pair *each) {
    return !strcmp(each->row[0]->trial.config, each->row[1]->trial.config);
}

/* One round of those of one class: they share the test data. */
static redtune_status race_class(pair *pairs, size_t count, int round) {
    const rdt_local_parts parts = {.context = gpu.context, .maker = {shop.codegen, make, NULL}};
    rdt_domain domain = rdt_problem_domain(&pairs[0].row[0]->trial.problem, 1);
    rdt_local *local = NULL;
    rdt_buffer shift = {0}; /* lies where the data lay in another round */
    for (size_t i = 0; i < count; i++) rdt_problem_widen(&domain, &pairs[i].row[0]->trial.problem);
    redtune_status status =
        rdt_buffer_create(gpu.driver, ((size_t)round * 37 + 1) << 20, &shift, &err);
    rdt_evaluator evaluator;
    if (!status) status = rdt_local_replace(&local, &parts, &domain, &evaluator, &err);
    for (size_t i = 0; !status && i < count; i++) {
        if (!is_tie(&pairs[i])) status = race(&evaluator, &pairs[i], round);
    }
    rdt_local_destroy(local);
    rdt_buffer_destroy(&shift);
    return status;
}

static redtune_status race_all(pair *pairs, size_t count) {
    redtune_status status = REDTUNE_OK;
    for (int round = 0; !status && round < ROUNDS; round++)
        for (size_t first = 0, end; !status && first < count; first = end) {
            end = first + 1;
            while (end < count && rdt_problem_same_class(&pairs[first].row[0]->trial.problem,
                                                         &pairs[end].row[0]->trial.problem))
                end++;
            status = race_class(&pairs[first], end - first, round);
        }
    return status;
}

static verdict judge(const pair *pairs, size_t count) {
    verdict out = {.worst = 1, .best = 1};
    double log_sum = 0;
    for (size_t i = 0; i < count; i++) {
        const rdt_trial *trial = &pairs[i].row[0]->trial;
        double paired[PAIRS], ratio, spread;
        out.same += is_tie(&pairs[i]);
        if (is_tie(&pairs[i])) continue;
        for (int k = 0; k < PAIRS; k++)
            paired[k] = sqrt(pairs[i].ratio[2 * k] * pairs[i].ratio[2 * k + 1]);
        rdt_summary_of(paired, PAIRS, &ratio, &spread);
        char text[RDT_PROBLEM_TEXT_BYTES];
        rdt_problem_describe(&trial->problem, text);
        printf("%s, %s  %.4f (", text, trial->cache == RDT_CACHE_COLD ? "cold" : "warm", ratio);
        for (int k = 0; k < ROUNDS; k++) printf("%s%.3f", k ? " " : "", pairs[i].ratio[k]);
        printf(")  %s | %s\n", trial->config, pairs[i].row[1]->trial.config);
        log_sum += log(ratio);
        if (ratio > out.worst) out.worst = ratio;
        if (ratio < out.best) out.best = ratio;
    }
    out.geomean = count ? exp(log_sum / (double)count) : 0;
    return out;
}

static redtune_status keep_winner(void *user, const rdt_standing *standing, redtune_error *error) {
    return rdt_rows_add(user, standing->winner, error);
}

static redtune_status read_winners(const char *path, rdt_rows *out) {
    rdt_rows rows = {0};
    rdt_tuning *tuning = NULL;
    redtune_status status = rdt_tuning_open_read(path, &tuning, &err);
    if (!status)
        status =
            rdt_tuning_each_contender(tuning, NULL, RDT_CACHE_COLD, rdt_rows_keep, &rows, &err);
    if (!status) status = rdt_rows_rank(&rows, keep_winner, out, &err);
    rdt_rows_free(&rows);
    rdt_tuning_close(tuning);
    return status;
}

static int run(const char *const *paths, const verdict *bounds) {
    static pair pairs[MOST];
    rdt_rows winners[2] = {{0}};
    for (int i = 0; i < 2; i++)
        if (read_winners(paths[i], &winners[i])) return fail("read the winners");
    size_t count = match(&winners[0], &winners[1], pairs);
    if (race_all(pairs, count)) return fail("time winners");
    verdict found = judge(pairs, count);
    rdt_rows_free(&winners[0]);
    rdt_rows_free(&winners[1]);
    printf("%zu problems, %zu with the same winner; geometric mean %.4f, %.4f to %.4f\n", count,
           found.same, found.geomean, found.best, found.worst);
    return count && found.geomean <= bounds->geomean && found.worst <= bounds->worst &&
                   found.best >= bounds->best
               ? 0
               : 1;
}

int main(int argc, char **argv) {
    if (argc != 3 && argc != 5 && argc != 6) {
        fprintf(stderr, "usage: winners FIRST.db SECOND.db [GEOMEAN WORST [BEST]]\n");
        return 2;
    }
    const verdict bounds = {.geomean = argc > 4 ? atof(argv[3]) : INFINITY,
                            .worst = argc > 4 ? atof(argv[4]) : INFINITY,
                            .best = argc > 5 ? atof(argv[5]) : 0};
    if (device_open(&gpu, &err)) return fail("open the GPU");
    if (workshop_open(&gpu, &shop, &err)) return fail("open the templates");
    int code = run((const char *const *)argv + 1, &bounds);
    workshop_close(&shop);
    device_close(&gpu);
    return code;
}
