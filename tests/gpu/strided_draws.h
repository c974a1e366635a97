/* Strided draws: random trials of any axes and steps, and their elements; what lies between
 * elements is poison, which would show in every result. */
#pragma once

#include "strided_places.h"

static int64_t draw_step(int64_t packed, bool may_stay) {
    static const int factors[] = {1, 1, 1, 2, 3, -1, -2, 0};
    return packed * factors[draw(may_stay ? 8 : 7)];
}

/* Lays the array out over the axes in a random order, in at most `room`: its steps, and the element
 * with indices 0; false: there is no room. */
static bool lay_out(redtune_problem *p, int array, uint32_t count, uint64_t room, size_t *first) {
    uint32_t order[2 * AXES_MAX];
    int64_t packed = 1, begin = 0, end = 0;
    const bool plain = !draw(3);
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t k = (uint32_t)draw(i + 1);
        order[i] = order[k];
        order[k] = i;
    }
    for (uint32_t i = 0; i < count; i++) {
        redtune_axis *axis = axis_of(p, plain ? count - 1 - i : order[i]);
        const int64_t step = plain && draw(4) ? packed : draw_step(packed, array != OUT);
        const int64_t way = step * (int64_t)(axis->size - 1);
        axis->step[array] = step;
        *(way < 0 ? &begin : &end) += way;
        if (step) packed = (step < 0 ? -step : step) * (int64_t)axis->size;
        if (end - begin >= (int64_t)room) return false;
    }
    *first = (size_t)(draw(room - (uint64_t)(end - begin)) - (uint64_t)begin);
    return true;
}

static void draw_trial(redtune_op op, uint64_t most, trial *at) {
    for (;;) {
        redtune_problem p = {.op = op, .dtype = REDTUNE_F32};
        uint64_t elements = 1, results = 1;
        p.kept_axes = (uint32_t)draw(4);
        p.reduced_axes = 1 + (uint32_t)draw(3);
        if (!draw(10)) p.reduced_axes = 1 + (uint32_t)draw(6);
        for (uint32_t i = 0; i < axis_count(&p); i++) {
            const uint64_t size = draw(8) ? 1 + draw(9) : 1 + draw(most);
            axis_of(&p, i)->size = size;
            elements *= size;
            if (i < p.kept_axes) results *= size;
        }
        if (elements > ROOM / 2 || results > OUT_ROOM / 8) continue;
        p.steps = 1u << X | 1u << Y | 1u << MASK | (uint32_t)draw(2) << OUT;
        p.mask = draw(2) ? REDTUNE_MASK_BYTES : REDTUNE_MASK_NONE;
        if (!lay_out(&p, X, axis_count(&p), ROOM, &at->first[X]) ||
            !lay_out(&p, Y, axis_count(&p), ROOM, &at->first[Y]) ||
            !lay_out(&p, MASK, axis_count(&p), ROOM, &at->first[MASK]))
            continue;
        at->out_first = 8;
        if (p.steps >> OUT & 1 && !lay_out(&p, OUT, p.kept_axes, OUT_ROOM, &at->out_first))
            continue;
        at->problem = p;
        return;
    }
}

/* Small whole numbers where there are elements, and poison elsewhere. */
static void fill(const trial *at) {
    for (int i = 0; i < 2; i++) {
        for (size_t k = 0; k < ROOM; k++) numbers[i][k] = 1e30f;
        for (uint64_t r = 0; r < results_of(at); r++)
            for (uint64_t e = 0; e < count_of(at); e++)
                numbers[i][element_of(at, i ? Y : X, r, e)] = (float)draw(17) - 8;
    }
    for (size_t k = 0; k < ROOM; k++) there[k] = (unsigned char)(draw(3) ? 1 + draw(255) : 0);
}

/* Whether no kernels of rows or columns serve it. */
static bool is_strided(const trial *at) {
    redtune_problem resolved;
    return !rdt_problem_resolve(&at->problem, &resolved, NULL) && rdt_problem_is_strided(&resolved);
}
