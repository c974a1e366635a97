/* Trust: received measurements are hints, which are verified on this GPU before they serve. */
#define _POSIX_C_SOURCE 200809L
#include "api/trust.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "api/known.h"
#include "api/store.h"
#include "tuner/local.h"
#include "tuner/recheck.h"
#include "tuner/remote.h"

/* Of the free memory that the application may be about to take. */
enum { MEMORY_SHARE = 4 };
/* For one step of a config in a worker: a check, or a sample. */
static const double step_limit_s = 2;

redtune_status rdt_trust_find(redtune_trust chosen, redtune_trust *out, redtune_error *err) {
    static const char *const names[] = {"verified", "all", "none"};
    const char *wanted = getenv("REDTUNE_TRUST");
    size_t i = (size_t)chosen, count = sizeof names / sizeof *names;
    if (wanted && *wanted)
        for (i = 0; i < count && strcmp(wanted, names[i]);) i++;
    if (i >= count && wanted && *wanted)
        return rdt_fail(err, REDTUNE_INVALID, 0,
                        "cannot use REDTUNE_TRUST=%.40s: it may be verified, all or none", wanted);
    if (i >= count)
        return rdt_fail(err, REDTUNE_INVALID, 0, "cannot use options.trust %d: it is none",
                        (int)chosen);
    *out = (redtune_trust)i;
    return REDTUNE_OK;
}

/* Where one hint is tried. */
typedef struct trial_place {
    redtune *rt;
    rdt_codegen *codegen;
    redtune_problem problem; /* as it is measured */
    bool is_less;            /* of less elements than it should be */
    uint64_t memory_bytes;
    double made_s; /* went into making kernels */
    size_t at;     /* the candidate at hand */
    rdt_lab lab;
    rdt_local *local;
    rdt_remote *remote;
    rdt_store store;
    rdt_workplace workplace;
    rdt_workforce workforce;
} trial_place;

/* ---- time ---------------------------------------------------------------------------------- */

