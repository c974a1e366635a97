/* Explore: which points of a field a strategy looks at first. */
#include "tuner/search/explore.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include "base/random.h"
#include "tuner/search/neighbours.h"
#include "tuner/search/seeds.h"
#include "tuner/search/values.h"

enum {
    RANDOM_POINTS = 4,  /* at a time */
    RANDOM_ALONE = 6,   /* at first, where nothing like the problem is known */
    BEAM = 4,           /* of the best, their neighbours are looked at */
    RELAUNCHED = 8,     /* of the best, at the end: their launches a step apart */
    RELAUNCH_SHARE = 5, /* the last fifth of the points is kept for these */
    AROUND_PROBE = 1    /* points around a probe that beats the best */
};

static const double beam_margin = 1.1;  /* times the best's time: slower ones lead nowhere */
static const double other_margin = 1.2; /* for the best of each kind, likewise */
/* Times the time of the best before: a probe shows that its value is worth exploring, and that the
 * search looked in the wrong part of the space so far. */
static const double worth_margin = 0.99, wrong_margin = 0.90;

/* A first look under way. */
typedef struct explorer {
    const rdt_strategy *strategy;
    rdt_candidates *field;
    rdt_random random;
    rdt_values values;
    size_t base_count;      /* entries of the default's values */
    size_t most;            /* points to look at */
    size_t *wish, *scratch; /* indices of entries; room for all, and for all twice */
    size_t wish_count;
    size_t *in; /* those of the values that are explored, in the order of the field */
    size_t in_count;
} explorer;

/* ---- what is explored ------------------------------------------------------------------------ */

static rdt_use use_of(const explorer *self, size_t index) {
    const rdt_candidates *field = self->field;
    return rdt_values_least(&self->values, field->space, &field->entry[index].candidate.config);
}

static void list_explored(explorer *self) {
    self->in_count = self->base_count = 0;
    for (size_t i = 0; i < self->field->count; i++) {
        const rdt_use use = use_of(self, i);
        if (use >= RDT_USE_IN) self->in[self->in_count++] = i;
        self->base_count += use == RDT_USE_BASE;
    }
}

/* ---- wishes ---------------------------------------------------------------------------------- */

static bool is_wished(const explorer *self, size_t index) {
    for (size_t i = 0; i < self->wish_count; i++)
        if (self->wish[i] == index) return true;
    return false;
}

static size_t left(const explorer *self) {
    size_t used = self->field->tried + self->wish_count;
    return used < self->most ? self->most - used : 0;
}

/* A wish for what is explored and has no outcome yet, as far as there is room. */
static void wish(void *user, const rdt_config *config) {
    explorer *self = user;
    long at = rdt_candidates_find(self->field, config);
    if (at < 0 || self->field->entry[at].tried || is_wished(self, (size_t)at) || !left(self) ||
        use_of(self, (size_t)at) < RDT_USE_IN)
        return;
    self->wish[self->wish_count++] = (size_t)at;
}

static redtune_status grant(explorer *self, redtune_error *err) {
    redtune_status status = rdt_candidates_measure(self->field, self->wish, self->wish_count,
                                                   self->strategy->samples, err);
    self->wish_count = 0;
    return status;
}

/* ---- drawing at random ----------------------------------------------------------------------- */

/* The entries still open of the kind that entry `like` is; their count, and the pick-th of them. */
static size_t count_kind(const explorer *self, size_t like, size_t pick, size_t *out) {
    const rdt_candidates *field = self->field;
    size_t count = 0;
    for (size_t at = 0; at < self->in_count; at++) {
        const size_t i = self->in[at];
        if (field->entry[i].tried || is_wished(self, i) ||
            !rdt_neighbours_same_kind(field->space, &field->entry[i].candidate.config,
                                      &field->entry[like].candidate.config))
            continue;
        if (count++ == pick) *out = i;
    }
    return count;
}

