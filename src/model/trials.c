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
