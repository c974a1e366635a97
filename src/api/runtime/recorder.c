/* Recorder: which problems plans ran without a measurement of their own.
 *
 * Each plan has a tally: a few slots of extents, each with a counter. A run looks for its extents
 * among the slots that are filled, and takes the first free one for them, by compare and exchange;
 * a slot that another thread is filling is passed over, so that extents may have two. What the
 * calls were is found out when the plan ends, and written when the redtune is closed. */
#define _POSIX_C_SOURCE 200809L
#include "api/runtime/recorder.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "base/file.h"

struct rdt_recorder {
    char *path;
    pthread_mutex_t lock; /* guards what follows */
    rdt_recording recording;
    size_t settle_at; /* entries: at that number those of one problem are joined */
};

enum { FREE, FILLING, FILLED, SETTLE_LEAST = 1024 };

/* ---- on the run path ------------------------------------------------------------------------- */

static bool same_extents(const rdt_extents *a, const rdt_extents *b) {
    return a->count == b->count && a->outer == b->outer && a->inner == b->inner &&
           a->outer_step == b->outer_step && a->step == b->step;
}

void rdt_recorder_count(rdt_tally *tally, const rdt_extents *extents) {
    for (int i = 0; i < RDT_TALLY_EXTENTS; i++) {
        int state = atomic_load_explicit(&tally->seen[i].state, memory_order_acquire);
        if (state == FREE &&
            atomic_compare_exchange_strong(&tally->seen[i].state, &state, FILLING)) {
            tally->seen[i].extents = *extents;
            atomic_store_explicit(&tally->seen[i].state, FILLED, memory_order_release);
            state = FILLED;
        }
        if (state == FILLED && same_extents(&tally->seen[i].extents, extents)) {
            atomic_fetch_add_explicit(&tally->seen[i].calls, 1, memory_order_relaxed);
            return;
        }
    }
    atomic_fetch_add_explicit(&tally->others, 1, memory_order_relaxed);
}

/* ---- when a plan ends ------------------------------------------------------------------------ */

static bool is_measured(const rdt_served *served, const redtune_problem *problem) {
    return (served->match == REDTUNE_MATCH_EXACT || served->match == REDTUNE_MATCH_SIZE) &&
           served->measured->dtype && rdt_problem_same(served->measured, problem);
}

/* Time grows with the elements: as good a guess as a recording needs. */
static double time_of(const rdt_served *served, const redtune_problem *problem) {
    if (served->tuned_ns <= 0 || !served->measured->dtype || !rdt_problem_count(served->measured))
        return 0;
    return served->tuned_ns * (double)rdt_problem_elements(problem) /
           (double)rdt_problem_elements(served->measured);
}

static void add_calls(rdt_recorder *recorder, const rdt_served *served,
                      const redtune_problem *problem, uint64_t calls) {
    if (!calls || is_measured(served, problem)) return;
    const redtune_recorded recorded = {
        .problem = *problem,
        .match = served->match == REDTUNE_MATCH_EXACT ? REDTUNE_MATCH_SIZE : served->match,
        .calls = calls,
        .ns = (double)calls * time_of(served, problem),
    };
    if (recorder->recording.count >= recorder->settle_at) {
        rdt_recording_settle(&recorder->recording);
        recorder->settle_at = 2 * recorder->recording.count;
        if (recorder->settle_at < SETTLE_LEAST) recorder->settle_at = SETTLE_LEAST;
    }
    /* A call that memory has no room for is not recorded; the program goes on. */
    rdt_recording_add(&recorder->recording, &recorded, NULL);
}

void rdt_recorder_add(rdt_recorder *recorder, rdt_tally *tally, const rdt_served *served) {
    if (!tally) return;
    pthread_mutex_lock(&recorder->lock);
    for (int i = 0; i < RDT_TALLY_EXTENTS; i++) {
        const rdt_extents *extents = &tally->seen[i].extents;
        redtune_problem problem = *served->problem;
        if (atomic_load(&tally->seen[i].state) != FILLED) continue;
        /* Along any axes and by key a plan serves problems like its own, as which all of them
         * count. */
        if (!rdt_problem_is_strided(&problem) && !rdt_problem_is_keyed(&problem))
            rdt_problem_segments_set_shape(&problem, *extents);
        problem.uses = 0; /* what is tuned serves all of them */
        if (!rdt_problem_resolve(&problem, &problem, NULL))
            add_calls(recorder, served, &problem, atomic_load(&tally->seen[i].calls));
    }
    add_calls(recorder, served, served->problem, atomic_load(&tally->others));
    pthread_mutex_unlock(&recorder->lock);
    free(tally);
}

/* ---- opening and closing --------------------------------------------------------------------- */

redtune_status rdt_recorder_open(const char *path, rdt_recorder **out, redtune_error *err) {
    const rdt_recording empty = {0};
    if (!*path || rdt_file_is_null(path)) {
        *out = NULL;
        return REDTUNE_OK;
    }
    redtune_status status = rdt_recording_merge(path, &empty, err);
    if (status) return status;
    rdt_recorder *recorder = calloc(1, sizeof *recorder);
    char *copy = strdup(path);
    if (!recorder || !copy) {
        free(recorder);
        free(copy);
        return rdt_fail_memory(err, sizeof *recorder);
    }
    recorder->path = copy;
    recorder->settle_at = SETTLE_LEAST;
    pthread_mutex_init(&recorder->lock, NULL);
    *out = recorder;
    return REDTUNE_OK;
}

void rdt_recorder_close(rdt_recorder *recorder, const rdt_log *log) {
    redtune_error why;
    if (!recorder) return;
    rdt_recording_settle(&recorder->recording);
    const size_t count = recorder->recording.count;
    if (count && rdt_recording_merge(recorder->path, &recorder->recording, &why))
        rdt_log_write(log, REDTUNE_LOG_WARNING, "what was recorded is lost: %s", why.message);
    else
        rdt_log_write(log, REDTUNE_LOG_INFO, "recorded %zu problems in %s", count, recorder->path);
    rdt_recording_free(&recorder->recording);
    pthread_mutex_destroy(&recorder->lock);
    free(recorder->path);
    free(recorder);
}
