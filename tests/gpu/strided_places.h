/* Strided places: problems of any axes and steps, where their elements and results lie in the
 * host's arrays, and what the results are. Elements are small whole numbers, so that sums are
 * exact. */
#pragma once

#include <math.h>
#include <stdio.h>
#include "check.h"
#include "draw.h"
#include "model/problem.h"

enum { ROOM = 40000, OUT_ROOM = 3000, POISON = 0xa5, AXES_MAX = REDTUNE_AXES_MAX };
enum { X = REDTUNE_ARRAY_X, Y = REDTUNE_ARRAY_Y, MASK = REDTUNE_ARRAY_MASK };
enum { OUT = REDTUNE_ARRAY_RESULTS, INPUTS = 3 };

static float numbers[2][ROOM];
static unsigned char there[ROOM];

/* A problem, and where the elements and results with indices 0 are. */
typedef struct trial {
    redtune_problem problem;
    size_t first[INPUTS], out_first;
    uint64_t least; /* with a count on the GPU: that */
} trial;

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

static uint64_t count_of(const trial *at) {
    return size_of(at->problem.reduced, at->problem.reduced_axes);
}

static uint64_t results_of(const trial *at) {
    return size_of(at->problem.kept, at->problem.kept_axes);
}

/* The two results: of sums and dots the first, of the greatest both. */
static void reference(const trial *at, uint64_t r, float *value, int64_t *index) {
    const bool sums = at->problem.op == REDTUNE_SUM || at->problem.op == REDTUNE_DOT;
    *value = sums ? 0 : -INFINITY;
    *index = -1;
    uint64_t count = count_of(at);
    if (at->problem.uses & REDTUNE_USE_DEVICE_COUNT && at->least < count) count = at->least;
    for (uint64_t e = 0; e < count; e++) {
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

/* The bytes of both outputs, as they are to be; what lies between results is poison. */
static void want_outputs(const trial *at, unsigned char want[2][OUT_ROOM * 8]) {
    const redtune_op op = at->problem.op;
    memset(want, POISON, 2 * OUT_ROOM * 8);
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
}
