/* Lane: one GPU's part of a tune. */
#include "api/lane.h"

#include "api/known.h"

/* ---- the series' hooks --------------------------------------------------------------------- */

static redtune_status store(void *user, const rdt_trial *trials, size_t count, redtune_error *err) {
    rdt_lane *self = user;
    redtune_status status =
        rdt_tuning_put(self->database, self->facts, self->origin, trials, count, err);
    if (status || !self->wanted->again) return status;
    return rdt_logbook_write(self->logbook, trials, count, err);
}

static bool progress(void *user, const redtune_problem *problem, const char *stage, size_t i,
                     size_t n, double best_ns) {
    const rdt_lane *self = user;
    const size_t count = self->problems->count;
    double bytes = (double)problem->count * (double)redtune_dtype_bytes(problem->dtype);
    redtune_progress report = {
        .problem = problem,
        .problem_index = self->finished < count ? self->finished : count - 1,
        .problem_count = count,
        .candidate_index = i,
        .candidate_count = n,
        .stage = stage,
        .best_gbps = best_ns > 0 ? bytes / best_ns : 0,
        .device = self->gpu.device,
        .device_count = self->gpu.device_count,
    };
    return self->hooks->progress(self->hooks->user, &report);
}

/* What the problem has taken by now. */
static rdt_search_count spend(const rdt_lane *self, size_t problem,
                              const rdt_finding finding[RDT_CACHE_STATES]) {
    rdt_search_count more = {0};
    for (int i = 0; i < RDT_CACHE_STATES; i++) {
        more.measured += finding[i].now.measured;
        more.failed += finding[i].now.failed;
    }
    return rdt_logbook_spend(self->logbook, problem, more);
}

static void tuned(void *user, size_t problem, const rdt_finding finding[RDT_CACHE_STATES],
                  bool again) {
    rdt_lane *self = user;
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
        .device_count = self->gpu.device_count,
        .model_count = self->gpu.model_count,
        .place = self->gpu.problems_before + self->first + problem,
        .again = again,
    };
    double bytes = (double)result.problem.count * (double)redtune_dtype_bytes(result.problem.dtype);
    result.gbps = result.median_ns > 0 ? bytes / result.median_ns : 0;
    rdt_text_copy(result.family, sizeof result.family, winner->family);
    rdt_text_copy(result.config, sizeof result.config, winner->config);
    rdt_text_copy(result.warm_config, sizeof result.warm_config,
                  finding[RDT_CACHE_WARM].winner.config);
    rdt_text_copy(result.gpu, sizeof result.gpu, self->facts->name);
    rdt_text_copy(result.device, sizeof result.device, self->gpu.device);
    self->finished += !again;
    self->hooks->tuned(self->hooks->user, &result);
}

static void warn(void *user, const char *line) {
    const rdt_lane *self = user;
    self->hooks->warn(self->hooks->user, line);
}

static void tell_of_lock(void *user) {
    warn(user, "the tune waits for another process that has locked the database");
}

/* ---- tuning -------------------------------------------------------------------------------- */

/* Another dtype with elements of the same size that has been tuned: what is best for one is good
 * for the other. */
static redtune_status read_alike(rdt_lane *self, rdt_series *series, redtune_error *err) {
    const redtune_problem *here = series->problems;
    redtune_status status = REDTUNE_OK;
    for (const rdt_dtype_traits *each = rdt_dtype_table; !status && each->name; each++) {
        redtune_problem like = {here->op, each->dtype, REDTUNE_DTYPE_NONE, 0};
        if (each->dtype == here->dtype || each->bytes != redtune_dtype_bytes(here->dtype) ||
            rdt_problem_resolve(&like, &like, NULL))
            continue;
        for (int state = 0; !status && state < RDT_CACHE_STATES; state++)
            if (!series->alike[state].count)
                status = rdt_known_read(self->database, series->facts, self->origin->templates,
                                        &like, (rdt_cache_state)state, &series->alike[state], err);
    }
    return status;
}

/* To a tune that measures all of it again, only what it has measured itself is known. */
static redtune_status read_known(rdt_lane *self, rdt_series *series, redtune_error *err) {
    const redtune_problem *here = series->problems;
    redtune_status status = read_alike(self, series, err);
    for (int i = 0; !status && i < RDT_CACHE_STATES; i++) {
        const rdt_cache_state state = (rdt_cache_state)i;
        rdt_trials *known = &series->known[i];
        status = self->wanted->again
                     ? rdt_logbook_read(self->logbook, here, state, known, err)
                     : rdt_known_read(self->database, series->facts, self->origin->templates, here,
                                      state, known, err);
    }
    return status;
}

static size_t searches_after(const rdt_lane *self, size_t first) {
    size_t searches = 0;
    for (size_t i = first; i < self->problems->count; i++)
        searches += rdt_series_searches(self->facts, &self->problems->problem[i]);
    return searches;
}

redtune_status rdt_lane_run(rdt_lane *self, const rdt_portion *portion, redtune_error *err) {
    const size_t first = portion->first, count = portion->count;
    const rdt_series_hooks hooks = {self, store, progress, tuned, warn};
    rdt_series series = {
        .codegen = self->codegen,
        .facts = self->facts,
        .problems = &self->problems->problem[first],
        .count = count,
        .strategy = self->strategy,
        .seed = self->wanted->seed,
        .budget = &self->budget,
        .searches_after = searches_after(self, first + count) / self->lane_count,
        .hooks = &hooks,
    };
    const redtune_problem *largest =
        series.problems + rdt_problems_class(self->problems, first) - 1;
    rdt_lab lab;
    self->first = first;
    rdt_tuning_be_patient(self->database, tell_of_lock, self);
    redtune_status status = read_known(self, &series, err);
    if (!status) status = self->hooks->open_lab(self->hooks->user, largest, &lab, err);
    if (!status) {
        series.lab = &lab;
        status = portion->joins ? rdt_series_join(&series, err) : rdt_series_run(&series, err);
    }
    for (int state = 0; state < RDT_CACHE_STATES; state++) {
        rdt_trials_free(&series.known[state]);
        rdt_trials_free(&series.alike[state]);
    }
    rdt_tuning_be_patient(self->database, NULL, NULL);
    return status;
}
