/* Serve: what a worker process does once it is set up: it answers requests one after another. */
#include "tuner/workers/serve.h"

#include <stdlib.h>

/* A request that is being answered, with room for the whole answer. */
typedef struct task {
    rdt_request request;
    rdt_candidate *candidates;
    rdt_verdict *verdicts;
    rdt_conditions *conditions;
    double *sample_ns;
} task;

typedef struct server {
    const rdt_serving *serving;
    /* By job: of its last request's class; zeros: none yet. */
    rdt_evaluator evaluators[RDT_JOBS_MAX];
    rdt_domain domains[RDT_JOBS_MAX];
    size_t first,
        at; /* of the request: where the evaluator's batch begins, and the current candidate */
} server;

enum { SEND_MS = -1, CANDIDATES_MAX = 4096 };

/* ---- telling --------------------------------------------------------------------------------- */

static void tell_error(const server *self, unsigned kind, const redtune_error *error) {
    rdt_wire *wire = self->serving->wire;
    rdt_wire_put(wire, error, sizeof *error);
    rdt_wire_send(wire, kind, SEND_MS);
}

/* The evaluator's hook: names the current candidate. The other end then knows which one to blame
 * should no more be heard, and that time goes by for a reason. */
static void send_at(void *user, size_t i) {
    server *self = user;
    uint64_t index = self->at = self->first + i;
    rdt_wire_put(self->serving->wire, &index, sizeof index);
    rdt_wire_send(self->serving->wire, RDT_FRAME_AT, SEND_MS);
}

static void tell_verdict(const server *self, size_t i, const rdt_verdict *verdict) {
    uint64_t index = i;
    rdt_wire_put(self->serving->wire, &index, sizeof index);
    rdt_wire_put(self->serving->wire, verdict, sizeof *verdict);
    rdt_wire_send(self->serving->wire, RDT_FRAME_VERDICT, SEND_MS);
}

/* A fault that a candidate leaves on the GPU ends this worker; any other failure is no candidate's
 * fault. */
static redtune_status send_failure(const server *self, const redtune_error *error) {
    if (error->status != REDTUNE_DEVICE) {
        tell_error(self, RDT_FRAME_FAILED, error);
        return REDTUNE_OK;
    }
    uint64_t index = self->at;
    rdt_wire_put(self->serving->wire, &index, sizeof index);
    tell_error(self, RDT_FRAME_FAULT, error);
    return REDTUNE_DEVICE;
}

/* ---- the evaluator --------------------------------------------------------------------------- */

static bool is_same_domain(const rdt_domain *a, const rdt_domain *b) {
    return rdt_problem_same_class(&a->problem, &b->problem) && a->count == b->count &&
           a->results == b->results && a->reach == b->reach;
}

/* One evaluator at a time for each job: two classes' test data might not fit the GPU's memory. */
static redtune_status need_evaluator(server *self, const rdt_request *request, redtune_error *err) {
    rdt_evaluator *evaluator = &self->evaluators[request->job];
    const rdt_domain *domain = &request->domain;
    rdt_domain *known = &self->domains[request->job];
    if (evaluator->self && is_same_domain(domain, known)) return REDTUNE_OK;
    *evaluator = (rdt_evaluator){.self = NULL};
    *known = *domain;
    const rdt_serving *serving = self->serving;
    return serving->open_evaluator(serving->user, request->job, domain, send_at, self, evaluator,
                                   err);
}

/* Test data and all; what fails here no candidate has done. */
static redtune_status furnish_request(server *self, const task *task, redtune_error *err) {
    redtune_status status = need_evaluator(self, &task->request, err);
    if (status) return status;
    const rdt_batch none = {.problem = &task->request.problem};
    const rdt_evaluator *evaluator = &self->evaluators[task->request.job];
    return evaluator->verify(evaluator->self, &none, NULL, err);
}

/* ---- requests -------------------------------------------------------------------------------- */

static void free_task(task *task) {
    free(task->candidates);
    free(task->verdicts);
    free(task->conditions);
    free(task->sample_ns);
}

