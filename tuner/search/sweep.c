/* Sweep: the problems of one class, searched by size from the smallest up, shapes by the bytes of
 * their input (tuner/search/plane.h).
 *
 * Each search is seeded by the best configs nearby: the same size in the other cache state, the
 * same size of a class like it, the next smaller and the next larger size that are known. A
 * problem whose trials already have the strategy's last round is not searched. The second pass
 * then goes from the largest size down, so every size has seen both neighbours, and the crossovers
 * come last. All that a step reads is in the trials that were stored before it: so a sweep that
 * was stopped asks, when it is run again, for exactly the candidates that it had not measured,
 * unless a class like it has been tuned meanwhile. */
#include "tuner/search/sweep.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "model/winner.h"
#include "tuner/search/crossover.h"
#include "tuner/search/crossover_shapes.h"
#include "tuner/search/explore.h"
#include "tuner/search/candidates.h"
#include "tuner/search/plane.h"
#include "tuner/search/probe.h"
#include "tuner/search/second_pass.h"
#include "tuner/search/second_pass_shapes.h"
#include "tuner/search/similar.h"

/* ---- the sink of the searches ---------------------------------------------------------------- */

static void warn_once(const rdt_sink *sink, bool *warned, const char *line) {
    if (!*warned) sink->warn(sink->user, line);
    *warned = true;
}

/* Says what spoils the measurements. */
static void warn_of_conditions(rdt_sweep *self, const rdt_conditions *now) {
    char line[160];
    if (!self->sink->warn) return;
    if (now->others) {
        snprintf(line, sizeof line, "%d other %s the GPU: what is measured now may be too slow",
                 now->others, now->others == 1 ? "process uses" : "processes use");
        warn_once(self->sink, &self->warned_of_others, line);
    }
    if (rdt_trial_held_down(now)) {
        snprintf(line, sizeof line,
                 "the GPU's clocks are held down by heat or power (NVML's reasons 0x%" PRIx64
                 ", %d C): what is measured now may be too slow",
                 now->throttle, now->temperature_c);
        warn_once(self->sink, &self->warned_of_clocks, line);
    }
}

static redtune_status keep_and_store(void *user, const rdt_trial *trials, size_t count,
                                     redtune_error *err) {
    rdt_sweep *self = user;
    for (size_t i = 0; i < count; i++) warn_of_conditions(self, &trials[i].conditions);
    redtune_status status = rdt_trials_add(&self->known[trials->cache], trials, count, err);
    return status ? status : self->sink->store(self->sink->user, trials, count, err);
}

static bool pass_progress(void *user, const redtune_problem *problem, const char *stage, size_t i,
                          size_t n, double best_ns) {
    const rdt_sink *sink = ((const rdt_sweep *)user)->sink;
    return sink->progress(sink->user, problem, stage, i, n, best_ns);
}

rdt_search rdt_sweep_search(rdt_sweep *self, const redtune_problem *problem,
                            rdt_cache_state cache) {
    self->searches = (rdt_sink){.user = self, .store = keep_and_store, .progress = pass_progress};
    return (rdt_search){
        .evaluator = self->evaluator,
        .codegen = self->codegen,
        .facts = self->facts,
        .problem = problem,
        .cache = cache,
        .known = &self->known[cache],
        .strategy = self->strategy,
        .seed = self->seed,
        .usual = &self->usual,
        .budget = self->budget,
        .stage = cache == RDT_CACHE_COLD ? "cold" : "warm",
        .sink = &self->searches,
    };
}

/* ---- what is known --------------------------------------------------------------------------- */

static int compare_points(const void *a, const void *b) {
    const rdt_trial *x = *(const rdt_trial *const *)a, *y = *(const rdt_trial *const *)b;
    int family = strcmp(x->family, y->family);
    return family ? family : strcmp(x->config, y->config);
}

redtune_status rdt_sweep_find(const rdt_sweep *self, const redtune_problem *problem,
                              rdt_cache_state cache, rdt_finding *out, redtune_error *err) {
    const rdt_trial **trials = NULL;
    rdt_winner winner = {0};
    size_t here = 0;
    redtune_status status = rdt_trials_list(&self->known[cache], problem, &trials, &here, err);
    if (status) return status;
    status = rdt_winner_choose(trials, here, &winner, err);
    if (!status) {
        out->found = winner.trial != NULL;
        if (winner.trial) out->winner = *winner.trial;
        out->default_ns = winner.baseline ? winner.baseline->median_ns : 0;
        out->points = 0;
    }
    qsort(trials, here, sizeof *trials, compare_points);
    for (size_t i = 0; !status && i < here; i++)
        out->points += !i || compare_points(&trials[i - 1], &trials[i]);
    free(trials);
    return status;
}

bool rdt_sweep_has_searched(const rdt_search *search) {
    const int last = rdt_strategy_samples(search->strategy);
    bool explored = false, ended = false;
    for (size_t i = 0; i < search->known->count; i++) {
        const rdt_trial *each = &search->known->trial[i];
        if (!rdt_problem_same_extents(&each->problem, search->problem)) continue;
        explored = explored || each->samples == search->strategy->samples;
        ended = ended || each->samples >= last;
    }
    return explored && ended;
}

/* Whether a search of this strategy, or of a more thorough one, has been through the problem: its
 * last round, and as many candidates as it explores. */
