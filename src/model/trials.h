/* Trials: a growing list of them. */
#pragma once

#include "model/trial.h"

/* Valid when zeroed: empty. */
typedef struct rdt_trials {
    rdt_trial *trial;
    size_t count, capacity;
} rdt_trials;

redtune_status rdt_trials_add(rdt_trials *trials, const rdt_trial *added, size_t count,
                              redtune_error *err);
/* How many are of problems of the same extents as this one. */
size_t rdt_trials_at(const rdt_trials *trials, const redtune_problem *problem);
/* Lists those; the caller frees the list. */
redtune_status rdt_trials_list(const rdt_trials *trials, const redtune_problem *problem,
                               const rdt_trial ***out, size_t *count, redtune_error *err);
void rdt_trials_free(rdt_trials *trials);
