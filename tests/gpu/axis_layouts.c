/* Axis layouts: sums over the middle axis of an array, and of matrices with a pitch, against those
 * of packed columns, or rows, of as many elements and results, in turns on GPU 0, by the configs
 * that plans get. Prints a line for each, and the greatest ratio; and fails beyond MOST, as 1.10.
 *
 * usage: axis_layouts [MOST [DATABASE]]   without DATABASE redtune's own */
#include <math.h>
#include <stdio.h>
#include "shaped.h"
#include "turns.h"

enum { ROUNDS = 4, SAMPLES = 15 };

static const struct {
    const char *text, *than;
    shaped at; /* extents of it */
} layouts[] = {
    {"64 x 512 x 512, axis 1", "columns", {.count = 512, .outer = 64, .inner = 512}},
    {"8 x 1000 x 77, axis 1", "columns", {.count = 1000, .outer = 8, .inner = 77}},
    {"1024 x 1024 x 1024, axis 1", "columns", {.count = 1024, .outer = 1024, .inner = 1024}},
    {"16384 x 1000, pitch 1024, axis 1",
     "rows",
     {.count = 1000, .outer = 16384, .inner = 1, .outer_step = 1024}},
    {"16384 x 1000, pitch 1024, axis 0", "columns", {.count = 16384, .inner = 1000, .step = 1024}},
};

static redtune_error err;
static device gpu;
static workshop shop;
static turns race;

static uint64_t at_most(uint64_t value, uint64_t most) { return value < most ? value : most; }

/* Small ones on a simulated device: to see that all of it runs. */
static redtune_problem problem_of(size_t i, redtune_dtype dtype) {
    shaped out = layouts[i].at;
    out.op = REDTUNE_SUM;
    out.dtype = dtype;
    if (!device_is_simulated(&gpu)) return shaped_problem(out);
    out.count = at_most(out.count, 50);
    out.outer = at_most(out.outer, 7);
    out.inner = at_most(out.inner, 60);
    if (out.outer_step) out.outer_step = 64;
    if (out.step) out.step = 64;
    return shaped_problem(out);
}

/* All results side by side, with nothing between. */
static redtune_problem packed(const redtune_problem *problem) {
    redtune_problem out = *problem;
    shaped of = shaped_of(problem);
    of.outer_step = of.step = 0;
    if (of.inner > 1) {
        of.inner *= of.outer ? of.outer : 1;
        of.outer = 1;
    }
    shape_problem(&out, &of);
    return out;
}

/* Adds the logarithm of the layout's time over the packed one's, by plans of their own. */
static redtune_status time_round(redtune *rt, const redtune_problem *problems, int round,
                                 double *median_ns, double *log_sum, redtune_info *info) {
    const int first = round % 2; /* of the two, which is made and timed first */
    turns_plan plans[2] = {{0}};
    turns_call calls[2];
    double ns[2];
    redtune_status status = REDTUNE_OK;
    for (int i = 0; !status && i < 2; i++)
        status = turns_call_plan(&race, rt, &problems[i ^ first], &plans[i], &calls[i], &err);
    if (!status) status = turns_time(&race, calls, 2, SAMPLES, 0, ns, &err);
    if (!status) {
        redtune_plan_info(plans[first].plan, info);
        *log_sum += log(ns[first] / ns[!first]);
        for (int i = 0; i < 2; i++) median_ns[i] = ns[i ^ first];
    }
    for (int i = 0; i < 2; i++) redtune_plan_destroy(plans[i].plan);
    return status;
}

static redtune_status time_layout(const char *database, size_t i, redtune_dtype dtype,
                                  double *worst) {
    const redtune_options options = {.database = database};
    const redtune_problem problem = problem_of(i, dtype);
    const redtune_problem problems[2] = {problem, packed(&problem)};
    double ns[2] = {0}, log_sum = 0;
    redtune_info info;
    redtune_status status = REDTUNE_OK;
    for (int round = 0; !status && round < ROUNDS; round++) { /* with modules of its own */
        redtune *rt = NULL;
        status = redtune_open(&options, &rt, &err);
        if (!status) status = time_round(rt, problems, round, ns, &log_sum, &info);
        redtune_close(rt);
    }
    if (status) return status;
    const double ratio = exp(log_sum / ROUNDS);
    if (ratio > *worst) *worst = ratio;
    printf("%-4s %-33s %8.2f us, %-7s %8.2f us: %.3f  %s, %s:%s\n", redtune_dtype_name(dtype),
           layouts[i].text, ns[0] / 1e3, layouts[i].than, ns[1] / 1e3, ratio,
           redtune_match_name(info.match), info.family, info.config);
    fflush(stdout);
    return REDTUNE_OK;
}

/* What a GPU has no memory for is left out. */
static int time_all(const char *database, double most) {
    static const redtune_dtype dtypes[] = {REDTUNE_F32, REDTUNE_F16};
    double worst = 0;
    int failed = 0;
    for (size_t d = 0; d < 2; d++)
        for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++)
            if (time_layout(database, i, dtypes[d], &worst)) {
                fprintf(stderr, "axis_layouts: %s: %s\n", layouts[i].text, err.message);
                failed = 1;
            }
    printf("greatest ratio %.3f\n", worst);
    return failed || worst > most;
}

int main(int argc, char **argv) {
    const turns_sizes size = {(size_t)9 << 29, (size_t)1 << 28, (uint64_t)1 << 26};
    if (device_open(&gpu, &err)) {
        fprintf(stderr, "no GPU: %s\n", err.message);
        return 77;
    }
    redtune_status status = workshop_open(&gpu, &shop, &err);
    if (!status) status = turns_open(&shop, size, &race, &err);
    if (status) fprintf(stderr, "axis_layouts: %s\n", err.message);
    const int failed =
        status ? 1 : time_all(argc > 2 ? argv[2] : NULL, argc > 1 ? atof(argv[1]) : INFINITY);
    turns_close(&race);
    workshop_close(&shop);
    device_close(&gpu);
    return failed;
}
