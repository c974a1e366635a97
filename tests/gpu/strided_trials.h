/* Strided trials: reductions of any axes and steps, and masks of them, as the tests run them.
 * Elements are small whole numbers, so that sums are exact; what lies between results stays as it
 * was. */
#pragma once

#include <math.h>
#include "check.h"
#include "device.h"
#include "draw.h"
#include "gpu/graph.h"
#include "model/problem.h"

enum { ROOM = 40000, OUT_ROOM = 3000, POISON = 0xa5, AXES_MAX = REDTUNE_AXES_MAX };
enum { X = REDTUNE_ARRAY_X, Y = REDTUNE_ARRAY_Y, MASK = REDTUNE_ARRAY_MASK };
enum { OUT = REDTUNE_ARRAY_RESULTS, INPUTS = 3 };

static redtune_error err;
static device gpu;
static redtune *rt;
static float numbers[2][ROOM];
static unsigned char there[ROOM];
static rdt_buffer memory[INPUTS], out[2]; /* x, y and the mask; the results */

/* A problem, and where the elements and results with indices 0 are. */
typedef struct trial {
    redtune_problem problem;
    size_t first[INPUTS], out_first;
} trial;

#define NEED_GPU()                                                                                 \
    do {                                                                                           \
        if (!gpu.context) SKIP("there is no GPU");                                                 \
    } while (0)

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

/* ---- problems -------------------------------------------------------------------------------- */

static uint32_t axis_count(const redtune_problem *p) { return p->kept_axes + p->reduced_axes; }

static redtune_axis *axis_of(redtune_problem *p, uint32_t i) {
    return i < p->kept_axes ? &p->kept[i] : &p->reduced[i - p->kept_axes];
}

/* Where number n along the axes is, row-major. */
static int64_t place_of(const redtune_axis *axes, uint32_t count, int array, uint64_t n) {
    int64_t place = 0;
    for (uint32_t i = count; i-- > 0; n /= axes[i].size)
        place += (int64_t)(n % axes[i].size) * axes[i].step[array];
    return place;
}

static uint64_t size_of(const redtune_axis *axes, uint32_t count) {
    uint64_t all = 1;
    for (uint32_t i = 0; i < count; i++) all *= axes[i].size;
    return all;
}

static size_t element_of(const trial *at, int array, uint64_t r, uint64_t e) {
    const redtune_problem *p = &at->problem;
    return (size_t)((int64_t)at->first[array] + place_of(p->kept, p->kept_axes, array, r) +
                    place_of(p->reduced, p->reduced_axes, array, e));
}

static size_t result_of(const trial *at, uint64_t r) {
    const redtune_problem *p = &at->problem;
    const bool given = p->steps >> OUT & 1;
    return (size_t)((int64_t)at->out_first +
                    (given ? place_of(p->kept, p->kept_axes, OUT, r) : (int64_t)r));
}

/* ---- running --------------------------------------------------------------------------------- */

static uint64_t count_of(const trial *at) {
    return size_of(at->problem.reduced, at->problem.reduced_axes);
}

static uint64_t results_of(const trial *at) {
    return size_of(at->problem.kept, at->problem.kept_axes);
}

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

/* The two results: of sums and dots the first, of the greatest both. */
static void reference(const trial *at, uint64_t r, float *value, int64_t *index) {
    const bool sums = at->problem.op == REDTUNE_SUM || at->problem.op == REDTUNE_DOT;
    *value = sums ? 0 : -INFINITY;
    *index = -1;
    for (uint64_t e = 0; e < count_of(at); e++) {
        const float x = numbers[0][element_of(at, X, r, e)];
        if (at->problem.mask && !there[element_of(at, MASK, r, e)]) continue;
        if (at->problem.op == REDTUNE_DOT)
            *value += x * numbers[1][element_of(at, Y, r, e)];
        else if (sums)
            *value += x;
        else if (x > *value) {
            *value = x;
            *index = (int64_t)e;
        }
    }
}

static void describe(const trial *at, char *text, size_t bytes) {
    size_t length = (size_t)snprintf(text, bytes, "%s", redtune_op_name(at->problem.op));
    redtune_problem p = at->problem;
    for (uint32_t i = 0; i < axis_count(&p) && length < bytes; i++) {
        const redtune_axis *axis = axis_of(&p, i);
        length += (size_t)snprintf(text + length, bytes - length, " %s%d@%d,%d,%d,%d",
                                   i == p.kept_axes ? "| " : "", (int)axis->size,
                                   (int)axis->step[X], (int)axis->step[Y],
                                   p.mask ? (int)axis->step[MASK] : 0, (int)axis->step[OUT]);
    }
}

static void check_outputs(const trial *at) {
    static unsigned char got[2][OUT_ROOM * 8], want[2][OUT_ROOM * 8];
    const redtune_op op = at->problem.op;
    char text[600];
    describe(at, text, sizeof text);
    memset(want, POISON, sizeof want);
    for (uint64_t r = 0; r < results_of(at); r++) {
        const size_t place = result_of(at, r);
        float value;
        int64_t index;
        reference(at, r, &value, &index);
        if (op == REDTUNE_ARGMAX)
            memcpy(want[0] + place * 8, &index, 8);
        else
            memcpy(want[0] + place * 4, &value, 4);
        if (op == REDTUNE_MAX_AT) memcpy(want[1] + place * 8, &index, 8);
    }
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
