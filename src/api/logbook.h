/* Logbook: what the lanes that share problems have done, for all of them to read. */
#ifndef RDT_API_LOGBOOK_H
#define RDT_API_LOGBOOK_H

#include <pthread.h>
#include "api/problems.h"
#include "model/trials.h"
#include "tuner/search.h"

/* Any thread writes and reads. Valid when zeroed: closed. */
typedef struct rdt_logbook {
    pthread_mutex_t lock;
    rdt_search_count *spent; /* by problem */
    rdt_trials trials;       /* in the order of measuring */
} rdt_logbook;

redtune_status rdt_logbook_open(rdt_logbook *logbook, size_t problem_count, redtune_error *err);
void rdt_logbook_close(rdt_logbook *logbook);

/* Adds what a problem took; gives what it has taken by now. */
rdt_search_count rdt_logbook_spend(rdt_logbook *logbook, size_t problem, rdt_search_count more);

redtune_status rdt_logbook_write(rdt_logbook *logbook, const rdt_trial *trials, size_t count,
                                 redtune_error *err);
/* Copies the trials of the problem's class and cache state. out starts zeroed. */
redtune_status rdt_logbook_read(rdt_logbook *logbook, const redtune_problem *problem,
                                rdt_cache_state cache, rdt_trials *out, redtune_error *err);

#endif
