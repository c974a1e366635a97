/* Remote: an evaluator whose work is done by a worker process.
 *
 * A request is one frame: problem, candidates, and for timing their verdicts. The worker answers
 * AT i before each step of candidate i, VERDICT i after it, and at last DONE with the times, FAULT
 * i if the context is spoilt, or FAILED. So the candidate that was last named is to blame when the
 * worker is silent or ends. Verifying goes on behind it with another worker. Timing takes turns,
 * so it begins again with each candidate alone. A worker that ends by itself is no proof: the
 * candidate is asked for once more, alone. */
#define _POSIX_C_SOURCE 200809L
#include "tuner/workers/remote.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/clock.h"
#include "gpu/driver.h"

enum {
    SLICE_MS = 20,   /* between two looks at stop */
    BATCH_MAX = 256, /* candidates of one request */
    SEND_MS = 10000,
};

/* An evaluator of a job's. */
typedef struct job {
    struct rdt_remote *remote;
    unsigned index;
    rdt_domain domain;
} job;

struct rdt_remote {
    /* Held while the worker has a request, and guards it; recursive, for a job that keeps the GPU
     * from one request to the next. */
    pthread_mutex_t turn;
    rdt_supervisor worker;
    rdt_ready ready; /* set by rdt_remote_ready, before there are evaluators */
    job jobs[RDT_JOBS_MAX];
};

redtune_status rdt_remote_open(const rdt_worker_pool *workers, const char *device, rdt_remote **out,
                               redtune_error *err) {
    rdt_remote *self = calloc(1, sizeof *self);
    if (!self) return rdt_fail_memory(err, sizeof *self);
    self->worker.workers = workers;
    pthread_mutexattr_t recursive;
    pthread_mutexattr_init(&recursive);
    pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&self->turn, &recursive);
    pthread_mutexattr_destroy(&recursive);
    rdt_text_copy(self->worker.device, sizeof self->worker.device, device);
    redtune_status status = rdt_supervisor_start(&self->worker, err);
    if (status) {
        rdt_remote_close(self);
        return status;
    }
    *out = self;
    return REDTUNE_OK;
}

void rdt_remote_close(rdt_remote *self) {
    if (!self) return;
    rdt_process_end(&self->worker.process, NULL);
    pthread_mutex_destroy(&self->turn);
    free(self);
}

redtune_status rdt_remote_ready(rdt_remote *self, rdt_ready *out, redtune_error *err) {
    redtune_status status = rdt_supervisor_need(&self->worker, err);
    if (!status) *out = self->ready = self->worker.ready;
    return status;
}

/* ---- one request ----------------------------------------------------------------------------- */

/* How a request ended. */
typedef enum end {
    END_DONE,
    END_FAULT, /* the current candidate has spoilt the GPU's state */
    END_HANG,  /* it did not end in time */
    END_DEATH, /* the worker ended, or sends what is no answer */
} end;

/* A request: what is asked, where its answer goes, and how it went. */
typedef struct query {
    const job *job;
    unsigned kind;
    rdt_batch batch;
    rdt_cache_state cache;
    int samples;
    rdt_verdict *verdicts;
    rdt_conditions *conditions;
    double *sample_ns;
    end end;
    size_t at;       /* the candidate that was named last; batch.count: none yet */
    char cause[160]; /* of an end other than END_DONE */
} query;

static void send_query(rdt_remote *self, const query *query) {
    rdt_wire *wire = &self->worker.process.wire;
    rdt_request request;
    memset(&request, 0, sizeof request);
    request.job = query->job->index;
    request.problem = *query->batch.problem;
    request.domain = query->job->domain;
    request.cache = query->cache;
    request.samples = query->samples;
    request.count = query->batch.count;
    rdt_wire_put(wire, &request, sizeof request);
    rdt_wire_put(wire, query->batch.candidates,
                 query->batch.count * sizeof *query->batch.candidates);
    if (query->kind == RDT_FRAME_TIME)
        rdt_wire_put(wire, query->verdicts, query->batch.count * sizeof *query->verdicts);
    rdt_wire_send(wire, query->kind, SEND_MS);
}

/* The index that a frame begins with; false if it is outside the batch. */
static bool take_index(const query *query, rdt_reader *reader, size_t *out) {
    uint64_t index;
    rdt_wire_reader_take(reader, &index, sizeof index);
    *out = (size_t)index;
    return !reader->failed && index < query->batch.count;
}

static bool take_times(query *query, rdt_reader *reader) {
    if (query->kind != RDT_FRAME_TIME) return rdt_wire_reader_done(reader);
    size_t count = query->batch.count;
    if (reader->left != count * (sizeof *query->verdicts + sizeof *query->conditions +
                                 (size_t)query->samples * sizeof *query->sample_ns))
        return false;
    rdt_wire_reader_take(reader, query->verdicts, count * sizeof *query->verdicts);
    rdt_wire_reader_take(reader, query->conditions, count * sizeof *query->conditions);
    rdt_wire_reader_take(reader, query->sample_ns,
                         count * (size_t)query->samples * sizeof *query->sample_ns);
    return true;
}

