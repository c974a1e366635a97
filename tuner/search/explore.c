/* Explore: which points a strategy measures first. */
#include "tuner/search/explore.h"

#include <stdlib.h>
#include "tuner/search/explore_shape.h"
#include "tuner/search/explorer.h"
#include "tuner/search/neighbours.h"
#include "tuner/search/probe.h"
#include "tuner/search/seeds.h"

enum {
    RANDOM_POINTS = 4,  /* beside the seeds */
    RANDOM_ALONE = 6,   /* where nothing like the problem is known */
    RELAUNCHED = 8,     /* of the best, at the end: their launches a step apart */
    RELAUNCH_SHARE = 5, /* the last fifth of the points is kept for these */
    PREPARED_MAX = 2048 /* kernels of one size */
};

/* One kernel serves many grids, of which one may stand out: a step apart from a point that is not
 * among the very best. */
static void propose_relaunched(rdt_explorer *self) {
    const rdt_candidates *candidates = self->candidates;
    const rdt_spaces *spaces = candidates->spaces;
    size_t *ranked = self->scratch + candidates->count,
           good = rdt_candidates_rank(candidates, ranked);
    rdt_point moved;
    for (size_t i = 0; i < good && i < RELAUNCHED; i++) {
        const rdt_point *point = &candidates->entry[ranked[i]].candidate.point;
        const rdt_space *space = rdt_point_space(spaces, point);
        for (int k = 0; k < space->param_count; k++)
            for (int step = -1; space->param[k].launch && step <= 1; step += 2)
                if (rdt_neighbours_step(spaces, point, k, step, &moved))
                    rdt_explorer_propose(self, &moved);
    }
}

/* ---- exploring adaptively -------------------------------------------------------------------- */

static size_t count_points(const rdt_explorer *self, const rdt_quota *quota) {
    const rdt_candidates *candidates = self->candidates;
    size_t most = (size_t)(quota->share * (double)self->base_count);
    size_t least = candidates->search->similar_count ? quota->least : quota->alone;
    if (most < least) most = least;
    return most < self->explored_count ? most : self->explored_count;
}

/* Whether the samples of an exploration differed, here or on a problem like this one. Those of a
 * last round differ in any case, for what lies where is varied there. */
static bool is_noisy(const rdt_candidates *candidates, int samples) {
    const rdt_search *search = candidates->search;
    for (size_t i = 0; i < candidates->count; i++)
        if (candidates->entry[i].samples == samples && candidates->entry[i].spread_ns > 0)
            return true;
    for (size_t i = 0; i < search->similar_count; i++) {
        const rdt_similar *from = &search->similar[i];
        for (size_t k = 0; k < from->trials->count; k++) {
            const rdt_trial *each = &from->trials->trial[k];
            if (rdt_problem_same_extents(&each->problem, &from->problem) &&
                each->samples == samples && each->spread_ns > 0)
                return true;
        }
    }
    return false;
}

/* Measures the defaults and the seeds, until half of the points are spent. */
static redtune_status measure_seeds(rdt_explorer *self, const rdt_seeds_list *seeds,
                                    redtune_error *err) {
    rdt_candidates *candidates = self->candidates;
    for (size_t i = 0; i < candidates->count; i++)
        if (candidates->entry[i].is_default)
            rdt_explorer_propose(self, &candidates->entry[i].candidate.point);
    for (size_t i = 0;
         i < seeds->count && candidates->tried + self->proposed_count < self->limit / 2; i++)
        rdt_explorer_propose(self, &seeds->point[i]);
    rdt_candidates_prepare(candidates, self->proposed, self->proposed_count, true);
    for (size_t i = 0; i < self->proposed_count && i < 3; i++)
        rdt_explorer_prepare_neighbours(self, self->proposed[i]);
    return rdt_explorer_measure(self, err);
}