/* One entry of each kind that is explored, in the order of the field. */
static size_t list_kinds(const explorer *self, size_t *kinds) {
    const rdt_candidates *field = self->field;
    size_t count = 0;
    for (size_t at = 0; at < self->in_count; at++) {
        const size_t i = self->in[at];
        bool is_new = true;
        for (size_t k = 0; is_new && k < count; k++)
            is_new = !rdt_neighbours_same_kind(field->space, &field->entry[i].candidate.config,
                                               &field->entry[kinds[k]].candidate.config);
        if (is_new) kinds[count++] = i;
    }
    return count;
}

/* As many of each kind, so that what is rare among the points is looked at, too. */
static void wish_random(explorer *self, size_t wanted) {
    size_t kind_count = list_kinds(self, self->scratch), missed = 0;
    if (wanted > left(self)) wanted = left(self);
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

/* Wishes for the neighbours of an entry that have not been looked at: the near ones, and only when
 * there are none of them, those two steps away. */
static void wish_around(explorer *self, size_t index) {
    rdt_entry *each = &self->field->entry[index];
    for (int stage = 0; stage < RDT_NEIGHBOURS_STAGES && !self->wish_count; stage++) {
        if (each->expanded[stage]) continue;
        each->expanded[stage] = true;
        rdt_neighbours_each(self->field->space, &each->candidate.config, stage, wish, self);
    }
}

/* Whether entry `at` of the ranked is the best of its kind. */
static bool leads(const explorer *self, const size_t *ranked, size_t at) {
    const rdt_candidates *field = self->field;
    for (size_t i = 0; i < at; i++)
        if (rdt_neighbours_same_kind(field->space, &field->entry[ranked[i]].candidate.config,
                                     &field->entry[ranked[at]].candidate.config))
            return false;
    return true;
}

/* The best comes first, then the best of each kind, then the others near the top. */
static void wish_around_best(explorer *self) {
    const rdt_candidates *field = self->field;
    size_t *ranked = self->scratch + field->count, good = rdt_candidates_rank(field, ranked);
    if (!good) return;
    const double best_ns = field->entry[ranked[0]].median_ns;
    wish_around(self, ranked[0]);
    for (size_t i = 1; i < good && !self->wish_count; i++)
        if (field->entry[ranked[i]].median_ns < best_ns * other_margin && leads(self, ranked, i))
            wish_around(self, ranked[i]);
    for (size_t i = 1; i < good && i < BEAM && !self->wish_count; i++)
        if (field->entry[ranked[i]].median_ns < best_ns * beam_margin) wish_around(self, ranked[i]);
}

/* One kernel serves many grids, of which one may stand out: a step apart from a config that is not
 * among the very best. */
static void wish_relaunched(explorer *self) {
    const rdt_candidates *field = self->field;
    const rdt_space *space = field->space;
    size_t *ranked = self->scratch + field->count, good = rdt_candidates_rank(field, ranked);
    rdt_config moved;
    for (size_t i = 0; i < good && i < RELAUNCHED; i++)
        for (int k = 0; k < space->param_count; k++)
            for (int step = -1; space->param[k].launch && step <= 1; step += 2)
                if (rdt_neighbours_step(space, &field->entry[ranked[i]].candidate.config, k, step,
                                        &moved))
                    wish(self, &moved);
}

/* ---- looking around -------------------------------------------------------------------------- */

static size_t count_points(const explorer *self, const rdt_look *look) {
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

static bool is_late(const rdt_candidates *field) {
    const rdt_search *search = field->search;
    return search->is_late && search->is_late(search->hooks->user);
}

/* Looks at the default and the seeds, until half of the points are spent. */
static redtune_status plant(explorer *self, const rdt_seeds_list *seeds, redtune_error *err) {
    rdt_candidates *field = self->field;
    wish(self, &field->entry[field->standard].candidate.config);
    for (size_t i = 0; i < seeds->count && field->tried + self->wish_count < self->most / 2; i++)
        wish(self, &seeds->config[i]);
    return grant(self, err);
}

static redtune_status begin(explorer *self, redtune_error *err) {
    const rdt_strategy *strategy = self->strategy;
    const rdt_search *search = self->field->search;
    rdt_seeds_list seeds = {0};
    redtune_status status = rdt_seeds_collect(search, &seeds, err);
    list_explored(self);
    self->most = count_points(self, &strategy->exact);
    if (!status) status = plant(self, &seeds, err);
    if (!status && is_noisy(self->field, strategy->samples)) {
        self->most = count_points(self, &strategy->noisy);
        status = plant(self, &seeds, err);
    }
    self->field->planned = rdt_strategy_count(strategy, self->most);
    rdt_seeds_free(&seeds);
    if (status) return status;
    wish_random(self, search->near_count ? RANDOM_POINTS : RANDOM_ALONE);
    return grant(self, err);
}

/* Goes from the best to its neighbours until so many points are left. */
static redtune_status move_on(explorer *self, size_t until, redtune_error *err) {
    redtune_status status = REDTUNE_OK;
    while (!status && left(self) > until && !is_late(self->field)) {
        wish_around_best(self);
        if (!self->wish_count) wish_random(self, RANDOM_POINTS);
        if (!self->wish_count) break;
        status = grant(self, err);
    }
    return status;
}

/* ---- probing --------------------------------------------------------------------------------- */

/* How many steps of numbers two configs are apart; names do not count. */
static int distance(const rdt_space *space, const rdt_config *a, const rdt_config *b) {
    int steps = 0;
    for (int i = 0; i < space->param_count; i++)
        if (!rdt_param_is_named(&space->param[i]))
            steps += abs(rdt_param_find(&space->param[i], a->value[i]) -
                         rdt_param_find(&space->param[i], b->value[i]));
    return steps;
}

/* Wishes for the entry nearest to the config of the same kind, whatever its values are known for.
 */
static void wish_nearest(explorer *self, const rdt_config *config) {
    const rdt_candidates *field = self->field;
    const long same = rdt_candidates_find(field, config);
    size_t nearest = field->count;
    int least = INT_MAX;
    if (same >= 0 && field->entry[same].tried) return;
    for (size_t i = 0; i < field->count; i++) {
        const rdt_config *each = &field->entry[i].candidate.config;
        if (field->entry[i].tried || is_wished(self, i) ||
            !rdt_neighbours_same_kind(field->space, each, config))
            continue;
        const int steps = distance(field->space, each, config);
        if (steps >= least) continue;
        least = steps;
        nearest = i;
    }
    if (nearest == field->count) return;
    self->wish[self->wish_count++] = nearest;
    self->most++;
}

/* How many of the best configs are tried with a value of this use in the place of theirs. */
static size_t probes_of(rdt_use use) {
    static const size_t probes[] = {
        [RDT_USE_UNKNOWN] = 2, [RDT_USE_TIED] = 1, [RDT_USE_IN] = 1, [RDT_USE_BASE] = 0};
    return probes[use];
}

static void wish_probes(explorer *self) {
    const rdt_candidates *field = self->field;
    const rdt_space *space = field->space;
    size_t *ranked = self->scratch + field->count, good = rdt_candidates_rank(field, ranked);
    for (int i = 0; i < space->param_count; i++)
        for (int k = 0; k < space->param[i].value_count; k++)
            for (size_t at = 0; at < good && at < probes_of(self->values.of[i][k]); at++) {
                rdt_config swapped = field->entry[ranked[at]].candidate.config;
                swapped.value[i] = space->param[i].value[k];
                wish_nearest(self, &swapped);
            }
}

/* The best entry so far that has the value; the field's count if none is good. */
static size_t best_with(const explorer *self, int i, int64_t value) {
    const rdt_candidates *field = self->field;
    size_t *ranked = self->scratch + field->count, good = rdt_candidates_rank(field, ranked);
    for (size_t at = 0; at < good; at++)
        if (field->entry[ranked[at]].candidate.config.value[i] == value) return ranked[at];
    return field->count;
}

/* Moves the values whose probes beat the best before to those that are explored. Lists the best
 * of each in `near`; returns how many. */
static size_t take_in(explorer *self, double best_ns, size_t *near) {
    const rdt_space *space = self->field->space;
    size_t count = 0;
    for (int i = 0; i < space->param_count; i++)
        for (int k = 0; k < space->param[i].value_count; k++) {
            rdt_use *use = &self->values.of[i][k];
            if (*use != RDT_USE_UNKNOWN && *use != RDT_USE_TIED) continue;
            size_t best = best_with(self, i, space->param[i].value[k]);
            if (best == self->field->count ||
                self->field->entry[best].median_ns > best_ns * worth_margin)
                continue;
            *use = RDT_USE_IN;
            near[count++] = best;
        }
    return count;
}

/* Looks around the probes that beat the best before them; where one is far better, as much
 * again as was looked at so far. */
static redtune_status follow_probes(explorer *self, double best_ns, redtune_error *err) {
    size_t near[RDT_PARAM_MAX * RDT_PARAM_VALUE_MAX];
    const size_t before = self->most, near_count = take_in(self, best_ns, near);
    if (!near_count) return REDTUNE_OK;
    list_explored(self);
    for (size_t i = 0; i < near_count; i++) {
        self->most += AROUND_PROBE;
        wish_around(self, near[i]);
    }
    redtune_status status = grant(self, err);
    if (self->field->best_ns < best_ns * wrong_margin) self->most += before;
    return status ? status : move_on(self, 0, err);
}

/* Has the kernels made of what would be probed now, while other points are measured. */
static void prepare_probes(const explorer *self) {
    explorer ahead = *self;
    ahead.wish_count = 0;
    wish_probes(&ahead);
    rdt_candidates_prepare(self->field, ahead.wish, ahead.wish_count, true);
}

/* Tries the best with the values that are not explored, as far as they are not known to lose. */
static redtune_status probe(explorer *self, redtune_error *err) {
    const double best_ns = self->field->best_ns;
    if (is_late(self->field) || !(best_ns > 0)) return REDTUNE_OK;
    wish_probes(self);
    redtune_status status = grant(self, err);
    return status ? status : follow_probes(self, best_ns, err);
}

static redtune_status look_around(explorer *self, redtune_error *err) {
    redtune_status status = begin(self, err);
    if (!status) prepare_probes(self);
    if (!status) status = move_on(self, self->most / RELAUNCH_SHARE, err);
    if (!status && !is_late(self->field)) {
        prepare_probes(self);
        wish_relaunched(self);
        status = grant(self, err);
    }
    if (!status) status = move_on(self, 0, err);
    return status ? status : probe(self, err);
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
    explorer self = {.strategy = strategy, .field = field, .random = start_random(field->search)};
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
    for (size_t i = 0; !status && i < field->count && !is_late(field); i += STRIDE) {
        size_t count = field->count - i < STRIDE ? field->count - i : STRIDE;
        status = rdt_candidates_measure(field, indices + i, count, strategy->samples, err);
    }
    free(indices);
    return status;
}

/* Of configs that share a kernel one stands for all. */
redtune_status rdt_explore_prepare(const rdt_candidates *field, redtune_error *err) {
    rdt_values values = {{{0}}};
    const bool all = field->search->strategy->extent == RDT_EXTENT_DISTINCT;
    size_t *wanted = malloc(field->count * sizeof *wanted), count = 0;
    if (!wanted) return rdt_fail_memory(err, field->count * sizeof *wanted);
    redtune_status status = rdt_values_judge(field->search, &values, err);
    for (size_t i = 0; !status && i < field->count; i++) {
        const rdt_config *each = &field->entry[i].candidate.config;
        if (!all && rdt_values_least(&values, field->space, each) < RDT_USE_BASE) continue;
        if (count && rdt_config_same_kernel(field->space, each,
                                            &field->entry[wanted[count - 1]].candidate.config))
            continue;
        wanted[count++] = i;
    }
    if (!status) rdt_candidates_prepare(field, wanted, count, false);
    free(wanted);
    return status;
}
