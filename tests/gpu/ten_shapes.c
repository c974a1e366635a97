/* Ten shapes: a program that reduces arrays of ten shapes, and times them cold, on GPU 0. Run with
 * REDTUNE_RECORD it leaves a recording for `redtune tune --recorded`. Prints a line for each: its
 * time in us, how near the measurement is that chose its config, and the shape.
 *
 * usage: ten_shapes [exact]   exact: fails unless each config was measured at that very shape */
#include <stdio.h>
#include "shaped.h"
#include "turns.h"

enum { SHAPES = 10, SAMPLES = 15 };

/* None is of the default grid. */
static const shaped shapes[SHAPES] = {
    {.op = REDTUNE_SUM, .dtype = REDTUNE_F32, .count = 12345678},
    {.op = REDTUNE_SUM, .dtype = REDTUNE_F32, .count = 333, .outer = 50000},
    {.op = REDTUNE_SUM, .dtype = REDTUNE_F32, .count = 7000, .inner = 1234},
    {.op = REDTUNE_SUM, .dtype = REDTUNE_F32, .count = 500, .outer = 20, .inner = 300},
    {.op = REDTUNE_SUM, .dtype = REDTUNE_F32, .count = 1000, .outer = 3000, .outer_step = 1024},
    {.op = REDTUNE_SUM, .dtype = REDTUNE_F16, .count = 40961, .outer = 24},
    {.op = REDTUNE_SUM, .dtype = REDTUNE_F16, .count = 30001, .inner = 60},
    {.op = REDTUNE_MAX, .dtype = REDTUNE_F32, .count = 77, .outer = 100000},
    {.op = REDTUNE_ARGMAX, .dtype = REDTUNE_F32, .count = 1000, .inner = 5001},
    {.op = REDTUNE_MEAN, .dtype = REDTUNE_F32, .count = 5003, .outer = 701},
};
/* On a simulated device. */
static const shaped small[SHAPES] = {
    {.op = REDTUNE_SUM, .dtype = REDTUNE_F32, .count = 1234},
    {.op = REDTUNE_SUM, .dtype = REDTUNE_F32, .count = 33, .outer = 20},
    {.op = REDTUNE_SUM, .dtype = REDTUNE_F32, .count = 33, .outer = 21},
    {.op = REDTUNE_SUM, .dtype = REDTUNE_F32, .count = 34, .outer = 20},
    {.op = REDTUNE_SUM, .dtype = REDTUNE_F32, .count = 33, .outer = 20, .outer_step = 40},
    {.op = REDTUNE_SUM, .dtype = REDTUNE_F32, .count = 20, .inner = 30},
    {.op = REDTUNE_SUM, .dtype = REDTUNE_F32, .count = 20, .inner = 31},
    {.op = REDTUNE_SUM, .dtype = REDTUNE_F32, .count = 20, .outer = 3, .inner = 15},
    {.op = REDTUNE_SUM, .dtype = REDTUNE_F32, .count = 21, .outer = 3, .inner = 15},
    {.op = REDTUNE_SUM, .dtype = REDTUNE_F32, .count = 700},
};

static redtune_error err;
static device gpu;
static workshop shop;
static turns race;

static redtune_status time_shape(redtune *rt, const redtune_problem *problem, bool *exact) {
    char text[RDT_PROBLEM_TEXT_BYTES];
    turns_plan plan = {.plan = NULL};
    turns_call call;
    redtune_info info;
    double ns;
    redtune_status status = turns_call_plan(&race, rt, problem, &plan, &call, &err);
    if (!status) status = turns_time(&race, &call, 1, SAMPLES, 0, &ns, &err);
    if (!status) {
        redtune_plan_info(plan.plan, &info);
        rdt_problem_describe(&call.problem, text);
        printf("%.3f\t%s\t%s\t%s:%s\n", ns / 1e3, redtune_match_name(info.match), text, info.family,
               info.config);
        *exact = *exact && info.match == REDTUNE_MATCH_EXACT;
    }
    redtune_plan_destroy(plan.plan);
    return status;
}

static redtune_status time_all(bool *exact) {
    redtune *rt = NULL;
    redtune_status status = redtune_open(NULL, &rt, &err);
    for (int i = 0; !status && i < SHAPES; i++) {
        const redtune_problem problem =
            shaped_problem(device_is_simulated(&gpu) ? small[i] : shapes[i]);
        status = time_shape(rt, &problem, exact);
    }
    redtune_close(rt);
    return status;
}

int main(int argc, char **argv) {
    const turns_sizes size = {(size_t)1 << 30, (size_t)1 << 26, (uint64_t)1 << 26};
    const bool must_be_exact = argc > 1 && !strcmp(argv[1], "exact");
    bool exact = true;
    if (device_open(&gpu, &err)) {
        fprintf(stderr, "no GPU: %s\n", err.message);
        return 77;
    }
    redtune_status status = workshop_open(&gpu, &shop, &err);
    if (!status) status = turns_open(&shop, size, &race, &err);
    if (!status) status = time_all(&exact);
    if (status) fprintf(stderr, "ten_shapes: %s\n", err.message);
    turns_close(&race);
    workshop_close(&shop);
    device_close(&gpu);
    return status || (must_be_exact && !exact);
}
