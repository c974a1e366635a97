/* Session: a tune on one GPU or several, by worker processes or in this one.
 *
 * A GPU has a worker process, and a device worker for each job: a thread with a device tuner, which
 * tunes classes of its own. So one job has the GPU while another lists points or waits for kernels;
 * the worker process answers one request at a time. The jobs beyond a GPU's first are spare: where
 * its memory has no room for all, they get no work.
 *
 * The calling thread starts the device workers, waits until all have answered, forms a work queue
 * for each GPU model, lets them go, and delivers their events until all have ended. The event
 * queue's lock guards the flags and the work queues. A device worker that fails stops the event
 * queue, which ends the others. Those of one GPU end together, since the system ends a worker
 * process with the thread that started it. Without a worker program the calling thread is the only
 * device worker, and the GPU is rt's. */
#define _POSIX_C_SOURCE 200809L
#include "api/tuning/session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "api/records/current.h"
#include "api/tuning/event_queue.h"
#include "api/tuning/work_queue.h"
#include "api/build/cache_file.h"
#include "tuner/measure/local.h"
#include "tuner/workers/remote.h"

enum {
    WORKERS_MAX = 64,
    USUAL_LIMIT_S = 10,
    /* Three keep a GPU busy with whole arrays. Shapes wait for kernels more than for the GPU, and
     * their usual dtypes and layouts are six classes. */
    USUAL_JOBS_MAX = 6,
    JOB_CORES = 2, /* fewer for each job, and a job would only take them from another's compiling */
};

typedef struct session session;

typedef struct device_worker {
    session *session;
    char device[16];
    struct device_worker *first; /* of the jobs of its GPU */
    unsigned job;                /* 0: it is the first itself */
    pthread_t thread;
    rdt_remote *remote; /* the first's; NULL: the work is done in this process */
    rdt_local *local;   /* of the current class, in this process */
    rdt_nvml *nvml;     /* likewise; may be NULL */
    rdt_ready ready;
    rdt_work_queue *queue; /* NULL: it has no work */
    redtune_status status;
    redtune_error error;
    /* The event queue's lock guards these. */
    bool has_answered, may_go, is_done, has_ended;
} device_worker;

struct session {
    redtune *rt;
    const redtune_tuning *wanted;
    rdt_codegen *codegen;
    rdt_cache_file cache_file;
    rdt_log log; /* into the event queue */
    rdt_worker_options options;
    rdt_worker_pool workers;
    rdt_event_queue events;
    device_worker devices[WORKERS_MAX];
    size_t device_count; /* the first of the device workers: one for each GPU */
    size_t worker_count, started_count;
    size_t job_count;                   /* wanted for each GPU */
    rdt_work_queue queues[WORKERS_MAX]; /* the event queue's lock guards what each does next */
    size_t queue_count;
};

/* ---- a device worker: one thread ------------------------------------------------------------- */

static redtune_status make_kernel(void *user, const redtune_problem *problem,
                                  const rdt_point *point, const rdt_launch *launch,
                                  rdt_kernel **out, redtune_error *err) {
    const redtune *rt = ((device_worker *)user)->session->rt;
    return rdt_builder_make(rt->builder, rt->context, problem, point, launch, out, err);
}

static redtune_status open_evaluator(void *user, const rdt_domain *domain, rdt_evaluator *out,
                                     redtune_error *err) {
    device_worker *self = user;
    if (!self->first->remote) {
        const rdt_local_parts parts = {
            .context = self->session->rt->context,
            .maker = {self->session->codegen, make_kernel, self},
            .nvml = self->nvml,
        };
        return rdt_local_replace(&self->local, &parts, domain, out, err);
    }
    *out = rdt_remote_evaluator(self->first->remote, self->job, domain);
    return REDTUNE_OK;
}

/* Sets one of the flags that the calling thread waits for. */
static void flag(device_worker *self, bool *which) {
    rdt_event_queue *events = &self->session->events;
    pthread_mutex_lock(&events->lock);
    *which = true;
    pthread_cond_broadcast(&events->news);
    pthread_mutex_unlock(&events->lock);
}

/* Waits for the work queue; false: the tune is over before it began. */
static bool await_go(device_worker *self) {
    rdt_event_queue *events = &self->session->events;
    pthread_mutex_lock(&events->lock);
    while (!self->may_go && !events->stop) pthread_cond_wait(&events->news, &events->lock);
    bool go = self->may_go && !events->stop;
    pthread_mutex_unlock(&events->lock);
    return go;
}

static bool next_range(device_worker *self, rdt_work_range *range) {
    pthread_mutex_lock(&self->session->events.lock);
    bool some = rdt_work_queue_next(self->queue, range);
    pthread_mutex_unlock(&self->session->events.lock);
    return some;
}

