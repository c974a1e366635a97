/* Fleet: a tune whose work is done by worker processes, on one GPU or several.
 *
 * Each GPU has a ship: a thread that starts the GPU's worker, and a lane of problems. Ships of
 * equal models form a squadron, which shares a list of problems. The thread that called looks after
 * the mailbox. */
#define _POSIX_C_SOURCE 200809L
#include "api/fleet.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "api/mailbox.h"
#include "api/squadron.h"
#include "api/cache_file.h"
#include "tuner/remote.h"

enum { SHIPS_MAX = 64, USUAL_LIMIT_S = 10 };

typedef struct fleet fleet;

typedef struct ship {
    fleet *fleet;
    char device[16];
    pthread_t thread;
    rdt_remote *remote;
    rdt_ready ready;
    rdt_squadron *squadron;
    redtune_status status;
    redtune_error error;
    /* The mailbox's lock guards these. */
    bool has_answered, may_go, has_ended;
} ship;

struct fleet {
    redtune *rt;
    const redtune_tuning *wanted;
    rdt_codegen *codegen;
    rdt_cache_file cache_file;
    rdt_log log; /* into the mailbox */
    rdt_workplace workplace;
    rdt_workforce workforce;
    rdt_mailbox mailbox;
    ship ships[SHIPS_MAX];
    size_t ship_count, started_count;
    rdt_squadron squadrons[SHIPS_MAX]; /* the mailbox's lock guards what each does next */
    size_t squadron_count;
};

/* ---- a ship: one thread -------------------------------------------------------------------- */

static bool progress(void *user, const redtune_progress *report) {
    return rdt_mailbox_put_progress(&((ship *)user)->fleet->mailbox, report);
}

static void tuned(void *user, const redtune_tuned *result) {
    rdt_mailbox_put_result(&((ship *)user)->fleet->mailbox, result);
}

static void warn(void *user, const char *line) {
    const ship *self = user;
    const bool several = self->fleet->ship_count > 1;
    rdt_log_write(&self->fleet->log, REDTUNE_LOG_WARNING, "%s%s%s%s", several ? "GPU " : "",
                  several ? self->device : "", several ? ": " : "", line);
}

static redtune_status open_lab(void *user, const redtune_problem *largest, rdt_lab *out,
                               redtune_error *err) {
    (void)err;
    *out = rdt_remote_lab(((ship *)user)->remote, largest);
    return REDTUNE_OK;
}

/* Sets one of the flags that the calling thread waits for. */
static void flag(ship *self, bool *which) {
    rdt_mailbox *mailbox = &self->fleet->mailbox;
    pthread_mutex_lock(&mailbox->lock);
    *which = true;
    pthread_cond_broadcast(&mailbox->news);
    pthread_mutex_unlock(&mailbox->lock);
}

/* Waits for the squadron; false: the tune is over before it began. */
static bool await_go(ship *self) {
    rdt_mailbox *mailbox = &self->fleet->mailbox;
    pthread_mutex_lock(&mailbox->lock);
    while (!self->may_go && !mailbox->stop) pthread_cond_wait(&mailbox->news, &mailbox->lock);
    bool go = self->may_go && !mailbox->stop;
    pthread_mutex_unlock(&mailbox->lock);
    return go;
}

static bool next_portion(ship *self, rdt_portion *portion) {
    pthread_mutex_lock(&self->fleet->mailbox.lock);
    bool some = rdt_squadron_next(self->squadron, portion);
    pthread_mutex_unlock(&self->fleet->mailbox.lock);
    return some;
}

static redtune_status sail(ship *self, redtune_error *err) {
    const redtune_tuning *wanted = self->fleet->wanted;
    const rdt_lane_hooks hooks = {self, progress, tuned, warn, open_lab};
    rdt_lane lane = {
        .facts = &self->squadron->facts,
        .gpu = {self->device, (unsigned)self->fleet->ship_count,
                (unsigned)self->fleet->squadron_count, self->squadron->problems_before},
        .origin = &self->squadron->origin,
        .problems = &self->squadron->problems,
        .lane_count = self->squadron->gpu_count,
        .logbook = &self->squadron->logbook,
        .wanted = wanted,
        .strategy = rdt_strategy_find(wanted->effort),
        .hooks = &hooks,
    };
    rdt_portion portion = {0};
    redtune_status status = rdt_codegen_open(&lane.codegen, err);
    if (!status) status = rdt_tuning_open(self->fleet->rt->layers.path[0], &lane.database, err);
    rdt_budget_start(&lane.budget, wanted->budget_s);
    while (!status && next_portion(self, &portion)) status = rdt_lane_run(&lane, &portion, err);
    rdt_tuning_close(lane.database);
    rdt_codegen_close(lane.codegen);
    return status;
}