/* Takes one frame in. *done: it was the last one. false: it is not a valid answer. */
static bool take_answer(query *query, const rdt_frame *frame, bool *done, redtune_error *failure) {
    rdt_reader reader = rdt_wire_reader_of(frame);
    size_t i = 0;
    *done = false;
    switch (frame->kind) {
    case RDT_FRAME_AT:
        if (!take_index(query, &reader, &i)) return false;
        query->at = i;
        return true;
    case RDT_FRAME_VERDICT:
        if (!take_index(query, &reader, &i)) return false;
        rdt_wire_reader_take(&reader, &query->verdicts[i], sizeof *query->verdicts);
        query->verdicts[i].cause[sizeof query->verdicts[i].cause - 1] = '\0';
        query->at = i + 1; /* behind it, whatever comes is not its fault */
        return rdt_wire_reader_done(&reader) && query->verdicts[i].outcome < RDT_OUTCOME_COUNT;
    case RDT_FRAME_DONE: *done = true; return take_times(query, &reader);
    case RDT_FRAME_FAULT:
        *done = true;
        query->end = END_FAULT;
        if (!take_index(query, &reader, &query->at)) return false;
        rdt_wire_reader_take(&reader, failure, sizeof *failure);
        return rdt_wire_reader_done(&reader);
    case RDT_FRAME_FAILED:
        *done = true;
        rdt_wire_reader_take(&reader, failure, sizeof *failure);
        return rdt_wire_reader_done(&reader) && failure->status;
    default: return false;
    }
}

static redtune_status ask_in_turn(rdt_remote *self, query *query, redtune_error *err) {
    if (rdt_supervisor_stops(&self->worker)) return rdt_fail_interrupted(err, "tuning");
    redtune_status status = rdt_supervisor_need(&self->worker, err);
    if (status) return status;
    redtune_error failure = {0};
    bool done = false, garbled = false;
    query->end = END_DONE;
    query->at = query->batch.count;
    send_query(self, query);
    while (!done) {
        rdt_frame frame;
        rdt_event heard = rdt_supervisor_hear(&self->worker, self->worker.workers->limit_s, &frame);
        if (heard == RDT_EVENT_STOP) {
            rdt_process_end(&self->worker.process, NULL);
            return rdt_fail_interrupted(err, "tuning");
        }
        if (heard == RDT_EVENT_SILENCE) {
            query->end = END_HANG;
            break;
        }
        if (heard == RDT_EVENT_FRAME) garbled = !take_answer(query, &frame, &done, &failure);
        if (heard == RDT_EVENT_END || garbled) {
            query->end = END_DEATH;
            break;
        }
    }
    if (query->end == END_DONE && !failure.status) return REDTUNE_OK;
    char how[RDT_PROCESS_END_BYTES];
    rdt_process_end(&self->worker.process, query->end == END_DEATH && !garbled ? how : NULL);
    if (garbled) rdt_text_copy(how, sizeof how, "it said what makes no sense");
    if (query->end == END_DONE) {
        if (err) *err = failure;
        return failure.status;
    }
    /* The driver has a limit of its own. */
    if (failure.code == CUDA_ERROR_LAUNCH_TIMEOUT && query->end == END_FAULT) query->end = END_HANG;
    if (failure.status)
        rdt_text_copy(query->cause, sizeof query->cause, failure.message);
    else if (query->end == END_HANG)
        rdt_text_print(query->cause, sizeof query->cause, "it did not end within %g s",
                       self->worker.workers->limit_s);
    else
        snprintf(query->cause, sizeof query->cause, "its worker process was lost: %s", how);
    return REDTUNE_OK;
}

/* Sends a request and takes the answer in. A status other than REDTUNE_OK says that nothing more
 * can be done; query->end how it went else, and after all but END_DONE the worker is gone. */
static redtune_status ask_worker(rdt_remote *self, query *query, redtune_error *err) {
    pthread_mutex_lock(&self->turn);
    redtune_status status = ask_in_turn(self, query, err);
    pthread_mutex_unlock(&self->turn);
    return status;
}

/* ---- the evaluator --------------------------------------------------------------------------- */

static void condemn(const rdt_remote *self, const query *query, size_t i) {
    rdt_verdict *verdict = &query->verdicts[i];
    verdict->outcome = query->end == END_HANG ? RDT_OUTCOME_HUNG : RDT_OUTCOME_FAULTED;
    rdt_text_copy(verdict->cause, sizeof verdict->cause, query->cause);
    rdt_log_write(self->worker.workers->options->log, REDTUNE_LOG_INFO,
                  "a candidate was lost with its worker process: %s", query->cause);
}

/* For an end of the request's making although no candidate was named: it is met
 * again when the same is asked again. */
static redtune_status lost_before(const rdt_remote *self, const query *query, redtune_error *err) {
    return rdt_fail(err, REDTUNE_DEVICE, 0,
                    "cannot tune on GPU %s: no candidate was being tried, and yet %s",
                    self->worker.device,
                    query->end == END_HANG ? "the worker process did not answer" : query->cause);
}