static redtune_status is_complete(const rdt_search *search, const rdt_finding *finding, bool *out,
                                  redtune_error *err) {
    const rdt_strategy *strategy = search->strategy;
    const bool explores_all = rdt_strategy_explores_all(strategy);
    rdt_candidates candidates;
    if (rdt_plane_has(search->problem) && !explores_all) {
        *out = rdt_sweep_has_searched(search);
        return REDTUNE_OK;
    }
    *out = finding->found && finding->winner.samples >= rdt_strategy_samples(strategy);
    if (!*out || (!explores_all && finding->points >= strategy->exact.least)) return REDTUNE_OK;
    redtune_status status = rdt_candidates_open(search, NULL, 0, &candidates, err);
    if (status) return status;
    *out = finding->points >= candidates.count;
    rdt_candidates_close(&candidates);
    return REDTUNE_OK;
}

/* ---- searching ------------------------------------------------------------------------------- */

/* The index of the problem whose turn it is. */
static size_t problem_at(const rdt_sweep *self, size_t turn) {
    return self->order ? self->order[turn] : turn;
}

/* The search of a problem, with all that is known around it. */
static rdt_search search_of(rdt_sweep *self, size_t problem, rdt_cache_state cache) {
    rdt_search search = rdt_sweep_search(self, &self->problems[problem], cache);
    search.verified = &self->known[!cache];
    search.sizes = search.known;
    rdt_similar_find(self, &search);
    return search;
}

/* Lets the evaluator make any kernel of this problem and of the next, if there are more to
 * come: most are wanted at one size or another (on an H200 699 of 768), and nobody should wait for
 * them. */
static redtune_status prepare_sizes(rdt_sweep *self, size_t turn, redtune_error *err) {
    redtune_status status = REDTUNE_OK;
    if (!self->evaluator->prepare || turn + 1 >= self->count) return REDTUNE_OK;
    for (size_t i = turn; !status && i <= turn + 1; i++) {
        rdt_search search = search_of(self, problem_at(self, i), RDT_CACHE_COLD);
        if (!self->order) search.similar_count = 0;
        status = rdt_explore_prepare(&search, err);
    }
    return status;
}

static redtune_status search_problem(rdt_sweep *self, size_t turn, rdt_cache_state cache,
                                     rdt_finding *out, redtune_error *err) {
    const rdt_search search = search_of(self, problem_at(self, turn), cache);
    bool complete = false;
    redtune_status status = rdt_sweep_find(self, search.problem, cache, out, err);
    if (!status) status = is_complete(&search, out, &complete, err);
    if (status) return status;
    if (complete) {
        const bool stop = pass_progress(self, search.problem, "known", 0, 0, out->winner.median_ns);
        return stop ? rdt_fail_interrupted(err, "tuning") : REDTUNE_OK;
    }
    if (cache == RDT_CACHE_COLD) status = prepare_sizes(self, turn, err);
    if (!status) status = rdt_search_run(&search, &out->now, err);
    return status ? status : rdt_sweep_find(self, search.problem, cache, out, err);
}

size_t rdt_sweep_searches(const rdt_facts *facts, const redtune_problem *problem) {
    const uint64_t element = rdt_problem_input_bytes(problem);
    if (rdt_plane_has(problem)) return 1;
    return rdt_problem_count(problem) <= rdt_facts_warm_bytes(facts) / element ? RDT_CACHE_STATES
                                                                               : 1;
}

static size_t searches_left(const rdt_sweep *self, size_t turn, size_t state) {
    size_t searches = self->searches_after;
    for (size_t i = turn; i < self->count; i++)
        searches += rdt_sweep_searches(self->facts, &self->problems[problem_at(self, i)]);
    return searches - state;
}

static redtune_status search_each(rdt_sweep *self, redtune_error *err) {
    redtune_status status = REDTUNE_OK;
    for (size_t i = 0; !status && i < self->count; i++) {
        const size_t problem = problem_at(self, i);
        const size_t states = rdt_sweep_searches(self->facts, &self->problems[problem]);
        rdt_finding found[RDT_CACHE_STATES] = {{0}};
        for (size_t state = 0; !status && state < states; state++) {
            if (self->budget) rdt_budget_share(self->budget, searches_left(self, i, state));
            status = search_problem(self, i, (rdt_cache_state)state, &found[state], err);
            if (status || i + 1 == self->count) continue;
            const rdt_search next =
                search_of(self, problem_at(self, i + 1), (rdt_cache_state)state);
            status = rdt_probe_prepare(&next, err);
        }
        if (!status) self->sink->tuned(self->sink->user, problem, found, false);
    }
    return status;
}

static redtune_status join(rdt_sweep *self, redtune_error *err) {
    const bool shapes = self->order != NULL;
    redtune_status status =
        shapes ? rdt_second_pass_shapes(self, err) : rdt_second_pass_run(self, err);
    /* There is no shape between two of any axes, or of keys. */
    if (status || (self->count && (rdt_problem_is_strided(self->problems) ||
                                   rdt_problem_is_keyed(self->problems))))
        return status;
    return shapes ? rdt_crossover_shapes(self, err) : rdt_crossover_run(self, err);
}

/* In the order of the sweep. */
static redtune_status run(rdt_sweep *self, bool searches, redtune_error *err) {
    redtune_status status = REDTUNE_OK;
    if (self->count && rdt_plane_has(self->problems))
        status = rdt_plane_order(self->problems, self->count, &self->order, err);
    if (!status && searches) status = search_each(self, err);
    if (!status) status = join(self, err);
    free(self->order);
    self->order = NULL;
    return status;
}

redtune_status rdt_sweep_run(rdt_sweep *self, redtune_error *err) { return run(self, true, err); }

redtune_status rdt_sweep_join(rdt_sweep *self, redtune_error *err) { return run(self, false, err); }
