/* Explore: which points of a field a strategy looks at first. */
#include "tuner/search/explore.h"

#include <stdlib.h>
#include "tuner/search/explorer.h"
#include "tuner/search/neighbours.h"
#include "tuner/search/probe.h"
#include "tuner/search/seeds.h"

enum {
    RANDOM_POINTS = 4,  /* beside the seeds */
    RANDOM_ALONE = 6,   /* where nothing like the problem is known */
    RELAUNCHED = 8,     /* of the best, at the end: their launches a step apart */
    RELAUNCH_SHARE = 5, /* the last fifth of the points is kept for these */
};

/* One kernel serves many grids, of which one may stand out: a step apart from a point that is not
 * among the very best. */
static void wish_relaunched(rdt_explorer *self) {
    const rdt_candidates *field = self->field;
    const rdt_spaces *spaces = field->spaces;
    size_t *ranked = self->scratch + field->count, good = rdt_candidates_rank(field, ranked);
    rdt_point moved;
    for (size_t i = 0; i < good && i < RELAUNCHED; i++) {
        const rdt_point *point = &field->entry[ranked[i]].candidate.point;
        const rdt_space *space = rdt_point_space(spaces, point);
        for (int k = 0; k < space->param_count; k++)
            for (int step = -1; space->param[k].launch && step <= 1; step += 2)
                if (rdt_neighbours_step(spaces, point, k, step, &moved))
                    rdt_explorer_wish(self, &moved);
    }
}

/* ---- looking around -------------------------------------------------------------------------- */

static size_t count_points(const rdt_explorer *self, const rdt_look *look) {
    const rdt_candidates *field = self->field;
    size_t most = (size_t)(look->share * (double)self->base_count);
    size_t least = field->search->near_count ? look->least : look->alone;
    if (most < least) most = least;
    return most < self->in_count ? most : self->in_count;
}

/* Whether the samples of a first look differed, here or on a problem like this one. Those of a last
 * round differ in any case, for what lies where is varied there. */
static bool is_noisy(const rdt_candidates *field, int samples) {
    const rdt_search *search = field->search;
    for (size_t i = 0; i < field->count; i++)
        if (field->entry[i].samples == samples && field->entry[i].spread_ns > 0) return true;
    for (size_t i = 0; i < search->near_count; i++) {
        const rdt_trials *trials = search->near[i].trials;
        for (size_t k = 0; k < trials->count; k++)
            if (trials->trial[k].samples == samples && trials->trial[k].spread_ns > 0) return true;
    }
    return false;
}

/* Looks at the defaults and the seeds, until half of the points are spent. */
static redtune_status plant(rdt_explorer *self, const rdt_seeds_list *seeds, redtune_error *err) {
    rdt_candidates *field = self->field;
    for (size_t i = 0; i < field->count; i++)
        if (field->entry[i].is_default) rdt_explorer_wish(self, &field->entry[i].candidate.point);
    for (size_t i = 0; i < seeds->count && field->tried + self->wish_count < self->most / 2; i++)
        rdt_explorer_wish(self, &seeds->point[i]);
    rdt_candidates_prepare(field, self->wish, self->wish_count, true);
    for (size_t i = 0; i < self->wish_count && i < 3; i++)
        rdt_explorer_prepare_around(self, self->wish[i]);
    return rdt_explorer_grant(self, err);
}

static redtune_status begin(rdt_explorer *self, redtune_error *err) {
    const rdt_strategy *strategy = self->strategy;
    const rdt_search *search = self->field->search;
    rdt_seeds_list seeds = {0};
    redtune_status status = rdt_seeds_collect(search, &seeds, err);
    rdt_explorer_list(self);
    self->most = count_points(self, &strategy->exact);
    if (!status) status = plant(self, &seeds, err);
    if (!status && is_noisy(self->field, strategy->samples)) {
        self->most = count_points(self, &strategy->noisy);
        status = plant(self, &seeds, err);
    }
    self->field->planned = rdt_strategy_count(strategy, self->most);
    rdt_seeds_free(&seeds);
    if (status) return status;
    rdt_explorer_wish_random(self, search->near_count ? RANDOM_POINTS : RANDOM_ALONE);
    return rdt_explorer_grant(self, err);
}

