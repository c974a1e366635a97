/* Trials: a growing list of them. */
#include "model/trials.h"

#include <stdlib.h>
#include <string.h>
#include "base/array.h"

redtune_status rdt_trials_add(rdt_trials *trials, const rdt_trial *added, size_t count,
                              redtune_error *err) {
    redtune_status status =
        RDT_ARRAY_RESERVE(trials->trial, trials->capacity, trials->count + count, err);
    if (status) return status;
    if (count) memcpy(&trials->trial[trials->count], added, count * sizeof *added);
    trials->count += count;
    return REDTUNE_OK;
}

size_t rdt_trials_at(const rdt_trials *trials, const redtune_problem *problem) {
    size_t found = 0;
    for (size_t i = 0; i < trials->count; i++)
        found += rdt_problem_same_extents(&trials->trial[i].problem, problem);
    return found;
}

redtune_status rdt_trials_list(const rdt_trials *trials, const redtune_problem *problem,
                               const rdt_trial ***out, size_t *count, redtune_error *err) {
    const rdt_trial **found = calloc(trials->count + 1, sizeof *found);
    if (!found) return rdt_fail_memory(err, (trials->count + 1) * sizeof *found);
    *count = 0;
    for (size_t i = 0; i < trials->count; i++)
        if (rdt_problem_same_extents(&trials->trial[i].problem, problem))
            found[(*count)++] = &trials->trial[i];
    *out = found;
    return REDTUNE_OK;
}

void rdt_trials_free(rdt_trials *trials) {
    free(trials->trial);
    *trials = (rdt_trials){0};
}
