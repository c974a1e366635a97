/* Mailbox: what the threads of a tune have to tell, kept for the thread that called. */
#ifndef RDT_API_MAILBOX_H
#define RDT_API_MAILBOX_H

#include <pthread.h>
#include <stdbool.h>
#include "base/log.h"

/* A list of copies. Valid when zeroed: empty. */
typedef struct rdt_mail {
    void *item;
    size_t count, capacity;
} rdt_mail;

/* Any thread puts; one delivers. */
typedef struct rdt_mailbox {
    const redtune_tuning *wanted;
    const rdt_log *log;
    pthread_mutex_t lock;
    pthread_cond_t news;
    rdt_mail results, lines; /* redtune_tuned, line */
    redtune_problem problem; /* of progress */
    redtune_progress progress;
    uint64_t finished; /* problems; the progress tells of it with the next one's problem */
    bool stop;         /* set when the caller's hook, or a failure, says so */
} rdt_mailbox;

/* Begins with a progress at the first of so many problems. */
void rdt_mailbox_open(rdt_mailbox *mailbox, const redtune_tuning *wanted, const rdt_log *log,
                      const redtune_problem *first, size_t problem_count);
void rdt_mailbox_close(rdt_mailbox *mailbox);

/* The last progress is what counts; its problem_index and problem_count are left out, for the
 * mailbox knows how many problems are finished. Returns whether to stop. */
bool rdt_mailbox_put_progress(rdt_mailbox *mailbox, const redtune_progress *progress);
/* All results and lines are delivered, in their order, unless memory runs out for them. */
void rdt_mailbox_put_result(rdt_mailbox *mailbox, const redtune_tuned *result);
void rdt_mailbox_put_line(void *mailbox, redtune_log_level level, const char *line);
bool rdt_mailbox_stops(void *mailbox);
void rdt_mailbox_stop(rdt_mailbox *mailbox);
void rdt_mailbox_set_count(rdt_mailbox *mailbox, size_t problem_count);

/* Waits for news, briefly, and tells the caller; asks it whether to stop. */
void rdt_mailbox_deliver(rdt_mailbox *mailbox);

#endif