static redtune_status look_around(rdt_explorer *self, redtune_error *err) {
    rdt_probes probes = {.count = 0};
    redtune_status status = begin(self, err);
    if (!status) status = rdt_probe_choose(&probes, self, err);
    if (!status) status = rdt_explorer_move_on(self, self->most / RELAUNCH_SHARE, err);
    if (!status && !rdt_candidates_is_late(self->field)) {
        wish_relaunched(self);
        status = rdt_explorer_grant(self, err);
    }
    if (!status) status = rdt_explorer_move_on(self, 0, err);
    if (!status && !rdt_candidates_is_late(self->field)) status = rdt_probe_try(&probes, self, err);
    rdt_probe_free(&probes);
    return status;
}

/* Every problem has a sequence of its own, whatever else is tuned. */
static rdt_random start_random(const rdt_search *search) {
    rdt_random random = {search->seed};
    rdt_random_mix(&random, (uint64_t)search->problem->op);
    rdt_random_mix(&random, (uint64_t)search->problem->dtype);
    rdt_random_mix(&random, (uint64_t)search->problem->result);
    rdt_random_mix(&random, search->problem->count);
    rdt_random_mix(&random, (uint64_t)search->cache);
    return random;
}

redtune_status rdt_explore_near(const rdt_strategy *strategy, rdt_candidates *field,
                                redtune_error *err) {
    rdt_explorer self = {
        .strategy = strategy, .field = field, .random = start_random(field->search)};
    size_t *room = malloc(4 * field->count * sizeof *room);
    if (!room) return rdt_fail_memory(err, 4 * field->count * sizeof *room);
    self.wish = room;
    self.in = room + field->count;
    self.scratch = room + 2 * field->count;
    redtune_status status = rdt_values_judge(field->search, &self.values, err);
    if (!status) status = look_around(&self, err);
    free(room);
    return status;
}

/* Fisher and Yates: where the time may not suffice for all, no part of the space is left out. */
static void shuffle(size_t *indices, size_t count, rdt_random random) {
    for (size_t i = count; i > 1; i--) {
        size_t other = rdt_random_below(&random, i), moved = indices[i - 1];
        indices[i - 1] = indices[other];
        indices[other] = moved;
    }
}

redtune_status rdt_explore_all(const rdt_strategy *strategy, rdt_candidates *field,
                               redtune_error *err) {
    enum { STRIDE = 32 };
    size_t *indices = malloc(field->count * sizeof *indices);
    if (!indices) return rdt_fail_memory(err, field->count * sizeof *indices);
    for (size_t i = 0; i < field->count; i++) indices[i] = i;
    field->planned = rdt_strategy_count(strategy, field->count);
    if (field->search->is_late) shuffle(indices, field->count, start_random(field->search));
    redtune_status status =
        rdt_candidates_measure(field, &field->standard, 1, strategy->samples, err);
    for (size_t i = 0; !status && i < field->count && !rdt_candidates_is_late(field); i += STRIDE) {
        size_t count = field->count - i < STRIDE ? field->count - i : STRIDE;
        status = rdt_candidates_measure(field, indices + i, count, strategy->samples, err);
    }
    free(indices);
    return status;
}

/* Of points that share a kernel one stands for all. */
redtune_status rdt_explore_prepare(const rdt_candidates *field, redtune_error *err) {
    rdt_values values = {{{{0}}}};
    const bool all = field->search->strategy->extent == RDT_EXTENT_DISTINCT;
    size_t *wanted = malloc(field->count * sizeof *wanted), count = 0;
    if (!wanted) return rdt_fail_memory(err, field->count * sizeof *wanted);
    redtune_status status = rdt_values_judge(field->search, &values, err);
    for (size_t i = 0; !status && i < field->count; i++) {
        const rdt_point *each = &field->entry[i].candidate.point;
        if (!all && rdt_values_least(&values, field->spaces, each) < RDT_USE_BASE) continue;
        if (count && rdt_point_same_kernel(field->spaces, each,
                                           &field->entry[wanted[count - 1]].candidate.point))
            continue;
        wanted[count++] = i;
    }
    if (!status) rdt_candidates_prepare(field, wanted, count, false);
    free(wanted);
    return status;
}
