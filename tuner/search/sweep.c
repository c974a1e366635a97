/* Sweep: the problems of one class, searched by size from the smallest up.
 *
 * Each search is seeded by the best configs nearby: the same size in the other cache state, the
 * same size of a class like it, the next smaller and the next larger size that are known. A
 * problem whose trials already have the strategy's last round is not searched. The second pass
 * then goes from the largest size down, so every size has seen both neighbours, and the crossovers
 * come last. All that a step reads is in the trials that were stored before it: so a sweep that
 * was stopped asks, when it is run again, for exactly the candidates that it had not measured. */
#include "tuner/search/sweep.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "model/winner.h"
#include "tuner/search/crossover.h"
#include "tuner/search/explore.h"
#include "tuner/search/candidates.h"
#include "tuner/search/probe.h"
#include "tuner/search/second_pass.h"

/* ---- the sink of the searches ---------------------------------------------------------------- */

/* Says once what spoils the measurements. */
static void warn_of_conditions(rdt_sweep *self, const rdt_conditions *now) {
    char line[160];
    const rdt_sink *sink = self->sink;
    if (!sink->warn) return;
    if (now->others && !self->warned_of_others) {
        snprintf(line, sizeof line, "%d other %s the GPU: what is measured now may be too slow",
                 now->others, now->others == 1 ? "process uses" : "processes use");
        sink->warn(sink->user, line);
        self->warned_of_others = true;
    }
    if (rdt_trial_held_down(now) && !self->warned_of_clocks) {
        snprintf(line, sizeof line,
                 "the GPU's clocks are held down by heat or power (NVML's reasons 0x%" PRIx64
                 ", %d C): what is measured now may be too slow",
                 now->throttle, now->temperature_c);
        sink->warn(sink->user, line);
        self->warned_of_clocks = true;
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

static bool is_late(void *user) { return rdt_budget_is_late(((const rdt_sweep *)user)->budget); }

rdt_search rdt_sweep_search(rdt_sweep *self, const redtune_problem *problem,
                            rdt_cache_state cache) {
    self->searches = (rdt_sink){.user = self, .store = keep_and_store, .progress = pass_progress};
    return (rdt_search){
        .evaluator = self->evaluator,
        .codegen = self->codegen,
        .facts = self->facts,
        .problem = problem,
        .cache = cache,
        .strategy = self->strategy,
        .seed = self->seed,
        .is_late = self->budget && self->budget->end_ns > 0 ? is_late : NULL,
        .stage = cache == RDT_CACHE_COLD ? "cold" : "warm",
        .sink = &self->searches,
    };
}

/* ---- what is known --------------------------------------------------------------------------- */

static redtune_status choose_winner(const rdt_trials *trials, rdt_finding *out,
                                    redtune_error *err) {
    const rdt_trial **pointers = malloc((trials->count + 1) * sizeof *pointers);
    rdt_winner winner;
    if (!pointers) return rdt_fail_memory(err, (trials->count + 1) * sizeof *pointers);
    for (size_t i = 0; i < trials->count; i++) pointers[i] = &trials->trial[i];
    redtune_status status = rdt_winner_choose(pointers, trials->count, &winner, err);
    free(pointers);
    if (status) return status;
    out->found = winner.trial != NULL;
    if (winner.trial) out->winner = *winner.trial;
    out->default_ns = winner.baseline ? winner.baseline->median_ns : 0;
    return REDTUNE_OK;
}

static int compare_points(const void *a, const void *b) {
    const rdt_trial *x = *(const rdt_trial *const *)a, *y = *(const rdt_trial *const *)b;
    int family = strcmp(x->family, y->family);
    return family ? family : strcmp(x->config, y->config);
}

static redtune_status count_points(const rdt_trials *trials, size_t *out, redtune_error *err) {
    const rdt_trial **each = malloc((trials->count + 1) * sizeof *each);
    if (!each) return rdt_fail_memory(err, (trials->count + 1) * sizeof *each);
    for (size_t i = 0; i < trials->count; i++) each[i] = &trials->trial[i];
    qsort(each, trials->count, sizeof *each, compare_points);
    *out = 0;
    for (size_t i = 0; i < trials->count; i++) *out += !i || compare_points(&each[i - 1], &each[i]);
    free(each);
    return REDTUNE_OK;
}

/* Whether a search of this strategy, or of a more thorough one, has been through the problem: its
 * last round, and as many candidates as it explores. */
static redtune_status is_complete(const rdt_search *search, const rdt_finding *finding, bool *out,
                                  redtune_error *err) {
    const rdt_strategy *strategy = search->strategy;
    size_t points = 0;
    redtune_status status = count_points(search->known, &points, err);
    if (status) return status;
    *out = finding->found && finding->winner.samples >= rdt_strategy_samples(strategy);
    if (!*out || (strategy->exact.least && points >= strategy->exact.least)) return REDTUNE_OK;
    rdt_candidates candidates;
    status = rdt_candidates_open(search, &candidates, err);
    if (status) return status;
    *out = points >= candidates.count;
    rdt_candidates_close(&candidates);
    return REDTUNE_OK;
}

/* The nearest searched count below, or above; 0: not found. */
static uint64_t nearest_count(const rdt_trials *trials, uint64_t count, bool above) {
    enum { SEARCHED = 13 }; /* trials: where there are fewer, only some configs were measured */
    uint64_t nearest = 0;
    for (size_t i = 0; i < trials->count; i++) {
        uint64_t each = trials->trial[i].problem.count;
        bool is_nearer =
            above ? each > count && (!nearest || each < nearest) : each < count && each > nearest;
        size_t same = 0;
        for (size_t k = 0; is_nearer && same < SEARCHED && k < trials->count; k++)
            same += trials->trial[k].problem.count == each;
        if (is_nearer && same == SEARCHED) nearest = each;
    }
    return nearest;
}

/* ---- searching ------------------------------------------------------------------------------- */

/* The trials that a search starts from; owned here. */
typedef struct history {
    rdt_trials known, other, alike, below, above;
} history;

static void free_history(history *history) {
    rdt_trials_free(&history->known);
    rdt_trials_free(&history->other);
    rdt_trials_free(&history->alike);
    rdt_trials_free(&history->below);
    rdt_trials_free(&history->above);
}

static void add_similar(rdt_search *search, const rdt_trials *trials, int shift) {
    if (trials->count) search->similar[search->similar_count++] = (rdt_similar){trials, shift};
}

static redtune_status collect_history(const rdt_sweep *self, rdt_search *search, history *history,
                                      redtune_error *err) {
    const uint64_t count = search->problem->count;
    const rdt_trials *same = &self->known[search->cache];
    uint64_t below = nearest_count(same, count, false), above = nearest_count(same, count, true);
    redtune_status status =
        rdt_trials_select(&self->known[!search->cache], count, &history->other, err);
    if (!status) status = rdt_trials_select(same, count, &history->known, err);
    if (!status)
        status = rdt_trials_select(&self->alike[search->cache], count, &history->alike, err);
    if (!status && below) status = rdt_trials_select(same, below, &history->below, err);
    if (!status && above) status = rdt_trials_select(same, above, &history->above, err);
    search->known = &history->known;
    search->verified = &history->other;
    if (search->cache == RDT_CACHE_WARM) add_similar(search, &history->other, 0);
    add_similar(search, &history->alike, 0);
    add_similar(search, &history->below, 1);
    add_similar(search, &history->above, -1);
    search->sizes = same;
    return status;
}

/* Lets the evaluator make any kernel of this problem and of the next, if there are more to
 * come: most are wanted at one size or another (on an H200 699 of 768), and nobody should wait for
 * them.
 */
static redtune_status prepare_kernels(rdt_sweep *self, redtune_error *err) {
    redtune_status status = REDTUNE_OK;
    const size_t next = self->current + 1;
    if (!self->evaluator->prepare || next >= self->count) return REDTUNE_OK;
    for (size_t i = self->current; !status && i <= next; i++) {
        rdt_search search = rdt_sweep_search(self, &self->problems[i], RDT_CACHE_COLD);
        rdt_candidates candidates;
        search.sizes = &self->known[RDT_CACHE_COLD];
        status = rdt_candidates_open(&search, &candidates, err);
        if (status) break;
        status = rdt_explore_prepare(&candidates, err);
        rdt_candidates_close(&candidates);
    }
    return status;
}

static redtune_status search_problem(rdt_sweep *self, const redtune_problem *problem,
                                     rdt_cache_state cache, rdt_finding *out, redtune_error *err) {
    rdt_search search = rdt_sweep_search(self, problem, cache);
    history history = {.known = {0}};
    rdt_trials all = {0};
    bool complete = false;
    redtune_status status = collect_history(self, &search, &history, err);
    if (!status) status = choose_winner(&history.known, out, err);
    if (!status) status = is_complete(&search, out, &complete, err);
    if (status) goto done;
    if (complete) {
        if (pass_progress(self, problem, "known", 0, 0, out->winner.median_ns))
            status = rdt_fail_interrupted(err, "tuning");
        goto done;
    }
    if (cache == RDT_CACHE_COLD) status = prepare_kernels(self, err);
    if (!status) status = rdt_search_run(&search, &out->now, err);
    if (!status) status = rdt_trials_select(&self->known[cache], problem->count, &all, err);
    if (!status) status = choose_winner(&all, out, err);
done:
    rdt_trials_free(&all);
    free_history(&history);
    return status;
}

size_t rdt_sweep_searches(const rdt_facts *facts, const redtune_problem *problem) {
    uint64_t element = redtune_dtype_bytes(problem->dtype);
    return problem->count <= rdt_facts_warm_bytes(facts) / element ? RDT_CACHE_STATES : 1;
}

static size_t searches_left(const rdt_sweep *self, size_t problem, size_t state) {
    size_t searches = self->searches_after;
    for (size_t i = problem; i < self->count; i++)
        searches += rdt_sweep_searches(self->facts, &self->problems[i]);
    return searches - state;
}

/* Foresees the probes of the problem's search in that cache state. */
static redtune_status prepare_probes(rdt_sweep *self, size_t problem, rdt_cache_state cache,
                                     redtune_error *err) {
    history history = {.known = {0}};
    if (problem >= self->count) return REDTUNE_OK;
    rdt_search search = rdt_sweep_search(self, &self->problems[problem], cache);
    redtune_status status = collect_history(self, &search, &history, err);
    if (!status) status = rdt_probe_prepare(&search, err);
    free_history(&history);
    return status;
}

static redtune_status search_each(rdt_sweep *self, redtune_error *err) {
    redtune_status status = REDTUNE_OK;
    for (size_t i = 0; !status && i < self->count; i++) {
        const size_t states = rdt_sweep_searches(self->facts, &self->problems[i]);
        rdt_finding found[RDT_CACHE_STATES] = {{0}};
        self->current = i;
        for (size_t state = 0; !status && state < states; state++) {
            if (self->budget) rdt_budget_share(self->budget, searches_left(self, i, state));
            status = search_problem(self, &self->problems[i], (rdt_cache_state)state, &found[state],
                                    err);
            if (!status) status = prepare_probes(self, i + 1, (rdt_cache_state)state, err);
        }
        if (!status) self->sink->tuned(self->sink->user, i, found, false);
    }
    return status;
}

/* The winner of what is known by now. */
static redtune_status search_again(rdt_sweep *self, size_t i, rdt_cache_state cache,
                                   rdt_finding *finding, redtune_error *err) {
    rdt_trials all = {0};
    redtune_status status = rdt_second_pass_run(self, i, cache, &finding->now, err);
    if (!status)
        status = rdt_trials_select(&self->known[cache], self->problems[i].count, &all, err);
    if (!status) status = choose_winner(&all, finding, err);
    rdt_trials_free(&all);
    return status;
}

/* From the large sizes to the small ones; a search of every point has nothing to learn. */
static redtune_status second_pass(rdt_sweep *self, redtune_error *err) {
    redtune_status status = REDTUNE_OK;
    if (!self->strategy->exact.least || !self->count) return REDTUNE_OK;
    for (size_t i = self->count - 1; !status && i-- > 0;) {
        const size_t states = rdt_sweep_searches(self->facts, &self->problems[i]);
        rdt_finding found[RDT_CACHE_STATES] = {{0}};
        size_t tried = 0;
        for (size_t state = 0; !status && state < states; state++) {
            status = search_again(self, i, (rdt_cache_state)state, &found[state], err);
            tried += found[state].now.measured + found[state].now.failed;
        }
        if (!status && tried) self->sink->tuned(self->sink->user, i, found, true);
    }
    return status;
}

redtune_status rdt_sweep_run(rdt_sweep *self, redtune_error *err) {
    redtune_status status = search_each(self, err);
    return status ? status : rdt_sweep_join(self, err);
}

redtune_status rdt_sweep_join(rdt_sweep *self, redtune_error *err) {
    redtune_status status = second_pass(self, err);
    return status ? status : rdt_crossover_run(self, err);
}