static double now_s(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static double clock_s(void *user) {
    return now_s() - ((const trial_place *)user)->made_s;
}

/* ---- the lab ------------------------------------------------------------------------------- */

static redtune_status make_kernel(void *user, int family, const redtune_problem *problem,
                                  const rdt_config *config, const rdt_launch *launch,
                                  rdt_kernel **out, redtune_error *err) {
    trial_place *self = user;
    double before = now_s();
    redtune_status status = rdt_builder_make(self->rt->builder, self->rt->context, family, problem,
                                             config, launch, out, err);
    self->made_s += now_s() - before;
    return status;
}

static void be_at(void *user, size_t candidate) {
    ((trial_place *)user)->at = candidate;
}

static redtune_status open_local(trial_place *self, redtune_error *err) {
    const rdt_local_parts parts = {
        .context = self->rt->context,
        .codegen = self->codegen,
        .make = make_kernel,
        .user = self,
        .memory_bytes = self->memory_bytes,
        .at = be_at,
        .at_user = self,
    };
    redtune_status status = rdt_local_create(&parts, &self->problem, &self->local, err);
    if (!status) self->lab = rdt_local_lab(self->local);
    return status;
}

/* Kernels are made here, where the worker finds them in the cache: its own making would count. */
static redtune_status make_ahead(trial_place *self, const rdt_hint *hint, bool ptx,
                                 redtune_error *err) {
    rdt_case at = {&self->problem, &self->rt->context->facts};
    rdt_config standard;
    redtune_status status =
        rdt_builder_store(self->rt->builder, at, hint->family, &hint->config, ptx, err);
    if (status == REDTUNE_COMPILER) status = REDTUNE_OK; /* the worker finds that, too */
    if (!status) status = rdt_codegen_default(self->codegen, hint->family, at, &standard, err);
    if (!status)
        status = rdt_builder_store(self->rt->builder, at, hint->family, &standard, ptx, err);
    return status;
}

static redtune_status open_remote(trial_place *self, const rdt_hint *hint, redtune_error *err) {
    rdt_ready ready;
    rdt_store_open(&self->rt->log, &self->store);
    self->workplace = (rdt_workplace){self->rt->worker, self->store.path, &self->rt->log};
    self->workforce = (rdt_workforce){.workplace = &self->workplace, .limit_s = step_limit_s};
    redtune_status status =
        rdt_remote_open(&self->workforce, self->rt->context->name, &self->remote, err);
    if (!status) status = rdt_remote_ready(self->remote, &ready, err);
    if (!status) status = make_ahead(self, hint, ready.ptx, err);
    if (!status) self->lab = rdt_remote_lab(self->remote, &self->problem);
    return status;
}

static void close_lab(trial_place *self) {
    rdt_local_destroy(self->local);
    rdt_remote_close(self->remote);
    if (self->rt->worker) rdt_store_close(&self->store);
}

/* ---- what is tried ------------------------------------------------------------------------- */

/* The largest power of two up to count. */
static uint64_t round_down(uint64_t count) {
    uint64_t power = 1;
    while (power <= count / 2) power *= 2;
    return power;
}

/* Chooses the count. */
static redtune_status set_out(trial_place *self, const rdt_hint *hint, redtune_error *err) {
    const rdt_context *context = self->rt->context;
    uint64_t free_bytes = 0;
    redtune_status status = rdt_rig_free_bytes(context, &free_bytes, err);
    if (status) return status;
    self->problem = *hint->problem;
    self->problem.config = NULL;
    self->problem.count = hint->match == REDTUNE_MATCH_GPU ? hint->problem->count : hint->count;
    self->memory_bytes = free_bytes / MEMORY_SHARE;
    uint64_t most = rdt_rig_count_within(&context->facts, self->memory_bytes, &self->problem);
    if (self->problem.count <= most) return REDTUNE_OK;
    if (!most)
        return rdt_fail(err, REDTUNE_MEMORY, 0,
                        "%" PRIu64 " bytes of GPU memory are free, and a quarter is too little",
                        free_bytes);
    self->problem.count = round_down(most);
    self->is_less = true;
    return REDTUNE_OK;
}

/* Whether a config that is tried with less elements has been before. */
static bool is_known(const trial_place *self, const rdt_hint *hint) {
    rdt_tuning *database = NULL;
    rdt_trials known = {0};
    char text[RDT_CONFIG_TEXT_BYTES];
    bool found = false;
    rdt_config_format(rdt_codegen_space(self->codegen, hint->family), &hint->config, text);
    if (!rdt_tuning_open_read(self->rt->layers.path[0], &database, NULL) &&
        !rdt_known_read(database, &self->rt->context->facts, rdt_codegen_hash(self->codegen),
                        &self->problem, RDT_CACHE_COLD, &known, NULL))
        for (size_t i = 0; i < known.count; i++)
            found |= known.trial[i].problem.count == self->problem.count &&
                     !strcmp(known.trial[i].config, text);
    rdt_trials_free(&known);
    rdt_tuning_close(database);
    return found;
}

/* ---- keeping what came of it --------------------------------------------------------------- */

static redtune_status find_origin(const trial_place *self, rdt_origin *out, redtune_error *err) {
    rdt_origin origin = {.driver_version = self->rt->context->facts.driver_version};
    rdt_text_copy(origin.templates, sizeof origin.templates, rdt_codegen_hash(self->codegen));
    redtune_status status = rdt_builder_nvrtc(self->rt->builder, &origin.nvrtc_version, err);
    if (!status) *out = origin;
    return status;
}

static redtune_status put(const trial_place *self, const rdt_origin *origin,
                          const rdt_rechecked *found, redtune_error *err) {
    rdt_tuning *database = NULL;
    redtune_status status = rdt_tuning_open(self->rt->layers.path[0], &database, err);
    if (!status)
        status = rdt_tuning_put(database, &self->rt->context->facts, origin, found->trials,
                                found->count, err);
    rdt_tuning_close(database);
    return status;
}

/* Where the database takes nothing. */
static redtune_status remember(const trial_place *self, const rdt_origin *origin,
                               const rdt_rechecked *found, redtune_error *err) {
    redtune *rt = self->rt;
    redtune_status status = REDTUNE_OK;
    pthread_mutex_lock(&rt->lock);
    for (size_t i = 0; !status && i < found->count; i++) {
        const rdt_row row = {.trial = found->trials[i],
                             .gpu = rt->context->facts,
                             .origin = *origin,
                             .date = (int64_t)time(NULL)};
        status = rdt_rows_add(&rt->judged, &row, err);
    }
    pthread_mutex_unlock(&rt->lock);
    return status;
}

static redtune_status keep(const trial_place *self, const rdt_rechecked *found,
                           redtune_error *err) {
    rdt_origin origin;
    redtune_error why;
    redtune_status status = find_origin(self, &origin, err);
    if (status || !found->count) return status;
    if (put(self, &origin, found, &why)) {
        rdt_log_write(&self->rt->log, REDTUNE_LOG_INFO,
                      "what was verified is not kept for other processes: %s", why.message);
        status = remember(self, &origin, found, err);
    }
    rdt_state_forget_winners(self->rt);
    return status;
}

static void report(const trial_place *self, const rdt_rechecked *found) {
    const rdt_log *log = &self->rt->log;
    for (size_t i = 0; i < found->count; i++) {
        const rdt_trial *trial = &found->trials[i];
        if (trial->outcome == RDT_OUTCOME_GOOD)
            rdt_log_write(log, REDTUNE_LOG_INFO, "verified %s: %.2f us at %" PRIu64 " elements%s",
                          trial->config, trial->median_ns / 1e3, trial->problem.count,
                          trial->is_default ? ", the default" : "");
        else
            rdt_log_write(log, REDTUNE_LOG_WARNING, "%s is out, as an import had it: %s: %s",
                          trial->config, rdt_outcome_name(trial->outcome), trial->cause);
    }
}

/* ---- verifying ----------------------------------------------------------------------------- */

static redtune_status recheck(trial_place *self, const rdt_hint *hint, double *left_s,
                              rdt_rechecked *found, redtune_error *err) {
    const rdt_recheck wanted = {
        .lab = &self->lab,
        .codegen = self->codegen,
        .facts = &self->rt->context->facts,
        .family = hint->family,
        .problem = &self->problem,
        .cache = RDT_CACHE_COLD,
        .limit_s = *left_s,
        .clock_s = clock_s,
        .user = self,
        .at = &self->at,
    };
    double before = clock_s(self);
    redtune_status status = rdt_recheck_run(&wanted, &hint->config, found, err);
    *left_s -= clock_s(self) - before;
    if (!status && !found->count)
        status = rdt_fail(err, REDTUNE_UNSUPPORTED, 0, "it takes longer than %.3g s",
                          self->rt->verify_s);
    return status;
}

static redtune_status try_out(trial_place *self, const rdt_hint *hint, double *left_s,
                              redtune_error *err) {
    rdt_rechecked found = {.count = 0};
    redtune_error why;
    redtune_status status = self->rt->worker ? open_remote(self, hint, err) : open_local(self, err);
    if (!status) status = recheck(self, hint, left_s, &found, err);
    close_lab(self);
    report(self, &found);
    /* A fault that spoils everything else here is kept, too, so that nobody meets it again. */
    redtune_status kept = keep(self, &found, &why);
    if (!status && kept && err) *err = why;
    return status ? status : kept;
}

redtune_status rdt_trust_verify(redtune *rt, rdt_codegen *codegen, const rdt_hint *hint,
                                double *left_s, bool *decided, redtune_error *err) {
    trial_place self = {.rt = rt, .codegen = codegen};
    if (*left_s <= 0)
        return rdt_fail(err, REDTUNE_UNSUPPORTED, 0, "the time for it, %.3g s, is over",
                        rt->verify_s);
    redtune_status status = set_out(&self, hint, err);
    if (!status && !(self.is_less && is_known(&self, hint)))
        status = try_out(&self, hint, left_s, err);
    if (!status) *decided = !self.is_less;
    return status;
}
