/* Neighbours: the neighbours of a point. */
#include "tuner/search/neighbours.h"

bool rdt_neighbours_step(const rdt_space *space, const rdt_config *config, int i, int steps,
                         rdt_config *out) {
    const rdt_param *param = &space->param[i];
    int at = rdt_param_find(param, config->value[i]) + steps;
    if (rdt_param_is_named(param) || at < 0 || at >= param->value_count) return false;
    *out = *config;
    out->value[i] = param->value[at];
    return true;
}

bool rdt_neighbours_same_kind(const rdt_space *space, const rdt_config *a, const rdt_config *b) {
    for (int i = 0; i < space->param_count; i++)
        if (rdt_param_is_named(&space->param[i]) && a->value[i] != b->value[i]) return false;
    return true;
}

static void each_single(const rdt_space *space, const rdt_config *config, rdt_neighbours_fn *each,
                        void *user) {
    rdt_config moved;
    for (int i = 0; i < space->param_count; i++) {
        if (rdt_neighbours_step(space, config, i, 1, &moved)) each(user, &moved);
        if (rdt_neighbours_step(space, config, i, -1, &moved)) each(user, &moved);
    }
    for (int i = 0; i < space->param_count; i++) {
        const rdt_param *param = &space->param[i];
        for (int k = 0; rdt_param_is_named(param) && k < param->value_count; k++) {
            if (param->value[k] == config->value[i]) continue;
            moved = *config;
            moved.value[i] = param->value[k];
            each(user, &moved);
        }
    }
}

static void each_pair(const rdt_space *space, const rdt_config *config, int steps,
                      rdt_neighbours_fn *each, void *user) {
    rdt_config up, moved;
    for (int i = 0; i < space->param_count; i++) {
        if (!rdt_neighbours_step(space, config, i, steps, &up)) continue;
        for (int k = 0; k < space->param_count; k++)
            if (k != i && rdt_neighbours_step(space, &up, k, -steps, &moved)) each(user, &moved);
    }
}

void rdt_neighbours_each(const rdt_space *space, const rdt_config *config, int stage,
                         rdt_neighbours_fn *each, void *user) {
    if (stage == 0)
        each_single(space, config, each, user);
    else
        each_pair(space, config, stage, each, user);
}
