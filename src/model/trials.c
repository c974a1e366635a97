/* Trials: a growing list of them. */
#include "model/trials.h"

#include <stdlib.h>
#include <string.h>

redtune_status rdt_trials_add(rdt_trials *trials, const rdt_trial *added, size_t count,
                              redtune_error *err) {
    if (trials->count + count > trials->capacity) {
        size_t capacity = trials->capacity ? trials->capacity : 64;
        while (capacity < trials->count + count) capacity *= 2;
        rdt_trial *grown = realloc(trials->trial, capacity * sizeof *grown);
        if (!grown) return rdt_fail_memory(err, capacity * sizeof *grown);
        trials->trial = grown;
        trials->capacity = capacity;
    }
    if (count) memcpy(&trials->trial[trials->count], added, count * sizeof *added);
    trials->count += count;
    return REDTUNE_OK;
}

redtune_status rdt_trials_select(const rdt_trials *trials, uint64_t count, rdt_trials *out,
                                 redtune_error *err) {
    redtune_status status = REDTUNE_OK;
    for (size_t i = 0; !status && i < trials->count; i++)
        if (trials->trial[i].problem.count == count)
            status = rdt_trials_add(out, &trials->trial[i], 1, err);
    return status;
}

void rdt_trials_free(rdt_trials *trials) {
    free(trials->trial);
    *trials = (rdt_trials){0};
}
