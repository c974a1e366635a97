/* Several: ops of two results in one pass against ops of one, on whole arrays of 16, 64, 256 and
 * 1024 MiB of f32, in turns on GPU 0, by the configs that plans get. A round opens redtune anew and
 * makes both plans, in one order and then in the other: where code lies makes one or the other
 * faster. Prints a line for each pair and size, and for each pair the geometric mean; and fails
 * where a geometric mean of the rounds is beyond MOST, as 1.03.
 *
 * usage: several [MOST [DATABASE]]   without DATABASE redtune's own */
#include <math.h>
#include <stdio.h>
#include "turns.h"

enum { ROUNDS = 6, SAMPLES = 11, SIZES = 4, SIMULATED_COUNT = 5000 };

static const struct {
    const char *op, *than;
} pairs[] = {
    {"minmax", "min"},        {"mean_var", "mean"}, {"mean_var", "sum"},  {"sum_sumsq", "sum"},
    {"sum_nonfinite", "sum"}, {"min_at", "argmin"}, {"max_at", "argmax"},
};
static const unsigned sizes_mib[SIZES] = {16, 64, 256, 1024};

static redtune_error err;
static device gpu;
static workshop shop;
static turns race;

/* Small ones on a simulated device: to see that all of it runs. */
static redtune_problem problem_of(redtune_op op, unsigned mib) {
    const uint64_t count = ((uint64_t)mib << 20) / sizeof(float);
    return redtune_problem_whole(op, REDTUNE_F32,
                                 device_is_simulated(&gpu) ? SIMULATED_COUNT : count);
}

/* Adds the logarithm of the first problem's time over the second's, by plans of their own. */
static redtune_status time_round(redtune *rt, const redtune_problem problems[2], int round,
                                 double median_ns[2], double *log_sum, redtune_info info[2]) {
    const int first = round % 2; /* of the two, which is made and timed first */
    turns_plan plans[2] = {{0}};
    turns_call calls[2];
    double ns[2];
    redtune_status status = REDTUNE_OK;
    for (int i = 0; !status && i < 2; i++)
        status = turns_call_plan(&race, rt, &problems[i ^ first], &plans[i], &calls[i], &err);
    if (!status) status = turns_time(&race, calls, 2, SAMPLES, 0, ns, &err);
    for (int i = 0; !status && i < 2; i++) {
        redtune_plan_info(plans[i].plan, &info[i ^ first]);
        median_ns[i ^ first] = ns[i];
    }
    if (!status) *log_sum += log(median_ns[0] / median_ns[1]);
    for (int i = 0; i < 2; i++) redtune_plan_destroy(plans[i].plan);
    return status;
}

static redtune_status time_pair(const char *database, size_t i, unsigned mib, double *ratio) {
    const redtune_options options = {.database = database};
    redtune_op op[2];
    double ns[2] = {0}, log_sum = 0;
    redtune_info info[2];
    redtune_status status = redtune_op_find(pairs[i].op, &op[0], &err);
    if (!status) status = redtune_op_find(pairs[i].than, &op[1], &err);
    if (status) return status;
    const redtune_problem problems[2] = {problem_of(op[0], mib), problem_of(op[1], mib)};
    for (int round = 0; !status && round < ROUNDS; round++) { /* with modules of its own */
        redtune *rt = NULL;
        status = redtune_open(&options, &rt, &err);
        if (!status) status = time_round(rt, problems, round, ns, &log_sum, info);
        redtune_close(rt);
    }
    if (status) return status;
    *ratio = exp(log_sum / ROUNDS);
    printf("%-13s %4u MiB %8.2f us, %-6s %8.2f us: %.3f  %s, %s | %s, %s\n", pairs[i].op, mib,
           ns[0] / 1e3, pairs[i].than, ns[1] / 1e3, *ratio, redtune_match_name(info[0].match),
           info[0].config, redtune_match_name(info[1].match), info[1].config);
    fflush(stdout);
    return REDTUNE_OK;
}

/* What fails, as for want of memory, is left out, with what is larger. */
static int time_all(const char *database, double most) {
    char summary[2000] = "";
    double worst = 0;
    int failed = 0;
    for (size_t i = 0, at = 0; i < sizeof pairs / sizeof *pairs; i++) {
        double log_sum = 0, greatest = 0;
        int timed = 0;
        for (int k = 0; k < SIZES; k++) {
            double ratio;
            if (time_pair(database, i, sizes_mib[k], &ratio)) {
                fprintf(stderr, "several: %s of %u MiB: %s\n", pairs[i].op, sizes_mib[k],
                        err.message);
                failed = 1;
                break;
            }
            log_sum += log(ratio);
            timed++;
            if (ratio > greatest) greatest = ratio;
        }
        if (greatest > worst) worst = greatest;
        if (timed)
            at += (size_t)snprintf(summary + at, sizeof summary - at,
                                   "%-13s / %-6s %.3f, greatest %.3f\n", pairs[i].op, pairs[i].than,
                                   exp(log_sum / timed), greatest);
    }
    printf("\n%sgreatest ratio %.3f\n", summary, worst);
    return failed || worst > most;
}

int main(int argc, char **argv) {
    const turns_sizes size = {(size_t)9 << 29, (size_t)1 << 20, (uint64_t)1 << 26};
    if (device_open(&gpu, &err)) {
        fprintf(stderr, "no GPU: %s\n", err.message);
        return 77;
    }
    redtune_status status = workshop_open(&gpu, &shop, &err);
    if (!status) status = turns_open(&shop, size, &race, &err);
    if (status) fprintf(stderr, "several: %s\n", err.message);
    const int failed =
        status ? 1 : time_all(argc > 2 ? argv[2] : NULL, argc > 1 ? atof(argv[1]) : INFINITY);
    turns_close(&race);
    workshop_close(&shop);
    device_close(&gpu);
    return failed;
}