static redtune_status run_ranges(device_worker *self, redtune_error *err) {
    const redtune_tuning *wanted = self->session->wanted;
    rdt_device_tuner tuner = {
        .facts = &self->queue->facts,
        .gpu = {self->device, (unsigned)self->session->device_count,
                (unsigned)self->session->queue_count, self->queue->problems_before},
        .origin = &self->queue->origin,
        .problems = &self->queue->problems,
        .tuner_count = self->queue->tuner_count,
        .session_log = &self->queue->session_log,
        .wanted = wanted,
        .events = &self->session->events,
        .log = &self->session->log,
        .open_evaluator = open_evaluator,
        .user = self,
    };
    rdt_work_range range = {0};
    redtune_status status = rdt_codegen_open(&tuner.codegen, err);
    if (!status) status = rdt_tuning_open(self->session->rt->layers.path[0], &tuner.database, err);
    if (!status) status = rdt_current_complete(tuner.database, tuner.codegen, err);
    rdt_budget_start(&tuner.budget, wanted->budget_s);
    while (!status && next_range(self, &range)) status = rdt_device_tuner_run(&tuner, &range, err);
    rdt_tuning_close(tuner.database);
    rdt_codegen_close(tuner.codegen);
    return status;
}

/* Waits until no job of this GPU needs its worker process any more. */
static void await_jobs(device_worker *self) {
    session *session = self->session;
    rdt_event_queue *events = &session->events;
    pthread_mutex_lock(&events->lock);
    for (size_t i = 0; i < session->worker_count; i++) {
        const device_worker *each = &session->devices[i];
        while (each->first == self->first && each->may_go && !each->is_done)
            pthread_cond_wait(&events->news, &events->lock);
    }
    pthread_mutex_unlock(&events->lock);
}

static redtune_status open_worker(device_worker *self, redtune_error *err) {
    redtune_status status =
        rdt_remote_open(&self->session->workers, self->device, &self->remote, err);
    return status ? status : rdt_remote_ready(self->remote, &self->ready, err);
}

static void *run_worker(void *user) {
    device_worker *self = user;
    redtune_error *err = &self->error;
    self->status = self->job ? REDTUNE_OK : open_worker(self, err);
    const bool has_opened = !self->status;
    flag(self, &self->has_answered);
    if (has_opened && await_go(self) && self->queue) self->status = run_ranges(self, err);
    if (self->status) rdt_event_queue_stop(&self->session->events);
    flag(self, &self->is_done);
    await_jobs(self);
    if (!self->job) rdt_remote_close(self->remote);
    flag(self, &self->has_ended);
    return NULL;
}

/* ---- the calling thread ---------------------------------------------------------------------- */

static redtune_status add_worker(session *self, const char *device, size_t length,
                                 redtune_error *err) {
    device_worker *worker = &self->devices[self->worker_count];
    if (self->worker_count == WORKERS_MAX || !length || length >= sizeof worker->device)
        return rdt_fail(err, REDTUNE_INVALID, 0,
                        "cannot tune on devices '%.200s': give numbers such as 0,1, all, or sim",
                        self->wanted->devices);
    memcpy(worker->device, device, length);
    worker->device[length] = '\0';
    for (size_t i = 0; i < self->worker_count; i++)
        if (!strcmp(self->devices[i].device, worker->device))
            return rdt_fail(err, REDTUNE_INVALID, 0,
                            "cannot tune on devices '%.200s': %s is named twice",
                            self->wanted->devices, worker->device);
    worker->session = self;
    worker->first = worker;
    self->worker_count++;
    return REDTUNE_OK;
}

/* A simulated GPU takes the cores itself: jobs would only take turns with them. */
static size_t usual_jobs(const rdt_facts *facts, size_t gpus) {
    const size_t jobs = (size_t)rdt_process_cores() / gpus / JOB_CORES;
    if (rdt_facts_is_simulated(facts)) return 1;
    return jobs < USUAL_JOBS_MAX ? jobs : USUAL_JOBS_MAX;
}

/* Adds up to jobs - 1 device workers for each GPU, at most one worker for each part in all. */
static void add_spare_workers(session *self, const rdt_problems *problems) {
    const size_t gpus = self->device_count;
    size_t jobs = self->wanted->jobs;
    if (!jobs) jobs = usual_jobs(&self->rt->context->facts, gpus);
    self->job_count = jobs;
    const size_t classes = rdt_problem_list_classes(problems);
    const size_t parts = rdt_work_queue_parts(problems, gpus, jobs);
    const size_t most = gpus > 1 ? classes : parts;
    for (size_t i = gpus; i < jobs * gpus && i < most && i < WORKERS_MAX; i++) {
        device_worker *spare = &self->devices[self->worker_count++];
        *spare = self->devices[i % gpus];
        spare->job = (unsigned)(i / gpus);
    }
}

