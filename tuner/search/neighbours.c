/* Neighbours: the points that are a step or two from a point. */
#include "tuner/search/neighbours.h"

#include <stdlib.h>

bool rdt_neighbours_step(const rdt_spaces *spaces, const rdt_point *point, int i, int steps,
                         rdt_point *out) {
    const rdt_param *param = &rdt_point_space(spaces, point)->param[i];
    int at = rdt_space_param_find(param, point->value[i]) + steps;
    if (rdt_space_param_is_named(param) || at < 0 || at >= param->value_count) return false;
    *out = *point;
    out->value[i] = param->value[at];
    return true;
}

int rdt_neighbours_distance(const rdt_spaces *spaces, const rdt_point *a, const rdt_point *b) {
    const rdt_space *space = rdt_point_space(spaces, a);
    int steps = 0;
    for (int i = 0; i < space->param_count; i++)
        if (!rdt_space_param_is_named(&space->param[i]))
            steps += abs(rdt_space_param_find(&space->param[i], a->value[i]) -
                         rdt_space_param_find(&space->param[i], b->value[i]));
    return steps;
}

uint64_t rdt_neighbours_kind(const rdt_spaces *spaces, const rdt_point *point) {
    const rdt_space *space = rdt_point_space(spaces, point);
    uint64_t kind = 0;
    for (int i = 0; i < space->param_count; i++)
        if (rdt_space_param_is_named(&space->param[i]))
            kind = kind * RDT_PARAM_VALUE_MAX +
                   (uint64_t)rdt_space_param_find(&space->param[i], point->value[i]);
    return kind * RDT_FAMILY_MAX + (uint64_t)point->family;
}

static void each_single(const rdt_spaces *spaces, const rdt_point *point, rdt_neighbours_fn *each,
                        void *user) {
    const rdt_space *space = rdt_point_space(spaces, point);
    rdt_point moved;
    for (int i = 0; i < space->param_count; i++) {
        if (rdt_neighbours_step(spaces, point, i, 1, &moved)) each(user, &moved);
        if (rdt_neighbours_step(spaces, point, i, -1, &moved)) each(user, &moved);
    }
    for (int i = 0; i < space->param_count; i++) {
        const rdt_param *param = &space->param[i];
        for (int k = 0; rdt_space_param_is_named(param) && k < param->value_count; k++) {
            if (param->value[k] == point->value[i]) continue;
            moved = *point;
            moved.value[i] = param->value[k];
            each(user, &moved);
        }
    }
}

static void each_pair(const rdt_spaces *spaces, const rdt_point *point, int steps,
                      rdt_neighbours_fn *each, void *user) {
    const int count = rdt_point_space(spaces, point)->param_count;
    rdt_point up, moved;
    for (int i = 0; i < count; i++) {
        if (!rdt_neighbours_step(spaces, point, i, steps, &up)) continue;
        for (int k = 0; k < count; k++)
            if (k != i && rdt_neighbours_step(spaces, &up, k, -steps, &moved)) each(user, &moved);
    }
}

void rdt_neighbours_each(const rdt_spaces *spaces, const rdt_point *point, int neighbourhood,
                         rdt_neighbours_fn *each, void *user) {
    if (neighbourhood == 0)
        each_single(spaces, point, each, user);
    else
        each_pair(spaces, point, neighbourhood, each, user);
}
