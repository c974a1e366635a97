/* Remote: a lab whose work is done by a worker process. */
#define _POSIX_C_SOURCE 200809L
#include "tuner/remote.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "tuner/crew.h"
#include "gpu/driver.h"
#include "tuner/process.h"

enum {
    SLICE_MS = 20,   /* between two looks at stop */
    BATCH_MAX = 256, /* candidates of one request */
    START_S = 60,    /* for a worker to open its GPU */
    START_TRIES = 3, /* for one that ends before it is ready */
    SEND_MS = 10000,
};

struct rdt_remote {
    const rdt_workforce *workforce;
    char device[16];
    rdt_process process;
    bool is_ready;
    rdt_ready ready;
    redtune_problem largest;
};

static double now_s(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* ---- hearing a worker ---------------------------------------------------------------------- */

typedef enum event {
    EVENT_MESSAGE,
    EVENT_SILENCE, /* nothing for as long as it may take */
    EVENT_END,     /* the process has ended, or sends what is no message */
    EVENT_STOP,
} event;

static void pass_log(const rdt_remote *self, const rdt_message *message) {
    redtune_log_level level;
    rdt_reader reader = rdt_reader_of(message);
    rdt_reader_take(&reader, &level, sizeof level);
    if (!reader.failed)
        rdt_log_write(self->workforce->workplace->log, level, "%.*s", (int)reader.left, reader.at);
}

/* The next message but for log lines. What has come in counts before the clock is looked at: this
 * process may have slept, too. Stop is looked at before either: a busy worker is never silent. */
static event hear(rdt_remote *self, double limit_s, rdt_message *out) {
    const rdt_workforce *workforce = self->workforce;
    double end_s = now_s() + limit_s;
    while (!workforce->stop || !workforce->stop(workforce->user)) {
        switch (rdt_wire_receive(&self->process.wire, SLICE_MS, out)) {
        case RDT_WIRE_GOT:
            if (out->kind != RDT_MESSAGE_LOG) return EVENT_MESSAGE;
            pass_log(self, out);
            break;
        case RDT_WIRE_EMPTY:
            if (now_s() > end_s) return EVENT_SILENCE;
            break;
        default:
            return EVENT_END;
        }
    }
    return EVENT_STOP;
}

static redtune_status interrupted(redtune_error *err) {
    return rdt_fail(err, REDTUNE_INTERRUPTED, 0,
                    "tuning was interrupted; what was measured is kept");
}

/* ---- starting ------------------------------------------------------------------------------ */

static redtune_status start(rdt_remote *self, redtune_error *err) {
    rdt_hello hello = rdt_hello_of(RDT_ROLE_GPU);
    self->is_ready = false;
    redtune_status status =
        rdt_process_start(self->workforce->workplace->command, &self->process, err);
    if (status) return status;
    hello.log_level =
        self->workforce->workplace->log ? (int)self->workforce->workplace->log->level : 0;
    rdt_text_copy(hello.device, sizeof hello.device, self->device);
    rdt_text_copy(hello.kernel_cache, sizeof hello.kernel_cache,
                  self->workforce->workplace->kernel_cache);
    rdt_wire_put(&self->process.wire, &hello, sizeof hello);
    /* One that does not take it has ended, which is found when it is listened to. */
    rdt_wire_send(&self->process.wire, RDT_MESSAGE_HELLO, SEND_MS);
    return REDTUNE_OK;
}

/* Reads a greeting's answer. */
static redtune_status take_ready(rdt_remote *self, const rdt_message *message, redtune_error *err) {
    rdt_ready ready;
    rdt_reader reader = rdt_reader_of(message);
    rdt_reader_take(&reader, &ready, sizeof ready);
    if (message->kind != RDT_MESSAGE_READY || !rdt_reader_done(&reader))
        return rdt_fail(err, REDTUNE_UNSUPPORTED, 0,
                        "cannot work with the worker process %.300s: it is no redtune %s, or "
                        "another build; name the command of the same build",
                        self->workforce->workplace->command, REDTUNE_VERSION);
    if (ready.error.status) {
        if (err) *err = ready.error;
        return ready.error.status;
    }
    if (*self->ready.templates && strcmp(ready.templates, self->ready.templates))
        return rdt_fail(err, REDTUNE_TEMPLATE, 0,
                        "cannot go on tuning: the templates have changed meanwhile; run the same "
                        "command again");
    self->ready = ready;
    self->is_ready = true;
    return REDTUNE_OK;
}

/* Waits for the worker, and starts another where it ends before it can say anything. */
static redtune_status need_ready(rdt_remote *self, redtune_error *err) {
    char how[RDT_PROCESS_END_BYTES] = "";
    for (int tries = 0; tries < START_TRIES; tries++) {
        if (!self->process.pid) {
            redtune_status status = start(self, err);
            if (status) return status;
        }
        if (self->is_ready) return REDTUNE_OK;
        rdt_message message;
        event heard = hear(self, START_S, &message);
        if (heard == EVENT_MESSAGE) {
            redtune_status status = take_ready(self, &message, err);
            if (status) rdt_process_end(&self->process, NULL);
            return status;
        }
        rdt_process_end(&self->process, heard == EVENT_END ? how : NULL);
        if (heard == EVENT_STOP) return interrupted(err);
        if (heard == EVENT_SILENCE)
            return rdt_fail(err, REDTUNE_DEVICE, 0,
                            "cannot use GPU %s: it did not open within %d s; check nvidia-smi",
                            self->device, START_S);
    }
    return rdt_fail(err, REDTUNE_DEVICE, 0,
                    "cannot use GPU %s: its worker process %.300s does not start: %s", self->device,
                    self->workforce->workplace->command, how);
}

redtune_status rdt_remote_open(const rdt_workforce *workforce, const char *device, rdt_remote **out,
                               redtune_error *err) {
    rdt_remote *self = calloc(1, sizeof *self);
    if (!self) return rdt_fail_memory(err, sizeof *self);
    self->workforce = workforce;
    rdt_text_copy(self->device, sizeof self->device, device);
    redtune_status status = start(self, err);
    if (status) {
        rdt_remote_close(self);
        return status;
    }
    *out = self;
    return REDTUNE_OK;
}

void rdt_remote_close(rdt_remote *self) {
    if (!self) return;
    rdt_process_end(&self->process, NULL);
    free(self);
}

redtune_status rdt_remote_ready(rdt_remote *self, rdt_ready *out, redtune_error *err) {
    redtune_status status = need_ready(self, err);
    if (!status) *out = self->ready;
    return status;
}

/* ---- one request --------------------------------------------------------------------------- */

/* How a request ended. */
typedef enum end {
    END_DONE,
    END_FAULT, /* the candidate at hand has spoilt the GPU's state */
    END_HANG,  /* it did not end in time */
    END_DEATH, /* the worker ended, or sends what is no answer */
} end;

/* A request: what is asked, where its answer goes, and how it went. */
typedef struct query {
    unsigned kind;
    rdt_batch batch;
    rdt_cache_state cache;
    int samples;
    rdt_verdict *verdicts;
    rdt_conditions *conditions;
    double *sample_ns;
    end end;
    size_t at;       /* the candidate that was last at hand; batch.count: none yet */
    char cause[160]; /* of an end that is none of END_DONE */
} query;

static void send_query(rdt_remote *self, const query *query) {
    rdt_wire *wire = &self->process.wire;
    rdt_request request;
    memset(&request, 0, sizeof request);
    request.problem = *query->batch.problem;
    request.largest = self->largest.count;
    request.family = query->batch.family;
    request.cache = query->cache;
    request.samples = query->samples;
    request.count = query->batch.count;
    rdt_wire_put(wire, &request, sizeof request);
    rdt_wire_put(wire, query->batch.candidates,
                 query->batch.count * sizeof *query->batch.candidates);
    if (query->kind == RDT_MESSAGE_TIME)
        rdt_wire_put(wire, query->verdicts, query->batch.count * sizeof *query->verdicts);
    rdt_wire_send(wire, query->kind, SEND_MS);
}

/* The index that a message begins with; false if it is none of the batch's. */
static bool take_index(const query *query, rdt_reader *reader, size_t *out) {
    uint64_t index;
    rdt_reader_take(reader, &index, sizeof index);
    *out = (size_t)index;
    return !reader->failed && index < query->batch.count;
}

static bool take_times(query *query, rdt_reader *reader) {
    if (query->kind != RDT_MESSAGE_TIME) return rdt_reader_done(reader);
    size_t count = query->batch.count;
    if (reader->left != count * (sizeof *query->verdicts + sizeof *query->conditions +
                                 (size_t)query->samples * sizeof *query->sample_ns))
        return false;
    rdt_reader_take(reader, query->verdicts, count * sizeof *query->verdicts);
    rdt_reader_take(reader, query->conditions, count * sizeof *query->conditions);
    rdt_reader_take(reader, query->sample_ns,
                    count * (size_t)query->samples * sizeof *query->sample_ns);
    return true;
}

/* Takes one message in. *done: it was the last one. false: it is none that was to come. */
static bool take_answer(query *query, const rdt_message *message, bool *done,
                        redtune_error *failure) {
    rdt_reader reader = rdt_reader_of(message);
    size_t i = 0;
    *done = false;
    switch (message->kind) {
    case RDT_MESSAGE_AT:
        if (!take_index(query, &reader, &i)) return false;
        query->at = i;
        return true;
    case RDT_MESSAGE_VERDICT:
        if (!take_index(query, &reader, &i)) return false;
        rdt_reader_take(&reader, &query->verdicts[i], sizeof *query->verdicts);
        query->verdicts[i].cause[sizeof query->verdicts[i].cause - 1] = '\0';
        query->at = i + 1; /* behind it, whatever comes is not its fault */
        return rdt_reader_done(&reader) && query->verdicts[i].outcome < RDT_OUTCOME_COUNT;
    case RDT_MESSAGE_DONE:
        *done = true;
        return take_times(query, &reader);
    case RDT_MESSAGE_FAULT:
        *done = true;
        query->end = END_FAULT;
        if (!take_index(query, &reader, &query->at)) return false;
        rdt_reader_take(&reader, failure, sizeof *failure);
        return rdt_reader_done(&reader);
    case RDT_MESSAGE_FAILED:
        *done = true;
        rdt_reader_take(&reader, failure, sizeof *failure);
        return rdt_reader_done(&reader) && failure->status;
    default:
        return false;
    }
}

/* Sends a request and takes the answer in. A status other than REDTUNE_OK says that nothing more
 * can be done; query->end how it went else, and after all but END_DONE the worker is gone. */
static redtune_status ask(rdt_remote *self, query *query, redtune_error *err) {
    redtune_status status = need_ready(self, err);
    if (status) return status;
    redtune_error failure = {0};
    bool done = false, garbled = false;
    query->end = END_DONE;
    query->at = query->batch.count;
    send_query(self, query);
    while (!done) {
        rdt_message message;
        event heard = hear(self, self->workforce->limit_s, &message);
        if (heard == EVENT_STOP) {
            rdt_process_end(&self->process, NULL);
            return interrupted(err);
        }
        if (heard == EVENT_SILENCE) {
            query->end = END_HANG;
            break;
        }
        if (heard == EVENT_MESSAGE) garbled = !take_answer(query, &message, &done, &failure);
        if (heard == EVENT_END || garbled) {
            query->end = END_DEATH;
            break;
        }
    }
    if (query->end == END_DONE && !failure.status) return REDTUNE_OK;
    char how[RDT_PROCESS_END_BYTES];
    rdt_process_end(&self->process, query->end == END_DEATH && !garbled ? how : NULL);
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
        snprintf(query->cause, sizeof query->cause, "it did not end within %g s",
                 self->workforce->limit_s);
    else
        snprintf(query->cause, sizeof query->cause, "its worker process was lost: %s", how);
    return REDTUNE_OK;
}

/* ---- the lab ------------------------------------------------------------------------------- */

static void condemn(const rdt_remote *self, const query *query, size_t i) {
    rdt_verdict *verdict = &query->verdicts[i];
    verdict->outcome = query->end == END_HANG ? RDT_OUTCOME_HUNG : RDT_OUTCOME_FAULTED;
    rdt_text_copy(verdict->cause, sizeof verdict->cause, query->cause);
    rdt_log_write(self->workforce->workplace->log, REDTUNE_LOG_INFO,
                  "a candidate was lost with its worker process: %s", query->cause);
}

/* Whether the end is of the request's making although no candidate was at hand: then it is met
 * again when the same is asked again. */
static redtune_status lost_before(const rdt_remote *self, const query *query, redtune_error *err) {
    return rdt_fail(err, REDTUNE_DEVICE, 0,
                    "cannot tune on GPU %s: no candidate was at hand, and yet %s", self->device,
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
    redtune_status status = ask(self, &one, err);
    if (!status && one.end == END_DEATH) status = ask(self, &one, err);
    if (status || one.end == END_DONE) return status;
    if (one.at > 0) return lost_before(self, &one, err);
    condemn(self, &one, 0);
    return REDTUNE_OK;
}

/* Lets the crew make a batch's kernels side by side, where the GPU's worker would make one after
 * another. */
static redtune_status await_kernels(rdt_remote *self, const rdt_batch *batch, redtune_error *err) {
    const rdt_workforce *workforce = self->workforce;
    const double end_s = now_s() + workforce->limit_s;
    redtune_status status = need_ready(self, err);
    if (status) return status;
    while (!rdt_crew_wait(workforce->crew, &self->ready.facts, self->ready.ptx, batch, SLICE_MS)) {
        if (workforce->stop && workforce->stop(workforce->user)) return interrupted(err);
        if (now_s() > end_s) break;
    }
    return REDTUNE_OK;
}

/* Candidates are verified one after another: when the worker is lost, those before have their
 * verdict, and those behind have not begun. */
static redtune_status verify(void *user, const rdt_batch *batch, rdt_verdict *verdicts,
                             redtune_error *err) {
    rdt_remote *self = user;
    const query whole = {.kind = RDT_MESSAGE_VERIFY, .batch = *batch, .verdicts = verdicts};
    redtune_status status = await_kernels(self, batch, err);
    int lost = 0;
    for (size_t first = 0; !status && first < batch->count;) {
        size_t left = batch->count - first;
        query part = part_of(&whole, first, left < BATCH_MAX ? left : BATCH_MAX);
        status = ask(self, &part, err);
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
 * alone but for the one that did not end, which would do so again. */
static redtune_status measure(void *user, const rdt_batch *batch, rdt_cache_state cache,
                              int samples, double *sample_ns, rdt_verdict *verdicts,
                              rdt_conditions *conditions, redtune_error *err) {
    rdt_remote *self = user;
    query whole = {RDT_MESSAGE_TIME, *batch,    cache,    samples, verdicts,
                   conditions,       sample_ns, END_DONE, 0,       ""};
    redtune_status status = ask(self, &whole, err);
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

static void prepare(void *user, const rdt_batch *batch) {
    rdt_remote *self = user;
    if (self->is_ready)
        rdt_crew_add(self->workforce->crew, &self->ready.facts, self->ready.ptx, batch);
}

rdt_lab rdt_remote_lab(rdt_remote *self, const redtune_problem *largest) {
    self->largest = *largest;
    return (rdt_lab){.self = self, .prepare = prepare, .verify = verify, .time = measure};
}