static redtune_status list_workers(session *self, redtune_error *err) {
    const rdt_driver *driver = self->rt->context->driver;
    const char *devices = self->wanted->devices ? self->wanted->devices : self->rt->context->name;
    redtune_status status = REDTUNE_OK;
    if (!strcmp(devices, "all")) {
        int count = 0;
        status = rdt_driver_check(driver, driver->device_get_count(&count), err, "count the GPUs");
        for (int i = 0; !status && i < count; i++) {
            char name[16];
            snprintf(name, sizeof name, "%d", i);
            status = add_worker(self, name, strlen(name), err);
        }
        return status;
    }
    for (const char *at = devices; !status; at += strcspn(at, ",") + 1) {
        status = add_worker(self, at, strcspn(at, ","), err);
        if (!at[strcspn(at, ",")]) break;
    }
    return status;
}

static bool all(const session *self, bool has_ended) {
    for (size_t i = 0; i < self->started_count; i++)
        if (!(has_ended ? self->devices[i].has_ended : self->devices[i].has_answered)) return false;
    return true;
}

/* Looks after the event queue until every device worker has answered, or ended. */
static void attend(session *self, bool has_ended) {
    for (bool done = false; !done;) {
        rdt_event_queue_deliver(&self->events);
        pthread_mutex_lock(&self->events.lock);
        done = all(self, has_ended);
        pthread_mutex_unlock(&self->events.lock);
    }
}

/* The failure that ended the tune, not the interruptions that followed from it. */
static redtune_status first_failure(const session *self, redtune_error *err) {
    const device_worker *failed = NULL;
    for (size_t i = 0; i < self->started_count; i++) {
        const device_worker *each = &self->devices[i];
        if (!each->status) continue;
        if (!failed || failed->status == REDTUNE_INTERRUPTED) failed = each;
    }
    if (failed && err) *err = failed->error;
    if (failed) return failed->status;
    if (!rdt_event_queue_stops((void *)&self->events)) return REDTUNE_OK;
    return rdt_fail_interrupted(err, "tuning");
}

/* ---- work queues ----------------------------------------------------------------------------- */

static rdt_work_queue *find_queue(session *self, const rdt_ready *ready) {
    for (size_t i = 0; i < self->queue_count; i++)
        if (rdt_facts_same_model(&self->queues[i].facts, &ready->facts)) return &self->queues[i];
    rdt_work_queue *made = &self->queues[self->queue_count++];
    made->facts = ready->facts;
    made->free_bytes = ready->free_bytes;
    made->origin.driver_version = ready->facts.driver_version;
    made->origin.nvrtc_version = ready->nvrtc_version;
    rdt_text_copy(made->origin.build, sizeof made->origin.build, rdt_codegen_build());
    rdt_text_copy(made->origin.machine, sizeof made->origin.machine, self->rt->machine);
    rdt_text_copy(made->origin.templates, sizeof made->origin.templates, ready->templates);
    return made;
}

/* Where all jobs of a GPU fit its memory at once. */
static void employ_spare_workers(session *self) {
    const uint64_t jobs = (self->worker_count + self->device_count - 1) / self->device_count;
    for (size_t i = self->device_count; i < self->worker_count; i++) {
        device_worker *spare = &self->devices[i];
        rdt_work_queue *queue = spare->first->queue;
        if (rdt_problem_list_fits(&queue->problems, &queue->facts, queue->free_bytes / jobs)) {
            spare->queue = queue;
            queue->tuner_count++;
        } else {
            rdt_log_write(&self->log, REDTUNE_LOG_DEBUG,
                          "the memory of GPU %s has no room for %d jobs", spare->device, (int)jobs);
        }
    }
}

static redtune_status form(session *self, const rdt_problems *problems, redtune_error *err) {
    size_t total = 0;
    redtune_status status = REDTUNE_OK;
    for (size_t i = 0; i < self->device_count; i++) {
        device_worker *worker = &self->devices[i];
        worker->queue = find_queue(self, &worker->ready);
        worker->queue->gpu_count++;
        worker->queue->tuner_count++;
        if (worker->ready.free_bytes < worker->queue->free_bytes)
            worker->queue->free_bytes = worker->ready.free_bytes;
        if (strcmp(worker->ready.templates, rdt_codegen_hash(self->codegen)))
            return rdt_fail(err, REDTUNE_TEMPLATE, 0,
                            "cannot tune: the workers have other templates than this process; "
                            "%.300s is of another build, or the templates have changed meanwhile",
                            self->wanted->worker);
    }
    for (size_t i = 0; !status && i < self->queue_count; i++) {
        rdt_work_queue *each = &self->queues[i];
        each->problems_before = total;
        each->job_count = self->job_count;
        status = rdt_work_queue_begin(each, problems, &self->log, err);
        total += each->problems.count;
    }
    if (!status) employ_spare_workers(self);
    if (!status) rdt_event_queue_set_count(&self->events, total);
    return status;
}

