/* Explorer: an exploration under way, and how it chooses what to measure next. */
#include "tuner/search/explorer.h"

#include <stdlib.h>
#include "tuner/search/neighbours.h"

enum {
    RANDOM_POINTS = 4, /* at a time */
    BEAM = 4           /* of the best, their neighbours are proposed */
};

static const double beam_margin = 1.1;  /* times the best's time: slower ones lead nowhere */
static const double other_margin = 1.2; /* for the best of each kind, likewise */

/* ---- what is explored ------------------------------------------------------------------------ */

static rdt_use use_of(const rdt_explorer *self, size_t index) {
    const rdt_candidates *candidates = self->candidates;
    return rdt_values_least(&self->values, candidates->spaces,
                            &candidates->entry[index].candidate.point);
}

void rdt_explorer_list(rdt_explorer *self) {
    self->explored_count = self->base_count = 0;
    for (size_t i = 0; i < self->candidates->count; i++) {
        const rdt_use use = use_of(self, i);
        if (use >= RDT_USE_IN) self->explored[self->explored_count++] = i;
        self->base_count += use == RDT_USE_BASE;
    }
}

/* ---- proposing ----------------------------------------------------------------------------------
 */

static bool is_proposed(const rdt_explorer *self, size_t index) {
    for (size_t i = 0; i < self->proposed_count; i++)
        if (self->proposed[i] == index) return true;
    return false;
}

size_t rdt_explorer_left(const rdt_explorer *self) {
    size_t used = self->candidates->tried + self->proposed_count;
    return used < self->limit ? self->limit - used : 0;
}

static void propose(void *user, const rdt_point *point) {
    rdt_explorer *self = user;
    long at = rdt_candidates_find(self->candidates, point);
    if (at < 0 || self->candidates->entry[at].tried || is_proposed(self, (size_t)at) ||
        !rdt_explorer_left(self) || use_of(self, (size_t)at) < RDT_USE_IN)
        return;
    self->proposed[self->proposed_count++] = (size_t)at;
}

void rdt_explorer_propose(rdt_explorer *self, const rdt_point *point) { propose(self, point); }

redtune_status rdt_explorer_measure(rdt_explorer *self, redtune_error *err) {
    redtune_status status = rdt_candidates_measure(
        self->candidates, self->proposed, self->proposed_count, self->strategy->samples, err);
    self->proposed_count = 0;
    return status;
}

/* ---- drawing at random ----------------------------------------------------------------------- */

/* The entries still open of the kind that entry `like` is; their count, and the pick-th of them. */
static size_t count_kind(const rdt_explorer *self, size_t like, size_t pick, size_t *out) {
    const rdt_candidates *candidates = self->candidates;
    size_t count = 0;
    for (size_t at = 0; at < self->explored_count; at++) {
        const size_t i = self->explored[at];
        if (candidates->entry[i].tried || is_proposed(self, i) ||
            !rdt_neighbours_same_kind(candidates->spaces, &candidates->entry[i].candidate.point,
                                      &candidates->entry[like].candidate.point))
            continue;
        if (count++ == pick) *out = i;
    }
    return count;
}

/* One entry of each kind that is explored, in the order of the candidates. */
static size_t list_kinds(const rdt_explorer *self, size_t *kinds) {
    const rdt_candidates *candidates = self->candidates;
    size_t count = 0;
    for (size_t at = 0; at < self->explored_count; at++) {
        const size_t i = self->explored[at];
        bool is_new = true;
        for (size_t k = 0; is_new && k < count; k++)
            is_new =
                !rdt_neighbours_same_kind(candidates->spaces, &candidates->entry[i].candidate.point,
                                          &candidates->entry[kinds[k]].candidate.point);
        if (is_new) kinds[count++] = i;
    }
    return count;
}