static redtune_status explore_first(rdt_explorer *self, redtune_error *err) {
    const rdt_search *search = self->candidates->search;
    const rdt_strategy *strategy = search->strategy;
    rdt_seeds_list seeds = {.count = 0};
    redtune_status status = rdt_seeds_collect(search, &seeds, err);
    rdt_explorer_mark(self);
    self->limit = count_points(self, &strategy->exact);
    if (!status) status = measure_seeds(self, &seeds, err);
    if (!status && is_noisy(self->candidates, strategy->samples)) {
        self->limit = count_points(self, &strategy->noisy);
        status = measure_seeds(self, &seeds, err);
    }
    if (!self->candidates->planned)
        self->candidates->planned = rdt_strategy_count(strategy, self->limit);
    if (status) return status;
    rdt_explorer_propose_random(self, search->similar_count ? RANDOM_POINTS : RANDOM_ALONE);
    return rdt_explorer_measure(self, err);
}

static redtune_status explore_locally(rdt_explorer *self, redtune_error *err) {
    rdt_probes probes = {.count = 0};
    redtune_status status = explore_first(self, err);
    if (!status) status = rdt_probe_choose(&probes, self, err);
    if (!status) status = rdt_explorer_climb(self, self->limit / RELAUNCH_SHARE, err);
    if (!status && !rdt_budget_is_late(self->candidates->search->budget)) {
        propose_relaunched(self);
        status = rdt_explorer_measure(self, err);
    }
    if (!status) status = rdt_explorer_climb(self, 0, err);
    if (!status && !rdt_budget_is_late(self->candidates->search->budget))
        status = rdt_probe_run(&probes, self, err);
    rdt_probe_free(&probes);
    return status;
}

static void mix_extents(rdt_random *random, const redtune_problem *problem) {
    rdt_extents extents = rdt_problem_axes_written(problem);
    if (problem->segmented) {
        extents.outer_step = problem->greatest;
        extents.step = problem->median;
    }
    rdt_random_mix(random, extents.count);
    if (rdt_problem_layout(problem) == RDT_LAYOUT_WHOLE) return;
    rdt_random_mix(random, extents.outer);
    rdt_random_mix(random, extents.inner);
    rdt_random_mix(random, extents.outer_step);
    rdt_random_mix(random, extents.step);
}

rdt_random rdt_explore_random(const rdt_search *search) {
    rdt_random random = {search->seed};
    rdt_random_mix(&random, (uint64_t)search->problem->op);
    rdt_random_mix(&random, (uint64_t)search->problem->dtype);
    rdt_random_mix(&random, (uint64_t)search->problem->result);
    mix_extents(&random, search->problem);
    rdt_random_mix(&random, (uint64_t)search->cache);
    return random;
}

redtune_status rdt_explore_adaptive(rdt_candidates *candidates, redtune_error *err) {
    rdt_explorer self = {.candidates = candidates,
                         .random = rdt_explore_random(candidates->search)};
    return rdt_explorer_run(&self, explore_locally, err);
}

/* Of points that share a kernel one stands for all. Of a space that has very many a search wants so
 * few that making others would only keep it waiting. */
static void prepare_kernels(const rdt_candidates *candidates, const rdt_values *values,
                            size_t *wanted) {
    const bool all = candidates->search->strategy->scope == RDT_SCOPE_DISTINCT;
    const rdt_spaces *spaces = candidates->spaces;
    const rdt_point *last = NULL;
    size_t count = 0;
    for (size_t i = 0; i < candidates->count; i++) {
        const rdt_point *each = &candidates->entry[i].candidate.point;
        if (!all && rdt_values_least(values, spaces, each) < RDT_USE_BASE) continue;
        if (last && rdt_point_same_kernel(spaces, each, last)) continue;
        last = each;
        wanted[count++] = i;
    }
    if (all || count <= PREPARED_MAX) rdt_candidates_prepare(candidates, wanted, count, false);
}

redtune_status rdt_explore_prepare(const rdt_search *search, redtune_error *err) {
    if (search->similar_count && search->strategy->explore == rdt_explore_shape)
        return rdt_explore_shape_prepare(search, err);
    rdt_values values = {{{{0}}}};
    rdt_candidates candidates;
    redtune_status status = rdt_candidates_open(search, NULL, 0, &candidates, err);
    if (status) return status;
    size_t *wanted = malloc(candidates.count * sizeof *wanted);
    if (!wanted) status = rdt_fail_memory(err, candidates.count * sizeof *wanted);
    if (!status) status = rdt_values_classify(search, &values, err);
    if (!status) prepare_kernels(&candidates, &values, wanted);
    free(wanted);
    rdt_candidates_close(&candidates);
    return status;
}
