/* Tune: tuning a list of problems, and keeping what was measured. */
#include "api/runtime/state.h"

#include "api/tuning/session.h"
#include "api/tuning/device_tuner.h"
#include "tuner/measure/local.h"
#include "redtune/tune.h"

/* A tune on rt's own GPU, in this process. */
typedef struct job {
    redtune *rt;
    const redtune_tuning *wanted;
    rdt_codegen *codegen;
    rdt_tuning *database;
    rdt_origin origin;
    rdt_problems problems;
    rdt_session_log session_log;
    rdt_local *local; /* of the class at hand */
    rdt_nvml *nvml;   /* NULL: there is none */
} job;

/* ---- the device tuner's hooks ---------------------------------------------------------------- */

static bool progress(void *user, const redtune_progress *report) {
    const redtune_tuning *wanted = ((job *)user)->wanted;
    return wanted->progress && wanted->progress(wanted->user, report);
}

static void tuned(void *user, const redtune_tuned *result) {
    const redtune_tuning *wanted = ((job *)user)->wanted;
    if (wanted->tuned) wanted->tuned(wanted->user, result);
}

static void warn(void *user, const char *line) {
    const job *self = user;
    rdt_log_write(&self->rt->log, REDTUNE_LOG_WARNING, "%s", line);
}

static redtune_status make_kernel(void *user, int family, const redtune_problem *problem,
                                  const rdt_config *config, const rdt_launch *launch,
                                  rdt_kernel **out, redtune_error *err) {
    job *self = user;
    return rdt_builder_make(self->rt->builder, self->rt->context, family, problem, config, launch,
                            out, err);
}

static redtune_status open_evaluator(void *user, const redtune_problem *largest, rdt_evaluator *out,
                                     redtune_error *err) {
    job *self = user;
    const rdt_local_parts parts = {
        .context = self->rt->context,
        .codegen = self->codegen,
        .make = make_kernel,
        .user = self,
        .nvml = self->nvml,
    };
    rdt_local_destroy(self->local);
    self->local = NULL;
    redtune_status status = rdt_local_create(&parts, largest, &self->local, err);
    if (!status) *out = rdt_local_evaluator(self->local);
    return status;
}

/* ---- tuning ---------------------------------------------------------------------------------- */

static redtune_status tune_all(job *self, redtune_error *err) {
    const rdt_device_tuner_hooks hooks = {self, progress, tuned, warn, open_evaluator};
    rdt_device_tuner tuner = {
        .codegen = self->codegen,
        .database = self->database,
        .facts = &self->rt->context->facts,
        .gpu = {self->rt->context->name, 1, 1, 0},
        .origin = &self->origin,
        .problems = &self->problems,
        .tuner_count = 1,
        .session_log = &self->session_log,
        .wanted = self->wanted,
        .strategy = rdt_strategy_find(self->wanted->effort),
        .hooks = &hooks,
    };
    redtune_status status = rdt_session_log_open(&self->session_log, self->problems.count, err);
    rdt_budget_start(&tuner.budget, self->wanted->budget_s);
    for (rdt_work_range at = {0}; !status && at.first < self->problems.count;
         at.first += at.count) {
        at.count = rdt_problems_class(&self->problems, at.first);
        status = rdt_device_tuner_run(&tuner, &at, err);
    }
    rdt_session_log_close(&self->session_log);
    rdt_local_destroy(self->local);
    return status;
}

/* Everything in this process. */
static redtune_status tune_here(job *self, const rdt_problems *asked, redtune_error *err) {
    const rdt_context *context = self->rt->context;
    uint64_t free_bytes = 0;
    bool entered = false;
    redtune_status status = rdt_builder_nvrtc(self->rt->builder, &self->origin.nvrtc_version, err);
    if (!status) status = rdt_context_enter(context, &entered, err);
    if (status) return status;
    self->nvml = rdt_nvml_open(context);
    status = rdt_test_buffers_free_bytes(context, &free_bytes, err);
    if (!status)
        status = rdt_problems_fit(asked, &context->facts, free_bytes, &self->rt->log,
                                  &self->problems, err);
    if (!status) status = tune_all(self, err);
    rdt_problems_free(&self->problems);
    rdt_nvml_close(self->nvml);
    rdt_context_leave(context, entered);
    return status;
}

static redtune_status run_job(job *self, redtune_error *err) {
    redtune *rt = self->rt;
    rdt_problems asked = {0};
    bool simulated = rdt_facts_is_simulated(&rt->context->facts);
    redtune_status status = rdt_problems_list(self->wanted, simulated, &asked, err);
    if (!status && simulated && !(self->wanted->count_count && self->wanted->dtype_count))
        rdt_log_write(&rt->log, REDTUNE_LOG_WARNING,
                      "the GPU is simulated, and slow: where none are named, only 256, 512 and 1K "
                      "elements of f32, f64 and i32 are tuned");
    if (!status) rdt_layers_note(&rt->layers, &rt->log);
    if (!status) status = rdt_tuning_open(rt->layers.path[0], &self->database, err);
    if (!status && asked.count) {
        rdt_text_copy(self->origin.machine, sizeof self->origin.machine, rt->machine);
        self->origin.driver_version = rt->context->facts.driver_version;
        rdt_text_copy(self->origin.build, sizeof self->origin.build, rdt_codegen_build());
        rdt_text_copy(self->origin.templates, sizeof self->origin.templates,
                      rdt_codegen_hash(self->codegen));
        status = self->wanted->worker
                     ? rdt_session_tune(rt, self->wanted, self->codegen, &asked, err)
                     : tune_here(self, &asked, err);
    }
    rdt_problems_free(&asked);
    return status;
}

static redtune_status check(const redtune *rt, const redtune_tuning *wanted, redtune_error *err) {
    if (!rt) return rdt_fail(err, REDTUNE_INVALID, 0, "cannot tune: rt is NULL");
    const char *missing = wanted->op_count && !wanted->ops         ? "ops"
                          : wanted->dtype_count && !wanted->dtypes ? "dtypes"
                          : wanted->count_count && !wanted->counts ? "counts"
                                                                   : NULL;
    if (missing)
        return rdt_fail(err, REDTUNE_INVALID, 0, "cannot tune: %s is NULL, though it is counted",
                        missing);
    if (!rdt_strategy_find(wanted->effort))
        return rdt_fail(err, REDTUNE_INVALID, 0, "cannot tune: effort %d is none",
                        (int)wanted->effort);
    if (wanted->devices && !wanted->worker)
        return rdt_fail(err, REDTUNE_INVALID, 0,
                        "cannot tune on devices '%.200s' without a worker; name one, or leave the "
                        "devices out to tune on the GPU that redtune was opened on",
                        wanted->devices);
    return REDTUNE_OK;
}

redtune_status redtune_tune(redtune *rt, const redtune_tuning *tuning, redtune_error *err) {
    const redtune_tuning usual = {0};
    job self = {.rt = rt, .wanted = tuning ? tuning : &usual};
    redtune_status status = check(rt, self.wanted, err);
    if (!status) status = rdt_builder_borrow(rt->builder, &self.codegen, err);
    if (status) return status;
    status = run_job(&self, err);
    rdt_builder_give_back(rt->builder);
    rdt_tuning_close(self.database);
    /* What an interrupted tune has measured counts, too. */
    rdt_state_forget_winners(rt);
    return status;
}