/* ---- the tune -------------------------------------------------------------------------------- */

static redtune_status start_workers(session *self, redtune_error *err) {
    redtune_status status = REDTUNE_OK;
    for (size_t i = 0; !status && i < self->worker_count; i++) {
        status =
            rdt_runtime_start_thread(run_worker, &self->devices[i], &self->devices[i].thread, err);
        if (!status) self->started_count++;
    }
    return status;
}

/* All at once: the first job of a GPU ends only when those that went have ended. */
static void let_go(session *self) {
    pthread_mutex_lock(&self->events.lock);
    for (size_t i = 0; i < self->worker_count; i++) self->devices[i].may_go = true;
    pthread_mutex_unlock(&self->events.lock);
}

static redtune_status run_threads(session *self, const rdt_problems *problems, redtune_error *err) {
    redtune_status status = start_workers(self, err);
    attend(self, false);
    if (!status) status = first_failure(self, err);
    if (!status) status = form(self, problems, err);
    if (status)
        rdt_event_queue_stop(&self->events);
    else
        let_go(self);
    pthread_cond_broadcast(&self->events.news);
    attend(self, true);
    for (size_t i = 0; i < self->started_count; i++) pthread_join(self->devices[i].thread, NULL);
    rdt_event_queue_deliver(&self->events);
    return status ? status : first_failure(self, err);
}

/* The calling thread is the device worker. */
static redtune_status tune_here(session *self, const rdt_problems *problems, redtune_error *err) {
    const rdt_context *context = self->rt->context;
    device_worker *worker = &self->devices[0];
    rdt_ready *ready = &worker->ready;
    bool entered = false;
    redtune_status status = rdt_builder_nvrtc(self->rt->builder, &ready->nvrtc_version, err);
    if (!status) status = rdt_context_enter(context, &entered, err);
    if (status) return status;
    ready->facts = context->facts;
    rdt_text_copy(ready->templates, sizeof ready->templates, rdt_codegen_hash(self->codegen));
    worker->nvml = rdt_nvml_open(context);
    status = rdt_context_free_bytes(context, &ready->free_bytes, err);
    if (!status) status = form(self, problems, err);
    if (!status) status = run_ranges(worker, err);
    rdt_local_destroy(worker->local);
    rdt_nvml_close(worker->nvml);
    rdt_context_leave(context, entered);
    return status;
}

/* The device workers are threads, and each GPU has a worker process. */
static redtune_status tune_by_workers(session *self, const rdt_problems *problems,
                                      redtune_error *err) {
    const redtune_tuning *wanted = self->wanted;
    rdt_cache_file_open(&self->rt->log, &self->cache_file);
    self->options = (rdt_worker_options){wanted->worker, self->cache_file.path, &self->log};
    self->workers = (rdt_worker_pool){
        .options = &self->options,
        .limit_s = wanted->limit_s > 0 ? wanted->limit_s : USUAL_LIMIT_S,
        .stop = rdt_event_queue_stops,
        .user = &self->events,
    };
    redtune_status status = REDTUNE_OK;
    if (*self->cache_file.path)
        status = rdt_compile_pool_open(&self->options, self->codegen, &self->workers.pool, err);
    if (!status) status = run_threads(self, problems, err);
    rdt_compile_pool_close(self->workers.pool);
    rdt_cache_file_close(&self->cache_file);
    return status;
}

redtune_status rdt_session_tune(redtune *rt, const redtune_tuning *wanted, rdt_codegen *codegen,
                                const rdt_problems *problems, redtune_error *err) {
    session *self = calloc(1, sizeof *self);
    if (!self) return rdt_fail_memory(err, sizeof *self);
    self->rt = rt;
    self->wanted = wanted;
    self->codegen = codegen;
    self->log = (rdt_log){rdt_event_queue_put_line, &self->events, rt->log.level};
    rdt_event_queue_open(&self->events, wanted, &rt->log, problems);
    redtune_status status = list_workers(self, err);
    self->device_count = self->worker_count;
    if (!status && wanted->worker) add_spare_workers(self, problems);
    if (!status)
        status =
            wanted->worker ? tune_by_workers(self, problems, err) : tune_here(self, problems, err);
    rdt_event_queue_close(&self->events);
    for (size_t i = 0; i < self->queue_count; i++) rdt_work_queue_end(&self->queues[i]);
    free(self);
    return status;
}
