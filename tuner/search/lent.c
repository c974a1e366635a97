/* Lent: of the candidates at a shape, those that have won at a similar one.
 *
 * Each shape could have a winner of its own, and hardly any of them would gain by it: so a config
 * that already wins beside a shape goes before one that is as fast. The rule of model/winner.h,
 * which knows one problem at a time, takes only configs that were timed with care. So a config that
 * is new is timed with care only where few samples say that it gains. */
#include "tuner/search/lent.h"

#include <stdlib.h>
#include "tuner/search/plane.h"
#include "tuner/search/similar.h"

enum { LOSES_WITHIN = 2 }; /* doublings */

/* Times the time of the best that is lent: the few samples of two equal configs differ by that. */
static const double worth_margin = 0.98;

/* Times the best time of as few samples there. */
static const double far_margin = 1.10;

/* Whether what has lost there loses here, too: a step of the default grid away, as aligned. */
static bool tells_losers(const redtune_problem *here, const redtune_problem *there) {
    return rdt_plane_distance(here, there) <= LOSES_WITHIN &&
           rdt_problem_alignment(here) == rdt_problem_alignment(there);
}

/* Whether each entry was near the best at a similar problem, or far behind it. */
static void mark_lost(rdt_candidates *self, const rdt_similar *similar, bool *near) {
    const rdt_search *search = self->search;
    const rdt_trials *trials = similar->trials;
    double best_ns = 0;
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < trials->count; i++) {
            const rdt_trial *each = &trials->trial[i];
            rdt_point point;
            if (each->outcome != RDT_OUTCOME_GOOD || each->samples > search->strategy->samples ||
                !rdt_problem_same_extents(&each->problem, &similar->problem))
                continue;
            if (!pass && (!(best_ns > 0) || each->median_ns < best_ns)) best_ns = each->median_ns;
            if (!pass || rdt_point_read(self->spaces, each->family, each->config, &point, NULL))
                continue;
            const long at = rdt_candidates_find(self, &point);
            if (at < 0) continue;
            near[at] = near[at] || each->median_ns <= far_margin * best_ns;
            self->entry[at].lost = !near[at];
        }
}

redtune_status rdt_lent_mark(rdt_candidates *self, redtune_error *err) {
    const rdt_search *search = self->search;
    redtune_status status = REDTUNE_OK;
    bool *near = calloc(self->count + 1, sizeof *near);
    if (!near) return rdt_fail_memory(err, (self->count + 1) * sizeof *near);
    for (size_t i = 0; !status && i < search->similar_count; i++) {
        rdt_point point;
        bool found = false;
        if (tells_losers(search->problem, &search->similar[i].problem))
            mark_lost(self, &search->similar[i], near);
        status = rdt_similar_winner(search, &search->similar[i], &point, &found, err);
        const long at = found ? rdt_candidates_find(self, &point) : -1;
        if (at >= 0) self->entry[at].lent = true;
    }
    free(near);
    return status;
}

size_t rdt_lent_prefer(const rdt_candidates *self, size_t *ranked, size_t count) {
    double best_ns = 0;
    size_t kept = 0;
    for (size_t i = 0; i < count && !(best_ns > 0); i++) {
        const rdt_entry *each = &self->entry[ranked[i]];
        if (each->lent || each->is_default) best_ns = each->median_ns;
    }
    for (size_t i = 0; i < count; i++) {
        const rdt_entry *each = &self->entry[ranked[i]];
        if (each->lent || each->is_default || !(best_ns > 0) ||
            each->median_ns < worth_margin * best_ns)
            ranked[kept++] = ranked[i];
    }
    return kept;
}
