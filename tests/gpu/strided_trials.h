/* Strided trials: reductions of any axes and steps, and masks of them, as the tests run them: what
 * lies between results stays as it was. */
#pragma once

#include "device.h"
#include "gpu/graph.h"
#include "strided_places.h"

static redtune_error err;
static device gpu;
static redtune *rt;
static rdt_buffer memory[INPUTS], out[2]; /* x, y and the mask; the results */

/* Without a database, so that the built-in default runs. */
static void begin(void) {
    const redtune_options options = {.database = "/nowhere/at/all.db"};
    CHECK_OK(redtune_open(&options, &rt, &err), err);
    for (int i = 0; i < INPUTS; i++)
        CHECK_OK(rdt_buffer_create(gpu.driver, sizeof numbers[0], &memory[i], &err), err);
    for (int i = 0; i < 2; i++) {
        CHECK_OK(rdt_buffer_create(gpu.driver, OUT_ROOM * 8, &out[i], &err), err);
    }
}

static void end(void) {
    redtune_close(rt);
    rt = NULL;
    for (int i = 0; i < INPUTS; i++) rdt_buffer_destroy(&memory[i]);
    for (int i = 0; i < 2; i++) rdt_buffer_destroy(&out[i]);
}

/* ---- running -------------------------------------------------------------------------------- */

static void upload(void) {
    for (int i = 0; i < 2; i++) {
        CHECK_OK(rdt_buffer_write(gpu.driver, memory[i].address, numbers[i], sizeof numbers[i],
                                  gpu.stream, &err),
                 err);
        gpu.driver->memset_d8_async(out[i].address, POISON, OUT_ROOM * 8, gpu.stream);
    }
    CHECK_OK(
        rdt_buffer_write(gpu.driver, memory[MASK].address, there, sizeof there, gpu.stream, &err),
        err);
}

static redtune_operands operands_of(const trial *at) {
    const redtune_op op = at->problem.op;
    const size_t bytes = op == REDTUNE_ARGMAX ? 8 : 4, place = at->out_first;
    redtune_operands operands = {
        .d_in = {(float *)(uintptr_t)memory[0].address + at->first[0]},
        .d_out = {(char *)(uintptr_t)out[0].address + place * bytes},
    };
    if (op == REDTUNE_DOT) operands.d_in[1] = (float *)(uintptr_t)memory[1].address + at->first[1];
    if (at->problem.mask)
        operands.d_mask = (char *)(uintptr_t)memory[MASK].address + at->first[MASK];
    if (op == REDTUNE_MAX_AT) operands.d_out[1] = (char *)(uintptr_t)out[1].address + place * 8;
    return operands;
}

static void check_outputs(const trial *at) {
    static unsigned char got[2][OUT_ROOM * 8], want[2][OUT_ROOM * 8];
    char text[600];
    describe(at, text, sizeof text);
    want_outputs(at, want);
    for (int i = 0; i < 2; i++) {
        size_t k = 0;
        CHECK_OK(
            rdt_buffer_read(gpu.driver, got[i], out[i].address, sizeof got[i], gpu.stream, &err),
            err);
        while (k < sizeof got[i] && got[i][k] == want[i][k]) k++;
        check_that(k == sizeof got[i], __FILE__, __LINE__, "byte %zu of output %d differs: %s, %s",
                   k, i, text, at->problem.config ? at->problem.config : "by default");
    }
}

__attribute__((unused)) static void run(const trial *at) {
    const redtune_operands operands = operands_of(at);
    upload();
    CHECK_OK(redtune_run(rt, &at->problem, &operands, gpu.stream, &err), err);
    check_outputs(at);
}

__attribute__((unused)) static void run_plan(const trial *at) {
    const redtune_operands operands = operands_of(at);
    redtune_plan *plan = NULL;
    upload();
    CHECK_OK(redtune_plan_create(rt, &at->problem, &plan, &err), err);
    CHECK_OK(redtune_plan_run(plan, &operands, gpu.stream, &err), err);
    check_outputs(at);
    redtune_plan_destroy(plan);
}
