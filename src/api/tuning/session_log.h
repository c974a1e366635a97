/* Session log: what the device tuners that share problems have done, for all of them to read. */
#pragma once

#include <pthread.h>
#include "api/tuning/problem_list.h"
#include "model/trials.h"
#include "tuner/search/search.h"

/* Any thread writes and reads. Valid when zeroed: closed. */
typedef struct rdt_session_log {
    pthread_mutex_t lock;
    rdt_search_count *spent; /* by problem */
    rdt_trials trials;       /* in the order of measuring */
} rdt_session_log;

redtune_status rdt_session_log_open(rdt_session_log *session_log, size_t problem_count,
                                    redtune_error *err);
void rdt_session_log_close(rdt_session_log *session_log);

/* Adds what a problem took; gives what it has taken by now. */
rdt_search_count rdt_session_log_spend(rdt_session_log *session_log, size_t problem,
                                       rdt_search_count more);

redtune_status rdt_session_log_write(rdt_session_log *session_log, const rdt_trial *trials,
                                     size_t count, redtune_error *err);
/* Copies the trials of the problem's class and cache state. out starts zeroed. */
redtune_status rdt_session_log_read(rdt_session_log *session_log, const redtune_problem *problem,
                                    rdt_cache_state cache, rdt_trials *out, redtune_error *err);