/* The system takes this thread for the worker's parent, so it closes the remote, too. */
static void *run_ship(void *user) {
    ship *self = user;
    redtune_error *err = &self->error;
    redtune_status status =
        rdt_remote_open(&self->fleet->workforce, self->device, &self->remote, err);
    if (!status) status = rdt_remote_ready(self->remote, &self->ready, err);
    self->status = status;
    flag(self, &self->has_answered);
    if (!status && await_go(self)) self->status = sail(self, err);
    if (self->status) rdt_mailbox_stop(&self->fleet->mailbox);
    rdt_remote_close(self->remote);
    flag(self, &self->has_ended);
    return NULL;
}

/* ---- the calling thread -------------------------------------------------------------------- */

static redtune_status add_ship(fleet *self, const char *device, size_t length, redtune_error *err) {
    ship *ship = &self->ships[self->ship_count];
    if (self->ship_count == SHIPS_MAX || !length || length >= sizeof ship->device)
        return rdt_fail(err, REDTUNE_INVALID, 0,
                        "cannot tune on devices '%.200s': give numbers such as 0,1, all, or sim",
                        self->wanted->devices);
    memcpy(ship->device, device, length);
    ship->device[length] = '\0';
    for (size_t i = 0; i < self->ship_count; i++)
        if (!strcmp(self->ships[i].device, ship->device))
            return rdt_fail(err, REDTUNE_INVALID, 0,
                            "cannot tune on devices '%.200s': %s is named twice",
                            self->wanted->devices, ship->device);
    ship->fleet = self;
    self->ship_count++;
    return REDTUNE_OK;
}

static redtune_status list_ships(fleet *self, redtune_error *err) {
    const rdt_driver *driver = self->rt->context->driver;
    const char *devices = self->wanted->devices ? self->wanted->devices : self->rt->context->name;
    redtune_status status = REDTUNE_OK;
    if (!strcmp(devices, "all")) {
        int count = 0;
        status = rdt_driver_check(driver, driver->device_get_count(&count), err, "count the GPUs");
        for (int i = 0; !status && i < count; i++) {
            char name[16];
            snprintf(name, sizeof name, "%d", i);
            status = add_ship(self, name, strlen(name), err);
        }
        return status;
    }
    for (const char *at = devices; !status; at += strcspn(at, ",") + 1) {
        status = add_ship(self, at, strcspn(at, ","), err);
        if (!at[strcspn(at, ",")]) break;
    }
    return status;
}

static bool all(const fleet *self, bool has_ended) {
    for (size_t i = 0; i < self->started_count; i++)
        if (!(has_ended ? self->ships[i].has_ended : self->ships[i].has_answered)) return false;
    return true;
}

/* Looks after the mailbox until every ship has answered, or ended. */
static void attend(fleet *self, bool has_ended) {
    for (bool done = false; !done;) {
        rdt_mailbox_deliver(&self->mailbox);
        pthread_mutex_lock(&self->mailbox.lock);
        done = all(self, has_ended);
        pthread_mutex_unlock(&self->mailbox.lock);
    }
}

/* What ended the tune: not the interruptions that followed from it. */
static redtune_status first_failure(const fleet *self, redtune_error *err) {
    const ship *failed = NULL;
    for (size_t i = 0; i < self->started_count; i++) {
        const ship *each = &self->ships[i];
        if (!each->status) continue;
        if (!failed || failed->status == REDTUNE_INTERRUPTED) failed = each;
    }
    if (failed && err) *err = failed->error;
    if (failed) return failed->status;
    if (!rdt_mailbox_stops((void *)&self->mailbox)) return REDTUNE_OK;
    return rdt_fail(err, REDTUNE_INTERRUPTED, 0,
                    "tuning was interrupted; what was measured is kept");
}

/* ---- squadrons ----------------------------------------------------------------------------- */

