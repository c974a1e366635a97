/* Session log: what the device tuners that share problems have done, for all of them to read. */
#include "api/tuning/session_log.h"

#include <stdlib.h>
#include "model/problem.h"

redtune_status rdt_session_log_open(rdt_session_log *self, size_t problem_count,
                                    redtune_error *err) {
    rdt_search_count *spent = calloc(problem_count + 1, sizeof *spent);
    if (!spent) return rdt_fail_memory(err, (problem_count + 1) * sizeof *spent);
    *self = (rdt_session_log){.spent = spent};
    pthread_mutex_init(&self->lock, NULL);
    return REDTUNE_OK;
}

void rdt_session_log_close(rdt_session_log *self) {
    if (!self->spent) return;
    pthread_mutex_destroy(&self->lock);
    rdt_trials_free(&self->trials);
    free(self->spent);
    *self = (rdt_session_log){.spent = NULL};
}

rdt_search_count rdt_session_log_spend(rdt_session_log *self, size_t problem,
                                       rdt_search_count more) {
    pthread_mutex_lock(&self->lock);
    self->spent[problem].measured += more.measured;
    self->spent[problem].failed += more.failed;
    self->spent[problem].points += more.points;
    self->spent[problem].untried += more.untried;
    rdt_search_count spent = self->spent[problem];
    pthread_mutex_unlock(&self->lock);
    return spent;
}

redtune_status rdt_session_log_write(rdt_session_log *self, const rdt_trial *trials, size_t count,
                                     redtune_error *err) {
    pthread_mutex_lock(&self->lock);
    redtune_status status = rdt_trials_add(&self->trials, trials, count, err);
    pthread_mutex_unlock(&self->lock);
    return status;
}

redtune_status rdt_session_log_read(rdt_session_log *self, const redtune_problem *problem,
                                    rdt_cache_state cache, rdt_trials *out, redtune_error *err) {
    redtune_status status = REDTUNE_OK;
    pthread_mutex_lock(&self->lock);
    for (size_t i = 0; !status && i < self->trials.count; i++) {
        const rdt_trial *each = &self->trials.trial[i];
        if (each->cache == cache && rdt_problem_same_class(&each->problem, problem))
            status = rdt_trials_add(out, each, 1, err);
    }
    pthread_mutex_unlock(&self->lock);
    return status;
}