/* So that what is rare among the points is measured, too. */
void rdt_explorer_propose_random(rdt_explorer *self, size_t wanted) {
    size_t kind_count = list_kinds(self, self->scratch), missed = 0;
    if (wanted > rdt_explorer_left(self)) wanted = rdt_explorer_left(self);
    for (size_t i = 0; wanted && missed < kind_count; i++) {
        size_t kind = self->scratch[i % kind_count], at = 0;
        size_t open = count_kind(self, kind, SIZE_MAX, &at);
        missed = open ? 0 : missed + 1;
        if (!open) continue;
        count_kind(self, kind, rdt_random_below(&self->random, open), &at);
        self->proposed[self->proposed_count++] = at;
        wanted--;
    }
}

/* ---- climbing ----------------------------------------------------------------------------------
 */

/* Lets the evaluator make the kernels of the neighbours, of the default's values, while some are
 * measured. */
static void collect_unmeasured(void *user, const rdt_point *point) {
    rdt_explorer *self = user;
    long at = rdt_candidates_find(self->candidates, point);
    if (at >= 0 && !self->candidates->entry[at].tried && use_of(self, (size_t)at) == RDT_USE_BASE)
        self->scratch[self->proposed_count++] = (size_t)at;
}

void rdt_explorer_prepare_neighbours(const rdt_explorer *self, size_t index) {
    rdt_explorer ahead = *self;
    ahead.proposed_count = 0;
    const rdt_point *point = &self->candidates->entry[index].candidate.point;
    for (int n = 0; n < RDT_NEIGHBOURHOODS; n++)
        rdt_neighbours_each(self->candidates->spaces, point, n, collect_unmeasured, &ahead);
    rdt_candidates_prepare(self->candidates, ahead.scratch, ahead.proposed_count, true);
}

void rdt_explorer_propose_neighbours(rdt_explorer *self, size_t index) {
    rdt_entry *each = &self->candidates->entry[index];
    for (int n = 0; n < RDT_NEIGHBOURHOODS && !self->proposed_count; n++) {
        if (each->expanded[n]) continue;
        each->expanded[n] = true;
        rdt_neighbours_each(self->candidates->spaces, &each->candidate.point, n, propose, self);
    }
    if (self->proposed_count) rdt_explorer_prepare_neighbours(self, index);
}

/* Whether entry `at` of the ranked is the best of its kind. */
static bool leads(const rdt_explorer *self, const size_t *ranked, size_t at) {
    const rdt_candidates *candidates = self->candidates;
    for (size_t i = 0; i < at; i++)
        if (rdt_neighbours_same_kind(candidates->spaces,
                                     &candidates->entry[ranked[i]].candidate.point,
                                     &candidates->entry[ranked[at]].candidate.point))
            return false;
    return true;
}

/* The best comes first, then the best of each kind, then the others near the top. */
static void propose_around_best(rdt_explorer *self) {
    const rdt_candidates *candidates = self->candidates;
    size_t *ranked = self->scratch + candidates->count,
           good = rdt_candidates_rank(candidates, ranked);
    if (!good) return;
    const double best_ns = candidates->entry[ranked[0]].median_ns;
    rdt_explorer_propose_neighbours(self, ranked[0]);
    for (size_t i = 1; i < good && !self->proposed_count; i++)
        if (candidates->entry[ranked[i]].median_ns < best_ns * other_margin &&
            leads(self, ranked, i))
            rdt_explorer_propose_neighbours(self, ranked[i]);
    for (size_t i = 1; i < good && i < BEAM && !self->proposed_count; i++)
        if (candidates->entry[ranked[i]].median_ns < best_ns * beam_margin)
            rdt_explorer_propose_neighbours(self, ranked[i]);
}

redtune_status rdt_explorer_climb(rdt_explorer *self, size_t until, redtune_error *err) {
    redtune_status status = REDTUNE_OK;
    while (!status && rdt_explorer_left(self) > until &&
           !rdt_candidates_is_late(self->candidates)) {
        propose_around_best(self);
        if (!self->proposed_count) rdt_explorer_propose_random(self, RANDOM_POINTS);
        if (!self->proposed_count) break;
        status = rdt_explorer_measure(self, err);
    }
    return status;
}
