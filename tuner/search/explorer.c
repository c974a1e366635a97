/* Explorer: an exploration under way, and how it chooses what to measure next. */
#include "tuner/search/explorer.h"

#include <limits.h>
#include <stdlib.h>
#include "tuner/search/neighbours.h"

enum {
    RANDOM_POINTS = 4, /* at a time */
    BEAM = 4           /* of the best, their neighbours are proposed */
};

static const double beam_margin = 1.1;  /* times the best's time: slower ones lead nowhere */
static const double other_margin = 1.2; /* for the best of each kind, likewise */

redtune_status rdt_explorer_run(rdt_explorer *self,
                                redtune_status (*explore)(rdt_explorer *self, redtune_error *err),
                                redtune_error *err) {
    const rdt_candidates *candidates = self->candidates;
    size_t *room = malloc(3 * candidates->count * sizeof *room);
    if (!room) return rdt_fail_memory(err, 3 * candidates->count * sizeof *room);
    self->proposed = room;
    self->scratch = room + candidates->count;
    redtune_status status = rdt_values_classify(candidates->search, &self->values, err);
    if (!status) status = explore(self, err);
    free(room);
    return status;
}

void rdt_explorer_mark(rdt_explorer *self) {
    const rdt_candidates *candidates = self->candidates;
    self->explored_count = self->base_count = 0;
    for (size_t i = 0; i < candidates->count; i++) {
        rdt_entry *each = &candidates->entry[i];
        each->use = rdt_values_least(&self->values, candidates->spaces, &each->candidate.point);
        self->explored_count += each->use >= RDT_USE_IN;
        self->base_count += each->use == RDT_USE_BASE;
    }
}

/* ---- proposing ------------------------------------------------------------------------------- */

/* Points that are left. */
static size_t left(const rdt_explorer *self) {
    size_t used = self->candidates->tried + self->proposed_count;
    return used < self->limit ? self->limit - used : 0;
}

static bool is_open(const rdt_entry *entry) {
    return entry->use >= RDT_USE_IN && !entry->tried && !entry->proposed;
}

void rdt_explorer_propose_entry(rdt_explorer *self, size_t index) {
    self->candidates->entry[index].proposed = true;
    self->proposed[self->proposed_count++] = index;
}

/* 0: nothing is known of it. */
static double estimate_of(const rdt_explorer *self, size_t index) {
    const rdt_search *search = self->candidates->search;
    rdt_entry *each = &self->candidates->entry[index];
    const rdt_case at = {search->problem, search->facts};
    if (!each->estimated)
        each->estimate_ns = rdt_estimate_time_or_none(search->codegen, at, &each->candidate.point);
    each->estimated = true;
    return each->estimate_ns;
}

/* Whether the entry is far behind the best so far of its family, or before there is one behind the
 * family's default, by the estimate. Of two families estimates say less. */
static bool is_hopeless(const rdt_explorer *self, size_t index) {
    const rdt_candidates *candidates = self->candidates;
    const rdt_entry *entry = candidates->entry;
    size_t best = candidates->count;
    const double margin = candidates->search->strategy->hopeless;
    if (margin <= 0 || entry[index].is_default) return false;
    for (size_t i = 0; i < candidates->count; i++) {
        if (entry[i].candidate.point.family != entry[index].candidate.point.family ||
            !(entry[i].is_default || entry[i].samples))
            continue;
        if (best == candidates->count || !entry[best].samples ||
            (entry[i].samples && entry[i].median_ns < entry[best].median_ns))
            best = i;
    }
    if (best == candidates->count) return false;
    const double best_ns = estimate_of(self, best), time_ns = estimate_of(self, index);
    return best_ns > 0 && time_ns > margin * best_ns;
}

static void propose(void *user, const rdt_point *point) {
    rdt_explorer *self = user;
    const long at = rdt_candidates_find(self->candidates, point);
    if (at >= 0 && is_open(&self->candidates->entry[at]) && left(self) &&
        !is_hopeless(self, (size_t)at))
        rdt_explorer_propose_entry(self, (size_t)at);
}

void rdt_explorer_propose(rdt_explorer *self, const rdt_point *point) { propose(self, point); }

redtune_status rdt_explorer_measure(rdt_explorer *self, redtune_error *err) {
    const int samples = self->candidates->search->strategy->samples;
    redtune_status status = rdt_candidates_measure(self->candidates, self->proposed,
                                                   self->proposed_count, samples, err);
    while (self->proposed_count)
        self->candidates->entry[self->proposed[--self->proposed_count]].proposed = false;
    return status;
}

/* ---- drawing at random ----------------------------------------------------------------------- */

/* How many entries of the kind are open; *out is the pick-th of them. */
static size_t count_open(const rdt_explorer *self, uint64_t kind, size_t pick, size_t *out) {
    size_t count = 0;
    for (size_t i = 0; i < self->candidates->count; i++) {
        const rdt_entry *each = &self->candidates->entry[i];
        if (each->kind == kind && is_open(each) && count++ == pick) *out = i;
    }
    return count;
}

