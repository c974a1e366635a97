/* Event queue: what the threads of a tune have to tell, kept for the thread that called. Where that
 * thread does the work itself, nothing is kept: it is told at once. */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include "api/tuning/problem_list.h"

/* A list of copies. Valid when zeroed: empty. */
typedef struct rdt_event_list {
    void *item;
    size_t count, capacity;
} rdt_event_list;

/* Any thread puts; one delivers. */
typedef struct rdt_event_queue {
    const redtune_tuning *wanted;
    const rdt_log *log;
    bool direct; /* the thread that puts is the one that called */
    pthread_mutex_t lock;
    pthread_cond_t news;
    rdt_event_list results, lines; /* redtune_tuned, line */
    redtune_problem problem;       /* of progress */
    redtune_progress progress;
    uint64_t finished; /* problems; the progress tells of it with the next one's problem */
    bool stop;         /* set when the caller's hook, or a failure, says so */
} rdt_event_queue;

/* Begins with a progress at the first of the problems; direct unless wanted has a worker. */
void rdt_event_queue_open(rdt_event_queue *events, const redtune_tuning *wanted, const rdt_log *log,
                          const rdt_problems *problems);
void rdt_event_queue_close(rdt_event_queue *events);

/* The last progress is what counts; its problem_index and problem_count are left out, for the
 * event queue knows how many problems are finished. Returns whether to stop. */
bool rdt_event_queue_put_progress(rdt_event_queue *events, const redtune_progress *progress);
/* All results and lines are delivered, in their order, unless memory runs out for them. */
void rdt_event_queue_put_result(rdt_event_queue *events, const redtune_tuned *result);
void rdt_event_queue_put_line(void *events, redtune_log_level level, const char *line);
bool rdt_event_queue_stops(void *events);
void rdt_event_queue_stop(rdt_event_queue *events);
void rdt_event_queue_set_count(rdt_event_queue *events, size_t problem_count);

/* Waits for news, briefly, and tells the caller; asks it whether to stop. */
void rdt_event_queue_deliver(rdt_event_queue *events);
