/* Ones: what the tests of redtune.h share: a GPU, many f32 that are 1 on it, and room for results.
 * A file that includes it has them to itself. */
#pragma once

#include "check.h"
#include "device.h"

static redtune_error err;
static device gpu;

enum { COUNT = 300001, RESULTS = 4096 };

/* COUNT f32 that are 1, and RESULTS f32. */
static rdt_buffer ones, results;

__attribute__((unused)) static redtune_problem sum_of(uint64_t count) {
    return redtune_problem_whole(REDTUNE_SUM, REDTUNE_F32, count);
}

__attribute__((unused)) static void *input(void) { return (void *)(uintptr_t)ones.address; }

static void *output(size_t index) {
    return (void *)(uintptr_t)(results.address + index * sizeof(float));
}

__attribute__((unused)) static float result(size_t index) {
    float value = -1;
    if (rdt_buffer_read(gpu.driver, &value, results.address + index * sizeof value, sizeof value,
                        gpu.stream, &err))
        return -2;
    return value;
}

/* Without a database, so that the built-in default runs. */
__attribute__((unused)) static redtune_status open_usual(redtune **rt) {
    const redtune_options options = {.database = "/nowhere/at/all.db"};
    return redtune_open(&options, rt, &err);
}

__attribute__((unused)) static redtune_status
open_and_plan(redtune **rt, const redtune_problem *problem, redtune_plan **plan) {
    redtune_status status = open_usual(rt);
    return status ? status : redtune_plan_create(*rt, problem, plan, &err);
}

/* Where there is no GPU, it says so, and facts are skipped. */
static void ones_open(void) {
    redtune_status status = device_open(&gpu, &err);
    if (!status) status = device_ones(&gpu, COUNT, &ones, &err);
    if (!status) status = rdt_buffer_create(gpu.driver, RESULTS * sizeof(float), &results, &err);
    if (status) fprintf(stderr, "no GPU: %s\n", err.message);
    if (!gpu.context) check_missing = "there is no GPU";
}

static void ones_close(void) {
    rdt_buffer_destroy(&ones);
    rdt_buffer_destroy(&results);
    device_close(&gpu);
}

/* What main returns: the facts run between both. */
__attribute__((unused)) static int ones_run(int argc, char **argv) {
    ones_open();
    const int rc = check_run(argc, argv);
    ones_close();
    return rc;
}