static rdt_squadron *find_squadron(fleet *self, const rdt_ready *ready) {
    for (size_t i = 0; i < self->squadron_count; i++)
        if (rdt_facts_same_model(&self->squadrons[i].facts, &ready->facts))
            return &self->squadrons[i];
    rdt_squadron *made = &self->squadrons[self->squadron_count++];
    made->facts = ready->facts;
    made->free_bytes = ready->free_bytes;
    made->origin.driver_version = ready->facts.driver_version;
    made->origin.nvrtc_version = ready->nvrtc_version;
    rdt_text_copy(made->origin.build, sizeof made->origin.build, rdt_codegen_build());
    rdt_text_copy(made->origin.machine, sizeof made->origin.machine, self->rt->machine);
    rdt_text_copy(made->origin.templates, sizeof made->origin.templates, ready->templates);
    return made;
}

static redtune_status form(fleet *self, const rdt_problems *problems, redtune_error *err) {
    size_t total = 0;
    redtune_status status = REDTUNE_OK;
    for (size_t i = 0; i < self->ship_count; i++) {
        ship *ship = &self->ships[i];
        ship->squadron = find_squadron(self, &ship->ready);
        ship->squadron->gpu_count++;
        if (ship->ready.free_bytes < ship->squadron->free_bytes)
            ship->squadron->free_bytes = ship->ready.free_bytes;
        if (strcmp(ship->ready.templates, rdt_codegen_hash(self->codegen)))
            return rdt_fail(err, REDTUNE_TEMPLATE, 0,
                            "cannot tune: the workers have other templates than this process; "
                            "%.300s is of another build, or the templates have changed meanwhile",
                            self->wanted->worker);
    }
    for (size_t i = 0; !status && i < self->squadron_count; i++) {
        rdt_squadron *each = &self->squadrons[i];
        each->problems_before = total;
        status = rdt_squadron_begin(each, problems, &self->log, err);
        total += each->problems.count;
    }
    if (!status) rdt_mailbox_set_count(&self->mailbox, total);
    return status;
}

/* ---- the tune ------------------------------------------------------------------------------ */

static redtune_status start_ships(fleet *self, redtune_error *err) {
    redtune_status status = REDTUNE_OK;
    for (size_t i = 0; !status && i < self->ship_count; i++) {
        status = rdt_state_start_thread(run_ship, &self->ships[i], &self->ships[i].thread, err);
        if (!status) self->started_count++;
    }
    return status;
}

static redtune_status run(fleet *self, const rdt_problems *problems, redtune_error *err) {
    redtune_status status = start_ships(self, err);
    attend(self, false);
    if (!status) status = first_failure(self, err);
    if (!status) status = form(self, problems, err);
    if (status) {
        rdt_mailbox_stop(&self->mailbox);
    } else {
        for (size_t i = 0; i < self->ship_count; i++) flag(&self->ships[i], &self->ships[i].may_go);
    }
    pthread_cond_broadcast(&self->mailbox.news);
    attend(self, true);
    for (size_t i = 0; i < self->started_count; i++) pthread_join(self->ships[i].thread, NULL);
    rdt_mailbox_deliver(&self->mailbox);
    return status ? status : first_failure(self, err);
}

redtune_status rdt_fleet_tune(redtune *rt, const redtune_tuning *wanted, rdt_codegen *codegen,
                              const rdt_problems *problems, redtune_error *err) {
    fleet *self = calloc(1, sizeof *self);
    if (!self) return rdt_fail_memory(err, sizeof *self);
    self->rt = rt;
    self->wanted = wanted;
    self->codegen = codegen;
    self->log = (rdt_log){rdt_mailbox_put_line, &self->mailbox, rt->log.level};
    redtune_status status = list_ships(self, err);
    if (status) {
        free(self);
        return status;
    }
    rdt_cache_file_open(&rt->log, &self->cache_file);
    self->workplace = (rdt_workplace){wanted->worker, self->cache_file.path, &self->log};
    self->workforce = (rdt_workforce){
        .workplace = &self->workplace,
        .limit_s = wanted->limit_s > 0 ? wanted->limit_s : USUAL_LIMIT_S,
        .stop = rdt_mailbox_stops,
        .user = &self->mailbox,
    };
    rdt_mailbox_open(&self->mailbox, wanted, &rt->log, problems->problem, problems->count);
    if (*self->cache_file.path)
        status = rdt_crew_open(&self->workplace, codegen, &self->workforce.crew, err);
    if (!status) status = run(self, problems, err);
    rdt_crew_close(self->workforce.crew);
    rdt_mailbox_close(&self->mailbox);
    rdt_cache_file_close(&self->cache_file);
    for (size_t i = 0; i < self->squadron_count; i++) rdt_squadron_end(&self->squadrons[i]);
    free(self);
    return status;
}