/* A part of a request for which everything is of one candidate. */
static query part_of(const query *whole, size_t first, size_t count) {
    query part = *whole;
    part.batch.candidates += first;
    part.batch.count = count;
    part.verdicts += first;
    if (part.conditions) part.conditions += first;
    if (part.sample_ns) part.sample_ns += first * (size_t)whole->samples;
    return part;
}

/* Asks for one candidate, so that whatever happens is of its making. One whose worker ended by
 * itself is asked for once more: that may have been anyone's doing. */
static redtune_status ask_alone(rdt_remote *self, const query *whole, size_t i,
                                redtune_error *err) {
    query one = part_of(whole, i, 1);
    redtune_status status = ask_worker(self, &one, err);
    if (!status && one.end == END_DEATH) status = ask_worker(self, &one, err);
    if (status || one.end == END_DONE) return status;
    if (one.at > 0) return lost_before(self, &one, err);
    condemn(self, &one, 0);
    return REDTUNE_OK;
}

/* Lets the compile pool make a batch's kernels side by side, where the GPU's worker would make one
 * after another. */
static redtune_status await_kernels(rdt_remote *self, const rdt_batch *batch, redtune_error *err) {
    const rdt_worker_pool *workers = self->worker.workers;
    const double end_s = rdt_clock_s() + workers->limit_s;
    while (!rdt_compile_pool_wait(workers->pool, &self->ready.facts, self->ready.ptx, batch,
                                  SLICE_MS)) {
        if (rdt_supervisor_stops(&self->worker)) return rdt_fail_interrupted(err, "tuning");
        if (rdt_clock_s() > end_s) break;
    }
    return REDTUNE_OK;
}

/* Candidates are verified one after another: when the worker is lost, those before have their
 * verdict, and those behind have not begun. */
static redtune_status verify_remotely(void *user, const rdt_batch *batch, rdt_verdict *verdicts,
                                      redtune_error *err) {
    const job *job = user;
    rdt_remote *self = job->remote;
    const query whole = {
        .job = job, .kind = RDT_FRAME_VERIFY, .batch = *batch, .verdicts = verdicts};
    redtune_status status = await_kernels(self, batch, err);
    int lost = 0;
    for (size_t first = 0; !status && first < batch->count;) {
        size_t left = batch->count - first;
        query part = part_of(&whole, first, left < BATCH_MAX ? left : BATCH_MAX);
        status = ask_worker(self, &part, err);
        if (status) break;
        if (part.end == END_DONE) {
            first += part.batch.count;
        } else if (part.at >= part.batch.count) {
            /* Not even begun: the worker may have been lost by itself, but not twice. */
            if (lost++) return lost_before(self, &part, err);
        } else if (part.end == END_DEATH) {
            status = ask_alone(self, &whole, first + part.at, err);
            first += part.at + 1;
        } else {
            condemn(self, &part, part.at);
            first += part.at + 1;
        }
    }
    return status;
}

/* Candidates are timed in turns: when the worker is lost, all of them are, and each is timed again
 * alone, except the one that did not end, which would do so again. */
static redtune_status time_remotely(void *user, const rdt_batch *batch, rdt_cache_state cache,
                                    int samples, double *sample_ns, rdt_verdict *verdicts,
                                    rdt_conditions *conditions, redtune_error *err) {
    const job *job = user;
    rdt_remote *self = job->remote;
    query whole = {job,        RDT_FRAME_TIME, *batch,   cache, samples, verdicts,
                   conditions, sample_ns,      END_DONE, 0,     ""};
    redtune_status status = ask_worker(self, &whole, err);
    if (status || whole.end == END_DONE) return status;
    memset(conditions, 0, batch->count * sizeof *conditions);
    memset(sample_ns, 0, batch->count * (size_t)samples * sizeof *sample_ns);
    for (size_t i = 0; !status && i < batch->count; i++) {
        if (i == whole.at && whole.end == END_HANG)
            condemn(self, &whole, i);
        else if (verdicts[i].outcome == RDT_OUTCOME_GOOD)
            status = ask_alone(self, &whole, i, err);
    }
    return status;
}

static void prepare_remotely(void *user, const rdt_batch *batch, bool soon) {
    const rdt_remote *self = ((const job *)user)->remote;
    rdt_compile_pool_add(self->worker.workers->pool, &self->ready.facts, self->ready.ptx, batch,
                         soon);
}

static void keep_worker(void *user, bool keeps) {
    pthread_mutex_t *turn = &((const job *)user)->remote->turn;
    if (keeps)
        pthread_mutex_lock(turn);
    else
        pthread_mutex_unlock(turn);
}

rdt_evaluator rdt_remote_evaluator(rdt_remote *self, unsigned index, const rdt_domain *domain) {
    job *job = &self->jobs[index];
    *job = (struct job){self, index, *domain};
    return (rdt_evaluator){.self = job,
                           .prepare = prepare_remotely,
                           .verify = verify_remotely,
                           .time = time_remotely,
                           .keep = keep_worker};
}
