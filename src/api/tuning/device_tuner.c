/* Device tuner: one job's part of a tune. */
#include "api/tuning/device_tuner.h"

#include "api/records/current.h"
#include "api/records/history.h"
#include "redtune/tune.h"

/* ---- the sink of its sweeps ------------------------------------------------------------------ */

static redtune_status store_trials(void *user, const rdt_trial *trials, size_t count,
                                   redtune_error *err) {
    rdt_device_tuner *self = user;
    redtune_status status = rdt_current_put(self->database, self->codegen, self->facts,
                                            self->origin, trials, count, err);
    if (status || !self->wanted->again) return status;
    return rdt_session_log_write(self->session_log, trials, count, err);
}

static bool progress(void *user, const redtune_problem *problem, const char *stage, size_t i,
                     size_t n, double best_ns) {
    const rdt_device_tuner *self = user;
    redtune_progress report = {
        .problem = problem,
        .candidate_index = i,
        .candidate_count = n,
        .stage = stage,
        .best_gbps = best_ns > 0 ? rdt_problem_bytes(problem) / best_ns : 0,
        .device = self->gpu.device,
        .device_count = self->gpu.device_count,
    };
    return rdt_event_queue_put_progress(self->events, &report);
}

/* The candidates that the problem has taken by now. */
static rdt_search_count spend(const rdt_device_tuner *self, size_t problem,
                              const rdt_finding finding[RDT_CACHE_STATES]) {
    rdt_search_count more = {0};
    for (int i = 0; i < RDT_CACHE_STATES; i++) {
        more.measured += finding[i].now.measured;
        more.failed += finding[i].now.failed;
        more.points += finding[i].now.points;
        more.untried += finding[i].now.untried;
    }
    return rdt_session_log_spend(self->session_log, problem, more);
}

static void tuned(void *user, size_t problem, const rdt_finding finding[RDT_CACHE_STATES],
                  bool again) {
    rdt_device_tuner *self = user;
    const rdt_trial *winner = &finding[RDT_CACHE_COLD].winner;
    const rdt_search_count spent = spend(self, self->first + problem, finding);
    redtune_tuned result = {
        .problem = self->problems->problem[self->first + problem],
        .median_ns = winner->median_ns,
        .spread_ns = winner->spread_ns,
        .default_ns = finding[RDT_CACHE_COLD].default_ns,
        .is_default = winner->is_default,
        .warm_ns = finding[RDT_CACHE_WARM].winner.median_ns,
        .peak_gbps = rdt_facts_peak_gbps(self->facts),
        .major = self->facts->major,
        .minor = self->facts->minor,
        .sm_count = self->facts->sm_count,
        .l2_bytes = self->facts->l2_bytes,
        .measured = spent.measured,
        .failed = spent.failed,
        .points = spent.points,
        .untried = spent.untried,
        .device_count = self->gpu.device_count,
        .model_count = self->gpu.model_count,
        .index = self->gpu.problems_before + self->first + problem,
        .again = again,
    };
    result.gbps = result.median_ns > 0 ? rdt_problem_bytes(&result.problem) / result.median_ns : 0;
    rdt_text_copy(result.family, sizeof result.family, winner->family);
    rdt_text_copy(result.config, sizeof result.config, winner->config);
    rdt_text_copy(result.warm_config, sizeof result.warm_config,
                  finding[RDT_CACHE_WARM].winner.config);
    rdt_text_copy(result.gpu, sizeof result.gpu, self->facts->name);
    rdt_text_copy(result.device, sizeof result.device, self->gpu.device);
    rdt_event_queue_put_result(self->events, &result);
}

static void warn(void *user, const char *line) {
    const rdt_device_tuner *self = user;
    const bool several = self->gpu.device_count > 1;
    rdt_log_write(self->log, REDTUNE_LOG_WARNING, "%s%s%s%s", several ? "GPU " : "",
                  several ? self->gpu.device : "", several ? ": " : "", line);
}

static void tell_of_lock(void *user) {
    warn(user, "the tune waits for another process that has locked the database");
}

/* ---- tuning ---------------------------------------------------------------------------------- */

/* Says which families do not load, once, and which of those that serve the problem do not render.
 * Their candidates fail by themselves. */
