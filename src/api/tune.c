/* Tune: tuning a list of problems, and keeping what was measured. */
#include "api/state.h"

#include <stdlib.h>
#include <string.h>
#include "api/known.h"
#include "tuner/local.h"
#include "tuner/series.h"

/* The counts, dtypes and ops that are tuned when the caller names none. */
static const redtune_op usual_ops[] = {REDTUNE_SUM};
static const redtune_dtype usual_dtypes[] = {REDTUNE_F16, REDTUNE_BF16, REDTUNE_F32, REDTUNE_F64,
                                             REDTUNE_I8,  REDTUNE_I32,  REDTUNE_I64};
enum { USUAL_COUNT_LOW = 10, USUAL_COUNT_HIGH = 30 };

typedef struct job {
    redtune *rt;
    const redtune_tuning *wanted;
    rdt_codegen *codegen;
    rdt_tuning *database;
    rdt_origin origin;
    redtune_problem *problems; /* by op and dtype, then count */
    size_t problem_count;
    size_t first; /* of the class at hand */
    const rdt_strategy *strategy;
    rdt_budget budget;
    rdt_nvml *nvml; /* NULL: there is none */
} job;

/* ---- the list of problems ------------------------------------------------------------------ */

static int compare_counts(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* The caller's counts in ascending order, each once; or the usual ones. */
static redtune_status list_counts(const redtune_tuning *wanted, uint64_t **out, size_t *out_count,
                                  redtune_error *err) {
    size_t count =
        wanted->count_count ? wanted->count_count : USUAL_COUNT_HIGH - USUAL_COUNT_LOW + 1;
    uint64_t *counts = malloc(count * sizeof *counts);
    if (!counts) return rdt_fail_memory(err, count * sizeof *counts);
    for (size_t i = 0; i < count; i++)
        counts[i] = wanted->count_count ? wanted->counts[i] : UINT64_C(1) << (USUAL_COUNT_LOW + i);
    qsort(counts, count, sizeof *counts, compare_counts);
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (!kept || counts[kept - 1] != counts[i]) counts[kept++] = counts[i];
    *out = counts;
    *out_count = kept;
    return REDTUNE_OK;
}

static redtune_status list_problems(job *self, redtune_error *err) {
    const redtune_tuning *wanted = self->wanted;
    const redtune_op *ops = wanted->op_count ? wanted->ops : usual_ops;
    const redtune_dtype *dtypes = wanted->dtype_count ? wanted->dtypes : usual_dtypes;
    size_t op_count = wanted->op_count ? wanted->op_count : sizeof usual_ops / sizeof *usual_ops;
    size_t dtype_count =
        wanted->dtype_count ? wanted->dtype_count : sizeof usual_dtypes / sizeof *usual_dtypes;
    uint64_t *counts = NULL;
    size_t count_count = 0;
    redtune_status status = list_counts(wanted, &counts, &count_count, err);
    if (status) return status;
    size_t total = op_count * dtype_count * count_count;
    self->problems = calloc(total, sizeof *self->problems);
    if (!self->problems) status = rdt_fail_memory(err, total * sizeof *self->problems);
    for (size_t op = 0; !status && op < op_count; op++)
        for (size_t dtype = 0; !status && dtype < dtype_count; dtype++) {
            uint64_t largest = 0;
            redtune_problem problem = {ops[op], dtypes[dtype], REDTUNE_DTYPE_NONE, 0};
            status = rdt_problem_resolve(&problem, &problem, err);
            if (!status) status = rdt_rig_count_max(self->rt->context, &problem, &largest, err);
            for (size_t i = 0; !status && i < count_count; i++) {
                if (counts[i] > largest) continue;
                problem.count = counts[i];
                status = rdt_problem_resolve(&problem, &self->problems[self->problem_count], err);
                if (!status) self->problem_count++;
            }
        }
    free(counts);
    if (!status && !self->problem_count)
        status =
            rdt_fail(err, REDTUNE_INVALID, 0,
                     "cannot tune: no problem of the sizes asked for fits the GPU's memory; ask "
                     "for smaller sizes");
    return status;
}

/* ---- the tuner's hooks --------------------------------------------------------------------- */

static redtune_status store(void *user, const rdt_trial *trials, size_t count, redtune_error *err) {
    job *self = user;
    return rdt_tuning_put(self->database, &self->rt->context->facts, &self->origin, trials, count,
                          err);
}

static bool progress(void *user, size_t problem, const char *stage, size_t i, size_t n,
                     double best_ns) {
    job *self = user;
    if (!self->wanted->progress) return false;
    const redtune_problem *at = &self->problems[self->first + problem];
    double bytes = (double)at->count * (double)redtune_dtype_bytes(at->dtype);
    redtune_progress report = {
        .problem = at,
        .problem_index = self->first + problem,
        .problem_count = self->problem_count,
        .candidate_index = i,
        .candidate_count = n,
        .stage = stage,
        .best_gbps = best_ns > 0 ? bytes / best_ns : 0,
    };
    return self->wanted->progress(self->wanted->user, &report) != 0;
}

static void tuned(void *user, size_t problem, const rdt_finding finding[RDT_CACHE_STATES]) {
    const job *self = user;
    if (!self->wanted->tuned) return;
    const rdt_trial *winner = &finding[RDT_CACHE_COLD].winner;
    redtune_tuned result = {
        .problem = self->problems[self->first + problem],
        .median_ns = winner->median_ns,
        .spread_ns = winner->spread_ns,
        .default_ns = finding[RDT_CACHE_COLD].default_ns,
        .is_default = winner->is_default,
        .warm_ns = finding[RDT_CACHE_WARM].winner.median_ns,
        .peak_gbps = rdt_facts_peak_gbps(&self->rt->context->facts),
    };
    double bytes = (double)result.problem.count * (double)redtune_dtype_bytes(result.problem.dtype);
    result.gbps = result.median_ns > 0 ? bytes / result.median_ns : 0;
    for (int i = 0; i < RDT_CACHE_STATES; i++) {
        result.measured += finding[i].now.measured;
        result.failed += finding[i].now.failed;
    }
    rdt_text_copy(result.family, sizeof result.family, winner->family);
    rdt_text_copy(result.config, sizeof result.config, winner->config);
    rdt_text_copy(result.warm_config, sizeof result.warm_config,
                  finding[RDT_CACHE_WARM].winner.config);
    self->wanted->tuned(self->wanted->user, &result);
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

/* ---- tuning -------------------------------------------------------------------------------- */

/* Another dtype with elements of the same size that has been tuned: what is best for one is good
 * for the other. */
static redtune_status read_alike(job *self, rdt_series *series, redtune_error *err) {
    const redtune_problem *here = series->problems;
    redtune_status status = REDTUNE_OK;
    for (const rdt_dtype_traits *each = rdt_dtype_table; !status && each->name; each++) {
        redtune_problem like = {here->op, each->dtype, REDTUNE_DTYPE_NONE, 0};
        if (each->dtype == here->dtype || each->bytes != redtune_dtype_bytes(here->dtype) ||
            rdt_problem_resolve(&like, &like, NULL))
            continue;
        for (int state = 0; !status && state < RDT_CACHE_STATES; state++)
            if (!series->alike[state].count)
                status = rdt_known_read(self->database, series->facts, self->origin.templates,
                                        &like, (rdt_cache_state)state, &series->alike[state], err);
    }
    return status;
}

static redtune_status read_known(job *self, rdt_series *series, redtune_error *err) {
    redtune_status status = read_alike(self, series, err);
    for (int state = 0; !status && !self->wanted->again && state < RDT_CACHE_STATES; state++)
        status =
            rdt_known_read(self->database, series->facts, self->origin.templates, series->problems,
                           (rdt_cache_state)state, &series->known[state], err);
    return status;
}

static size_t searches_after(const job *self, size_t first) {
    size_t searches = 0;
    for (size_t i = first; i < self->problem_count; i++)
        searches += rdt_series_searches(&self->rt->context->facts, &self->problems[i]);
    return searches;
}

static redtune_status tune_class(job *self, size_t first, size_t count, redtune_error *err) {
    const rdt_local_parts parts = {self->rt->context, self->codegen, make_kernel, self, self->nvml};
    const rdt_series_hooks hooks = {self, store, progress, tuned, warn};
    rdt_local *local = NULL;
    rdt_series series = {
        .codegen = self->codegen,
        .facts = &self->rt->context->facts,
        .problems = &self->problems[first],
        .count = count,
        .strategy = self->strategy,
        .seed = self->wanted->seed,
        .budget = &self->budget,
        .searches_after = searches_after(self, first + count),
        .hooks = &hooks,
    };
    self->first = first;
    redtune_status status = read_known(self, &series, err);
    if (!status) status = rdt_local_create(&parts, &series.problems[count - 1], &local, err);
    if (!status) {
        const rdt_lab lab = rdt_local_lab(local);
        series.lab = &lab;
        status = rdt_series_run(&series, err);
    }
    rdt_local_destroy(local);
    for (int state = 0; state < RDT_CACHE_STATES; state++) {
        rdt_trials_free(&series.known[state]);
        rdt_trials_free(&series.alike[state]);
    }
    return status;
}

static redtune_status tune_all(job *self, redtune_error *err) {
    redtune_status status = REDTUNE_OK;
    for (size_t first = 0, end; !status && first < self->problem_count; first = end) {
        end = first;
        while (end < self->problem_count &&
               rdt_problem_same_class(&self->problems[first], &self->problems[end]))
            end++;
        status = tune_class(self, first, end - first, err);
    }
    return status;
}

static redtune_status run_job(job *self, redtune_error *err) {
    redtune *rt = self->rt;
    redtune_status status = rdt_builder_nvrtc(rt->builder, &self->origin.nvrtc_version, err);
    if (!status) status = rdt_tuning_open(rt->database, &self->database, err);
    if (!status) status = list_problems(self, err);
    if (status) return status;
    self->origin.driver_version = rt->context->facts.driver_version;
    rdt_text_copy(self->origin.templates, sizeof self->origin.templates,
                  rdt_codegen_hash(self->codegen));
    return tune_all(self, err);
}

redtune_status redtune_tune(redtune *rt, const redtune_tuning *tuning, redtune_error *err) {
    const redtune_tuning usual = {0};
    if (!rt) return rdt_fail(err, REDTUNE_INVALID, 0, "cannot tune: rt is NULL");
    job self = {.rt = rt, .wanted = tuning ? tuning : &usual};
    self.strategy = rdt_strategy_find(self.wanted->effort);
    if (!self.strategy)
        return rdt_fail(err, REDTUNE_INVALID, 0, "cannot tune: effort %d is none",
                        (int)self.wanted->effort);
    rdt_budget_start(&self.budget, self.wanted->budget_s);
    bool entered = false;
    redtune_status status = rdt_builder_borrow(rt->builder, &self.codegen, err);
    if (status) return status;
    status = rdt_context_enter(rt->context, &entered, err);
    if (!status) {
        self.nvml = rdt_nvml_open(rt->context);
        status = run_job(&self, err);
        rdt_nvml_close(self.nvml);
        rdt_context_leave(rt->context, entered);
    }
    rdt_builder_give_back(rt->builder);
    rdt_tuning_close(self.database);
    free(self.problems);
    /* What an interrupted tune has measured counts, too. */
    rdt_state_forget_winners(rt);
    return status;
}
