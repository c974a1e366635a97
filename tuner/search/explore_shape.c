/* Explore shape: which points are measured first at a shape beside which others are known.
 *
 * What wins at a shape mostly wins beside it, or is a step away from what does. So a shape takes
 * few candidates: the winners beside it, and the steps around the best of them. Nothing is drawn at
 * random, and the search ends where no step leads on. */
#include "tuner/search/explore_shape.h"

#include <stdlib.h>
#include "tuner/search/explore.h"
#include "tuner/search/explorer.h"
#include "tuner/search/lent.h"
#include "tuner/search/probe.h"
#include "tuner/search/seeds.h"
#include "tuner/search/similar.h"

enum { FROM_EACH = 2 }; /* of each similar problem, the fastest beside its winner */

/* Times the best's time: from the best of a kind that is slower no step is tried. */
static const double other_margin = 1.1;

/* The winners first: they come before the fastest of any. */
static redtune_status propose_seeds(rdt_explorer *self, redtune_error *err) {
    const rdt_candidates *candidates = self->candidates;
    const rdt_search *search = candidates->search;
    redtune_status status = REDTUNE_OK;
    for (size_t i = 0; i < candidates->count; i++)
        if (candidates->entry[i].is_default || candidates->entry[i].lent)
            rdt_explorer_propose(self, &candidates->entry[i].candidate.point);
    for (size_t i = 0; !status && i < search->similar_count; i++) {
        rdt_point best[FROM_EACH];
        size_t count = 0;
        status = rdt_seeds_best(search, &search->similar[i], -1, FROM_EACH, best, &count, err);
        for (size_t k = 0; k < count; k++) rdt_explorer_propose(self, &best[k]);
    }
    return status;
}

/* From the best; and where nothing is left to try there, from the best of another kind. */
static void propose_steps(rdt_explorer *self) {
    const rdt_entry *entry = self->candidates->entry;
    size_t *ranked = self->scratch + self->candidates->count;
    const size_t good = rdt_candidates_rank(self->candidates, ranked);
    for (size_t i = 0; i < good && !self->proposed_count; i++) {
        if (rdt_explorer_leads(self, ranked, i) &&
            entry[ranked[i]].median_ns <= other_margin * entry[ranked[0]].median_ns)
            rdt_explorer_propose_steps(self, ranked[i]);
    }
}

static redtune_status climb(rdt_explorer *self, redtune_error *err) {
    redtune_status status = REDTUNE_OK;
    while (!status && !rdt_budget_is_late(self->candidates->search->budget)) {
        propose_steps(self);
        if (!self->proposed_count) break;
        status = rdt_explorer_measure(self, err);
    }
    return status;
}

static redtune_status explore(rdt_explorer *self, redtune_error *err) {
    rdt_candidates *candidates = self->candidates;
    const rdt_strategy *strategy = candidates->search->strategy;
    rdt_probes probes = {.count = 0};
    redtune_status status = rdt_lent_mark(candidates, err);
    rdt_explorer_mark(self);
    for (size_t i = 0; i < candidates->count; i++)
        if (candidates->entry[i].lent) candidates->entry[i].use = RDT_USE_BASE;
    self->limit = strategy->exact.least;
    candidates->planned = rdt_strategy_count(strategy, self->limit);
    if (!status) status = propose_seeds(self, err);
    if (!status) status = rdt_explorer_measure(self, err);
    if (!status) status = rdt_probe_choose(&probes, self, err);
    if (!status) status = climb(self, err);
    if (!status && !rdt_budget_is_late(candidates->search->budget))
        status = rdt_probe_run(&probes, self, err);
    rdt_probe_free(&probes);
    return status;
}

redtune_status rdt_explore_shape(rdt_candidates *candidates, redtune_error *err) {
    if (!candidates->search->similar_count) return rdt_explore_adaptive(candidates, err);
    rdt_explorer self = {.candidates = candidates};
    return rdt_explorer_run(&self, explore, err);
}

/* ---- preparing ------------------------------------------------------------------------------- */

typedef struct ahead {
    const rdt_candidates *candidates;
    size_t *wanted, count;
} ahead;

static void want(void *user, const rdt_point *point) {
    ahead *self = user;
    const long at = rdt_candidates_find(self->candidates, point);
    if (at >= 0 && self->count < self->candidates->count) self->wanted[self->count++] = (size_t)at;
}

redtune_status rdt_explore_shape_prepare(const rdt_search *search, redtune_error *err) {
    rdt_candidates candidates;
    redtune_status status = rdt_candidates_open(search, NULL, 0, &candidates, err);
    if (status) return status;
    ahead self = {.candidates = &candidates};
    self.wanted = malloc(candidates.count * sizeof *self.wanted);
    if (!self.wanted) status = rdt_fail_memory(err, candidates.count * sizeof *self.wanted);
    if (!status) status = rdt_lent_mark(&candidates, err);
    for (size_t i = 0; !status && i < candidates.count; i++) {
        const rdt_entry *each = &candidates.entry[i];
        if (!each->lent && !each->is_default) continue;
        want(&self, &each->candidate.point);
        rdt_neighbours_each(candidates.spaces, &each->candidate.point, 0, want, &self);
    }
    if (!status) rdt_candidates_prepare(&candidates, self.wanted, self.count, false);
    free(self.wanted);
    rdt_candidates_close(&candidates);
    return status;
}
