/* Event queue: what the threads of a tune report, kept for the thread that called.
 *
 * Results and lines queue up in order. Progress does not: only the latest counts. The caller's
 * hooks run on the delivering thread alone, outside the lock, and their answer sets `stop`, which
 * every thread asks. */
#include "api/tuning/event_queue.h"

#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "base/clock.h"
#include "base/text.h"
#include "redtune/tune.h"

typedef struct line {
    redtune_log_level level;
    char text[1000];
} line;

enum { TICK_MS = 50 };

void rdt_event_queue_open(rdt_event_queue *self, const redtune_tuning *wanted, const rdt_log *log,
                          const rdt_problems *problems) {
    *self = (rdt_event_queue){
        .wanted = wanted,
        .log = log,
        .direct = !wanted->worker,
        .problem = problems->problem[0],
        .progress = {.problem_count = problems->count, .stage = "start", .device = ""},
    };
    rdt_clock_init_condition(&self->news);
    pthread_mutex_init(&self->lock, NULL);
}

void rdt_event_queue_close(rdt_event_queue *self) {
    pthread_mutex_destroy(&self->lock);
    pthread_cond_destroy(&self->news);
    free(self->results.item);
    free(self->lines.item);
}

/* ---- putting --------------------------------------------------------------------------------- */

/* A copy: its problem is one. */
static void tell_progress(rdt_event_queue *self, redtune_progress progress) {
    const redtune_tuning *wanted = self->wanted;
    if (wanted->progress && wanted->progress(wanted->user, &progress)) rdt_event_queue_stop(self);
}

static void tell_result(const rdt_event_queue *self, const redtune_tuned *result) {
    if (self->wanted->tuned) self->wanted->tuned(self->wanted->user, result);
}

/* The lock is held. */
static void add_mail(rdt_event_list *list, const void *item, size_t bytes) {
    if (rdt_array_reserve(&list->item, &list->capacity, list->count + 1, bytes, NULL)) return;
    memcpy((char *)list->item + list->count++ * bytes, item, bytes);
}

bool rdt_event_queue_put_progress(rdt_event_queue *self, const redtune_progress *progress) {
    pthread_mutex_lock(&self->lock);
    const uint64_t count = self->progress.problem_count;
    self->progress = *progress;
    self->progress.problem_index = self->finished < count ? self->finished : count - 1;
    self->progress.problem_count = count;
    self->problem = *progress->problem;
    pthread_mutex_unlock(&self->lock);
    if (self->direct) tell_progress(self, self->progress);
    return rdt_event_queue_stops(self);
}

void rdt_event_queue_put_result(rdt_event_queue *self, const redtune_tuned *result) {
    pthread_mutex_lock(&self->lock);
    if (!self->direct) add_mail(&self->results, result, sizeof *result);
    if (!result->again) self->finished++;
    pthread_cond_signal(&self->news);
    pthread_mutex_unlock(&self->lock);
    if (self->direct) tell_result(self, result);
}

void rdt_event_queue_put_line(void *events, redtune_log_level level, const char *text) {
    rdt_event_queue *self = events;
    line line = {.level = level};
    if (self->direct) {
        rdt_log_write(self->log, level, "%s", text);
        return;
    }
    rdt_text_copy(line.text, sizeof line.text, text);
    pthread_mutex_lock(&self->lock);
    add_mail(&self->lines, &line, sizeof line);
    pthread_cond_signal(&self->news);
    pthread_mutex_unlock(&self->lock);
}

bool rdt_event_queue_stops(void *events) {
    rdt_event_queue *self = events;
    pthread_mutex_lock(&self->lock);
    bool stop = self->stop;
    pthread_mutex_unlock(&self->lock);
    return stop;
}

void rdt_event_queue_stop(rdt_event_queue *self) {
    pthread_mutex_lock(&self->lock);
    self->stop = true;
    pthread_cond_signal(&self->news);
    pthread_mutex_unlock(&self->lock);
}

void rdt_event_queue_set_count(rdt_event_queue *self, size_t problem_count) {
    pthread_mutex_lock(&self->lock);
    self->progress.problem_count = problem_count;
    pthread_mutex_unlock(&self->lock);
}

/* ---- delivering ------------------------------------------------------------------------------ */

/* Waits and takes everything out. */
static void take_all(rdt_event_queue *self, rdt_event_list *results, rdt_event_list *lines,
                     redtune_problem *problem, redtune_progress *progress) {
    const struct timespec end = rdt_clock_after_ms(TICK_MS);
    pthread_mutex_lock(&self->lock);
    /* After a stop, too: those who are to end need the processor more. */
    if (!self->results.count && !self->lines.count)
        pthread_cond_timedwait(&self->news, &self->lock, &end);
    *results = self->results;
    *lines = self->lines;
    self->results = self->lines = (rdt_event_list){0};
    *problem = self->problem;
    *progress = self->progress;
    pthread_mutex_unlock(&self->lock);
}

void rdt_event_queue_deliver(rdt_event_queue *self) {
    rdt_event_list results, lines;
    redtune_problem problem;
    redtune_progress progress;
    take_all(self, &results, &lines, &problem, &progress);
    const redtune_tuned *result = results.item;
    const line *line = lines.item;
    for (size_t i = 0; i < lines.count; i++)
        rdt_log_write(self->log, line[i].level, "%s", line[i].text);
    for (size_t i = 0; i < results.count; i++) tell_result(self, &result[i]);
    free(results.item);
    free(lines.item);
    progress.problem = &problem;
    tell_progress(self, progress);
}
