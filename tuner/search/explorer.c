/* Explorer: a first look under way, and how it chooses what to look at next. */
#include "tuner/search/explorer.h"

#include <stdlib.h>
#include "tuner/search/neighbours.h"

enum {
    RANDOM_POINTS = 4, /* at a time */
    BEAM = 4           /* of the best, their neighbours are looked at */
};

static const double beam_margin = 1.1;  /* times the best's time: slower ones lead nowhere */
static const double other_margin = 1.2; /* for the best of each kind, likewise */

/* ---- what is explored ------------------------------------------------------------------------ */

static rdt_use use_of(const rdt_explorer *self, size_t index) {
    const rdt_candidates *field = self->field;
    return rdt_values_least(&self->values, field->spaces, &field->entry[index].candidate.point);
}

void rdt_explorer_list(rdt_explorer *self) {
    self->in_count = self->base_count = 0;
    for (size_t i = 0; i < self->field->count; i++) {
        const rdt_use use = use_of(self, i);
        if (use >= RDT_USE_IN) self->in[self->in_count++] = i;
        self->base_count += use == RDT_USE_BASE;
    }
}

/* ---- wishes ---------------------------------------------------------------------------------- */

static bool is_wished(const rdt_explorer *self, size_t index) {
    for (size_t i = 0; i < self->wish_count; i++)
        if (self->wish[i] == index) return true;
    return false;
}

size_t rdt_explorer_left(const rdt_explorer *self) {
    size_t used = self->field->tried + self->wish_count;
    return used < self->most ? self->most - used : 0;
}

static void wish(void *user, const rdt_point *point) {
    rdt_explorer *self = user;
    long at = rdt_candidates_find(self->field, point);
    if (at < 0 || self->field->entry[at].tried || is_wished(self, (size_t)at) ||
        !rdt_explorer_left(self) || use_of(self, (size_t)at) < RDT_USE_IN)
        return;
    self->wish[self->wish_count++] = (size_t)at;
}

void rdt_explorer_wish(rdt_explorer *self, const rdt_point *point) { wish(self, point); }

redtune_status rdt_explorer_grant(rdt_explorer *self, redtune_error *err) {
    redtune_status status = rdt_candidates_measure(self->field, self->wish, self->wish_count,
                                                   self->strategy->samples, err);
    self->wish_count = 0;
    return status;
}

/* ---- drawing at random ----------------------------------------------------------------------- */

/* The entries still open of the kind that entry `like` is; their count, and the pick-th of them. */
static size_t count_kind(const rdt_explorer *self, size_t like, size_t pick, size_t *out) {
    const rdt_candidates *field = self->field;
    size_t count = 0;
    for (size_t at = 0; at < self->in_count; at++) {
        const size_t i = self->in[at];
        if (field->entry[i].tried || is_wished(self, i) ||
            !rdt_neighbours_same_kind(field->spaces, &field->entry[i].candidate.point,
                                      &field->entry[like].candidate.point))
            continue;
        if (count++ == pick) *out = i;
    }
    return count;
}

/* One entry of each kind that is explored, in the order of the field. */
static size_t list_kinds(const rdt_explorer *self, size_t *kinds) {
    const rdt_candidates *field = self->field;
    size_t count = 0;
    for (size_t at = 0; at < self->in_count; at++) {
        const size_t i = self->in[at];
        bool is_new = true;
        for (size_t k = 0; is_new && k < count; k++)
            is_new = !rdt_neighbours_same_kind(field->spaces, &field->entry[i].candidate.point,
                                               &field->entry[kinds[k]].candidate.point);
        if (is_new) kinds[count++] = i;
    }
    return count;
}

/* So that what is rare among the points is looked at, too. */
void rdt_explorer_wish_random(rdt_explorer *self, size_t wanted) {
    size_t kind_count = list_kinds(self, self->scratch), missed = 0;
    if (wanted > rdt_explorer_left(self)) wanted = rdt_explorer_left(self);
    for (size_t i = 0; wanted && missed < kind_count; i++) {
        size_t kind = self->scratch[i % kind_count], at = 0;
        size_t open = count_kind(self, kind, SIZE_MAX, &at);
        missed = open ? 0 : missed + 1;
        if (!open) continue;
        count_kind(self, kind, rdt_random_below(&self->random, open), &at);
        self->wish[self->wish_count++] = at;
        wanted--;
    }
}

/* ---- moving ---------------------------------------------------------------------------------- */

/* Lets the evaluator make the kernels of the neighbours, of the default's values, while some are
 * measured. */
static void collect(void *user, const rdt_point *point) {
    rdt_explorer *self = user;
    long at = rdt_candidates_find(self->field, point);
    if (at >= 0 && !self->field->entry[at].tried && use_of(self, (size_t)at) == RDT_USE_BASE)
        self->scratch[self->wish_count++] = (size_t)at;
}

void rdt_explorer_prepare_around(const rdt_explorer *self, size_t index) {
    rdt_explorer ahead = *self;
    ahead.wish_count = 0;
    const rdt_point *point = &self->field->entry[index].candidate.point;
    for (int stage = 0; stage < RDT_NEIGHBOURS_STAGES; stage++)
        rdt_neighbours_each(self->field->spaces, point, stage, collect, &ahead);
    rdt_candidates_prepare(self->field, ahead.scratch, ahead.wish_count, true);
}

void rdt_explorer_wish_around(rdt_explorer *self, size_t index) {
    rdt_entry *each = &self->field->entry[index];
    for (int stage = 0; stage < RDT_NEIGHBOURS_STAGES && !self->wish_count; stage++) {
        if (each->expanded[stage]) continue;
        each->expanded[stage] = true;
        rdt_neighbours_each(self->field->spaces, &each->candidate.point, stage, wish, self);
    }
    if (self->wish_count) rdt_explorer_prepare_around(self, index);
}

/* Whether entry `at` of the ranked is the best of its kind. */
static bool leads(const rdt_explorer *self, const size_t *ranked, size_t at) {
    const rdt_candidates *field = self->field;
    for (size_t i = 0; i < at; i++)
        if (rdt_neighbours_same_kind(field->spaces, &field->entry[ranked[i]].candidate.point,
                                     &field->entry[ranked[at]].candidate.point))
            return false;
    return true;
}

/* The best comes first, then the best of each kind, then the others near the top. */
static void wish_around_best(rdt_explorer *self) {
    const rdt_candidates *field = self->field;
    size_t *ranked = self->scratch + field->count, good = rdt_candidates_rank(field, ranked);
    if (!good) return;
    const double best_ns = field->entry[ranked[0]].median_ns;
    rdt_explorer_wish_around(self, ranked[0]);
    for (size_t i = 1; i < good && !self->wish_count; i++)
        if (field->entry[ranked[i]].median_ns < best_ns * other_margin && leads(self, ranked, i))
            rdt_explorer_wish_around(self, ranked[i]);
    for (size_t i = 1; i < good && i < BEAM && !self->wish_count; i++)
        if (field->entry[ranked[i]].median_ns < best_ns * beam_margin)
            rdt_explorer_wish_around(self, ranked[i]);
}

redtune_status rdt_explorer_move_on(rdt_explorer *self, size_t until, redtune_error *err) {
    redtune_status status = REDTUNE_OK;
    while (!status && rdt_explorer_left(self) > until && !rdt_candidates_is_late(self->field)) {
        wish_around_best(self);
        if (!self->wish_count) rdt_explorer_wish_random(self, RANDOM_POINTS);
        if (!self->wish_count) break;
        status = rdt_explorer_grant(self, err);
    }
    return status;
}