static void warn_of_templates(rdt_device_tuner *self, const redtune_problem *problem) {
    const rdt_case at = {problem, self->facts};
    rdt_point point[RDT_FAMILY_MAX];
    size_t count = 0;
    redtune_error why;
    const char *left_out = rdt_codegen_left_out(self->codegen);
    const unsigned loaded = 1u << RDT_FAMILY_MAX;
    if (*left_out && !(self->warned & loaded)) warn(self, left_out);
    self->warned |= loaded;
    if (rdt_rules_defaults(self->codegen, at, point, &count, NULL)) return;
    for (size_t i = 0; i < count; i++) {
        char kernel[RDT_KERNEL_BYTES];
        const unsigned family = 1u << point[i].family;
        if (self->warned & family ||
            rdt_kernel_hash_find(self->codegen, at, &point[i], kernel, &why) != REDTUNE_TEMPLATE)
            continue;
        self->warned |= family;
        rdt_text line = {0};
        rdt_text_addf(&line, "the tune leaves template %s out: %s",
                      rdt_codegen_spaces(self->codegen)->space[point[i].family].family,
                      why.message);
        if (line.data) warn(self, line.data);
        rdt_text_free(&line);
    }
}

/* Another dtype with elements of the same size that has been tuned, in the same layout: what is
 * best for one is good for the other. */
static redtune_status read_alike(rdt_device_tuner *self, rdt_sweep *sweep, redtune_error *err) {
    const redtune_problem *here = sweep->problems;
    redtune_status status = REDTUNE_OK;
    for (const rdt_dtype_traits *each = rdt_dtype_table; !status && each->name; each++) {
        redtune_problem like = *here;
        like.dtype = each->dtype;
        like.result = REDTUNE_DTYPE_NONE;
        if (each->dtype == here->dtype || each->bytes != redtune_dtype_bytes(here->dtype) ||
            rdt_problem_resolve(&like, &like, NULL))
            continue;
        for (int state = 0; !status && state < RDT_CACHE_STATES; state++)
            if (!sweep->alike[state].count)
                status = rdt_history_read(self->database, self->codegen, sweep->facts, &like,
                                          (rdt_cache_state)state, &sweep->alike[state], err);
    }
    return status;
}

/* To a tune that measures all of it again, only what it has measured itself is known. */
static redtune_status read_known(rdt_device_tuner *self, rdt_sweep *sweep, redtune_error *err) {
    const redtune_problem *here = sweep->problems;
    redtune_status status = read_alike(self, sweep, err);
    for (int i = 0; !status && i < RDT_CACHE_STATES; i++) {
        const rdt_cache_state state = (rdt_cache_state)i;
        rdt_trials *known = &sweep->known[i];
        status = self->wanted->again
                     ? rdt_session_log_read(self->session_log, here, state, known, err)
                     : rdt_history_read(self->database, self->codegen, sweep->facts, here, state,
                                        known, err);
    }
    return status;
}

redtune_status rdt_device_tuner_run(rdt_device_tuner *self, const rdt_work_range *range,
                                    redtune_error *err) {
    const size_t first = range->first, count = range->count;
    const rdt_sink sink = {self, store_trials, progress, tuned, warn};
    rdt_sweep sweep = {
        .codegen = self->codegen,
        .facts = self->facts,
        .problems = &self->problems->problem[first],
        .count = count,
        .strategy = rdt_strategy_find(self->wanted->effort,
                                      rdt_problem_layout(&self->problems->problem[first])),
        .seed = self->wanted->seed,
        .budget = &self->budget,
        .searches_after = range->searches_after / self->tuner_count,
        .sink = &sink,
    };
    const rdt_domain domain =
        rdt_problem_domain(sweep.problems, rdt_problem_list_class(self->problems, first));
    rdt_evaluator evaluator;
    self->first = first;
    warn_of_templates(self, sweep.problems);
    rdt_tuning_open_patience(self->database, tell_of_lock, self);
    redtune_status status = read_known(self, &sweep, err);
    if (!status) status = self->open_evaluator(self->user, &domain, &evaluator, err);
    if (!status) {
        sweep.evaluator = &evaluator;
        status = range->joins ? rdt_sweep_join(&sweep, err) : rdt_sweep_run(&sweep, err);
    }
    for (int state = 0; state < RDT_CACHE_STATES; state++) {
        rdt_trials_free(&sweep.known[state]);
        rdt_trials_free(&sweep.alike[state]);
    }
    rdt_tuning_open_patience(self->database, NULL, NULL);
    return status;
}