/* The task is zeroed, and freed by the caller even on failure. */
static redtune_status read_task(const rdt_frame *frame, task *task, redtune_error *err) {
    rdt_reader reader = rdt_wire_reader_of(frame);
    rdt_wire_reader_take(&reader, &task->request, sizeof task->request);
    size_t count = task->request.count, samples = (size_t)task->request.samples;
    if (count > CANDIDATES_MAX || samples > CANDIDATES_MAX || task->request.job >= RDT_JOBS_MAX)
        return rdt_fail(err, REDTUNE_INVALID, 0, "cannot work: a request asks for too much");
    task->candidates = calloc(count + 1, sizeof *task->candidates);
    task->verdicts = calloc(count + 1, sizeof *task->verdicts);
    task->conditions = calloc(count + 1, sizeof *task->conditions);
    task->sample_ns = calloc(count * samples + 1, sizeof *task->sample_ns);
    if (!task->candidates || !task->verdicts || !task->conditions || !task->sample_ns)
        return rdt_fail_memory(err, count * samples * sizeof *task->sample_ns);
    rdt_wire_reader_take(&reader, task->candidates, count * sizeof *task->candidates);
    if (frame->kind == RDT_FRAME_TIME)
        rdt_wire_reader_take(&reader, task->verdicts, count * sizeof *task->verdicts);
    if (rdt_wire_reader_done(&reader)) return REDTUNE_OK;
    return rdt_fail(err, REDTUNE_INVALID, 0, "cannot work: a request is garbled");
}

static redtune_status verify_each(server *self, const task *task, redtune_error *err) {
    const rdt_evaluator *evaluator = &self->evaluators[task->request.job];
    redtune_status status = REDTUNE_OK;
    for (size_t i = 0; !status && i < task->request.count; i++) {
        const rdt_batch one = {&task->request.problem, &task->candidates[i], 1};
        self->first = i;
        status = evaluator->verify(evaluator->self, &one, &task->verdicts[i], err);
        if (!status) tell_verdict(self, i, &task->verdicts[i]);
    }
    return status;
}

static redtune_status time_all(server *self, const task *task, redtune_error *err) {
    const rdt_evaluator *evaluator = &self->evaluators[task->request.job];
    const rdt_request *request = &task->request;
    const rdt_batch all = {&request->problem, task->candidates, request->count};
    self->first = 0;
    return evaluator->time(evaluator->self, &all, request->cache, request->samples, task->sample_ns,
                           task->verdicts, task->conditions, err);
}

/* Answers one request. REDTUNE_DEVICE ends the worker. */
static redtune_status answer(server *self, const rdt_frame *frame, redtune_error *err) {
    rdt_wire *wire = self->serving->wire;
    bool timing = frame->kind == RDT_FRAME_TIME;
    task task = {0};
    redtune_status status = read_task(frame, &task, err);
    if (!status) status = furnish_request(self, &task, err);
    if (status) {
        tell_error(self, RDT_FRAME_FAILED, err);
        free_task(&task);
        return REDTUNE_OK;
    }
    status = timing ? time_all(self, &task, err) : verify_each(self, &task, err);
    if (status) {
        status = send_failure(self, err);
    } else {
        size_t count = timing ? task.request.count : 0;
        rdt_wire_put(wire, task.verdicts, count * sizeof *task.verdicts);
        rdt_wire_put(wire, task.conditions, count * sizeof *task.conditions);
        rdt_wire_put(wire, task.sample_ns,
                     count * (size_t)task.request.samples * sizeof *task.sample_ns);
        rdt_wire_send(wire, RDT_FRAME_DONE, SEND_MS);
    }
    free_task(&task);
    return status;
}

static redtune_status make_ordered(server *self, const rdt_frame *frame, redtune_error *err) {
    rdt_compile_job job;
    rdt_reader reader = rdt_wire_reader_of(frame);
    rdt_wire_reader_take(&reader, &job, sizeof job);
    redtune_error why = {0};
    if (!rdt_wire_reader_done(&reader))
        return rdt_fail(err, REDTUNE_INVALID, 0, "cannot work: a job is garbled");
    why.status = self->serving->make_image(self->serving->user, &job, &why);
    tell_error(self, RDT_FRAME_MADE, &why);
    return REDTUNE_OK;
}

redtune_status rdt_serve(const rdt_serving *serving, redtune_error *err) {
    server self = {.serving = serving};
    redtune_status status = REDTUNE_OK;
    while (!status) {
        rdt_frame frame;
        rdt_wire_state state = rdt_wire_receive(serving->wire, -1, &frame);
        if (state == RDT_WIRE_ENDED) break;
        if (state != RDT_WIRE_GOT)
            status = rdt_fail(err, REDTUNE_INVALID, 0, "cannot work: what came in is no frame");
        else if (frame.kind == RDT_FRAME_MAKE)
            status = make_ordered(&self, &frame, err);
        else
            status = answer(&self, &frame, err);
    }
    return status;
}