/* One entry of each kind that is explored. Entries of a kind follow each other, by their ranks. */
static size_t list_kinds(const rdt_explorer *self, size_t *kinds) {
    const rdt_entry *entry = self->candidates->entry;
    size_t count = 0;
    for (size_t i = 0; i < self->candidates->count; i++)
        if (entry[i].use >= RDT_USE_IN && (!count || entry[kinds[count - 1]].kind != entry[i].kind))
            kinds[count++] = i;
    return count;
}

/* So that what is rare among the points is measured, too. */
void rdt_explorer_propose_random(rdt_explorer *self, size_t wanted) {
    size_t kind_count = list_kinds(self, self->scratch), missed = 0;
    if (wanted > left(self)) wanted = left(self);
    for (size_t i = 0; wanted && missed < kind_count; i++) {
        const uint64_t kind = self->candidates->entry[self->scratch[i % kind_count]].kind;
        size_t at = 0, open = count_open(self, kind, SIZE_MAX, &at);
        missed = open ? 0 : missed + 1;
        if (!open) continue;
        count_open(self, kind, rdt_random_below(&self->random, open), &at);
        rdt_explorer_propose_entry(self, at);
        wanted--;
    }
}

/* ---- climbing -------------------------------------------------------------------------------- */

/* Lets the evaluator make the kernels of the neighbours, of the default's values, while some are
 * measured. */
static void collect_unmeasured(void *user, const rdt_point *point) {
    rdt_explorer *self = user;
    const long at = rdt_candidates_find(self->candidates, point);
    const rdt_entry *each = at >= 0 ? &self->candidates->entry[at] : NULL;
    if (each && !each->tried && each->use == RDT_USE_BASE)
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

typedef struct step {
    rdt_explorer *explorer;
    const rdt_point *from;
} step;

/* The entry of the point's kind nearest to it that has the value of the parameter in which the
 * point differs from where the step began; -1: none. */
static long find_nearest(const rdt_candidates *candidates, const rdt_point *from,
                         const rdt_point *point) {
    const uint64_t kind = rdt_neighbours_kind(candidates->spaces, point);
    long nearest = rdt_candidates_find(candidates, point);
    int least = INT_MAX, i = 0;
    if (nearest >= 0) return nearest;
    while (from->value[i] == point->value[i]) i++;
    for (size_t k = 0; k < candidates->count; k++) {
        const rdt_entry *each = &candidates->entry[k];
        if (each->kind != kind || each->candidate.point.value[i] != point->value[i]) continue;
        const int steps =
            rdt_neighbours_distance(candidates->spaces, &each->candidate.point, point);
        if (steps >= least) continue;
        least = steps;
        nearest = (long)k;
    }
    return nearest;
}

static void propose_nearest(void *user, const rdt_point *point) {
    const step *self = user;
    const rdt_candidates *candidates = self->explorer->candidates;
    const long at = find_nearest(candidates, self->from, point);
    if (at >= 0 && !candidates->entry[at].lost)
        propose(self->explorer, &candidates->entry[at].candidate.point);
}

void rdt_explorer_propose_steps(rdt_explorer *self, size_t index) {
    rdt_entry *each = &self->candidates->entry[index];
    step step = {self, &each->candidate.point};
    if (each->expanded[0]) return;
    each->expanded[0] = true;
    rdt_neighbours_each(self->candidates->spaces, step.from, 0, propose_nearest, &step);
}

bool rdt_explorer_leads(const rdt_explorer *self, const size_t *ranked, size_t at) {
    const rdt_entry *entry = self->candidates->entry;
    for (size_t i = 0; i < at; i++)
        if (entry[ranked[i]].kind == entry[ranked[at]].kind) return false;
    return true;
}

/* The best comes first, then the best of each kind, then the others near the top. */
static void propose_around_best(rdt_explorer *self) {
    const rdt_entry *entry = self->candidates->entry;
    size_t *ranked = self->scratch + self->candidates->count;
    const size_t good = rdt_candidates_rank(self->candidates, ranked);
    if (!good) return;
    const double best_ns = entry[ranked[0]].median_ns;
    rdt_explorer_propose_neighbours(self, ranked[0]);
    for (size_t i = 1; i < good && !self->proposed_count; i++)
        if (entry[ranked[i]].median_ns < best_ns * other_margin &&
            rdt_explorer_leads(self, ranked, i))
            rdt_explorer_propose_neighbours(self, ranked[i]);
    for (size_t i = 1; i < good && i < BEAM && !self->proposed_count; i++)
        if (entry[ranked[i]].median_ns < best_ns * beam_margin)
            rdt_explorer_propose_neighbours(self, ranked[i]);
}

redtune_status rdt_explorer_climb(rdt_explorer *self, size_t until, redtune_error *err) {
    redtune_status status = REDTUNE_OK;
    while (!status && left(self) > until && !rdt_budget_is_late(self->candidates->search->budget)) {
        propose_around_best(self);
        if (!self->proposed_count) rdt_explorer_propose_random(self, RANDOM_POINTS);
        if (!self->proposed_count) break;
        status = rdt_explorer_measure(self, err);
    }
    return status;
}
