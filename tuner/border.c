/* Border: between two neighbouring sizes with different winners, the size at which one takes over
 * from the other. */
#include "tuner/border.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "model/winner.h"
#include "tuner/field.h"
#include "tuner/moves.h"
#include "tuner/near.h"

enum {
    HALVINGS = 2,      /* sizes that are a factor of 2 apart: the border lies within 2^(1/8) */
    NEIGHBOURS = 4,    /* times: sizes further apart have more than one border between them */
    LOOK_SAMPLES = 9,  /* of a winner at the other's size */
    RIVAL_SAMPLES = 3, /* of each rival at a size between, at first */
    RIVALS = 26,       /* the two winners, and of the rest of the best of both ends the better */
    BEST = 8,          /* of each end */
    RELAUNCHED = 3,    /* of these, with launches a step apart */
};

/* A size, and how the two winners compare there. */
typedef struct place {
    uint64_t count;
    rdt_trial side[2]; /* the winners of the lower and the upper end, here */
    bool known[2];     /* false: no candidate here, or not good */
} place;

typedef struct border {
    rdt_series *series;
    rdt_config config[RIVALS]; /* the winner of the lower end, and of the upper; their rivals */
    size_t count;
} border;

/* Which of the two is faster beyond noise: -1 the lower end's, 1 the upper end's, 0 neither. */
static int compare(const place *at) {
    if (!at->known[0] || !at->known[1]) return at->known[0] ? -1 : at->known[1] ? 1 : 0;
    double difference = at->side[0].median_ns - at->side[1].median_ns;
    if (fabs(difference) <= rdt_winner_noise_ns(&at->side[0], &at->side[1])) return 0;
    return difference < 0 ? -1 : 1;
}

static redtune_status measure_all(rdt_field *field, int samples, redtune_error *err) {
    size_t indices[RIVALS + 1], count = 0;
    for (; count < field->count; count++) indices[count] = count;
    return rdt_field_measure(field, indices, count, samples, err);
}

/* At an end: both winners, and the default. */
static redtune_status look(rdt_field *field, redtune_error *err) {
    return measure_all(field, LOOK_SAMPLES, err);
}

/* Between: what hardly differs at an end may differ much here, where the grid fills the GPU
 * otherwise, so the rivals are narrowed down to a few that are measured as carefully as in a
 * search. */
static redtune_status compete(rdt_field *field, redtune_error *err) {
    const rdt_round rounds[] = {{6, 9}, {3, rdt_strategy_samples(field->search->strategy)}, {0, 0}};
    redtune_status status = measure_all(field, RIVAL_SAMPLES, err);
    return status ? status : rdt_search_narrow(field, rounds, err);
}

/* Measures so many of the configs, by one of the above, at the place's size. */
static redtune_status measure(const border *self, place *at, size_t config_count,
                              redtune_status (*how)(rdt_field *field, redtune_error *err),
                              redtune_error *err) {
    rdt_series *series = self->series;
    redtune_problem problem = series->problems[0];
    problem.count = at->count;
    const rdt_search_hooks hooks = rdt_series_hooks_of(series);
    rdt_search search = rdt_series_search(series, &problem, RDT_CACHE_COLD, &hooks);
    rdt_trials known = {0};
    rdt_field field = {.entry = NULL};
    redtune_status status =
        rdt_trials_select(&series->known[RDT_CACHE_COLD], problem.count, &known, err);
    search.known = &known;
    if (!status) status = rdt_field_open_some(&search, self->config, config_count, &field, err);
    if (!status) status = how(&field, err);
    for (int side = 0; !status && side < 2; side++) {
        long entry = rdt_field_find(&field, &self->config[side]);
        at->known[side] = entry >= 0 && field.entry[entry].samples > 0;
        if (!at->known[side]) continue;
        at->side[side] = (rdt_trial){.median_ns = field.entry[entry].median_ns,
                                     .spread_ns = field.entry[entry].spread_ns,
                                     .samples = field.entry[entry].samples};
    }
    rdt_field_close(&field);
    rdt_trials_free(&known);
    return status;
}

/* On the log scale. */
static uint64_t middle(uint64_t low, uint64_t high) {
    return (uint64_t)llround(sqrt((double)low) * sqrt((double)high));
}

static redtune_status halve(const border *self, place low, place high, redtune_error *err) {
    for (int i = 0; i < HALVINGS; i++) {
        place between = {.count = middle(low.count, high.count)};
        if (between.count <= low.count || between.count >= high.count) return REDTUNE_OK;
        redtune_status status = measure(self, &between, self->count, compete, err);
        int faster = compare(&between);
        if (status || !faster) return status;
        if (faster < 0)
            low = between;
        else
            high = between;
    }
    return REDTUNE_OK;
}

/* The winner of a problem, as a config. */
static redtune_status find_winner(const rdt_series *series, uint64_t count, rdt_config *out,
                                  bool *found, redtune_error *err) {
    const rdt_trials *all = &series->known[RDT_CACHE_COLD];
    const rdt_trial **trials = malloc((all->count + 1) * sizeof *trials);
    size_t trial_count = 0;
    rdt_winner winner = {0};
    if (!trials) return rdt_fail_memory(err, (all->count + 1) * sizeof *trials);
    for (size_t i = 0; i < all->count; i++)
        if (all->trial[i].problem.count == count) trials[trial_count++] = &all->trial[i];
    redtune_status status = rdt_winner_choose(trials, trial_count, &winner, err);
    const rdt_space *space = rdt_codegen_space(series->codegen, series->family);
    *out = (rdt_config){{0}};
    *found =
        !status && winner.trial && !rdt_config_parse_whole(space, winner.trial->config, out, NULL);
    free(trials);
    return status;
}

static void add_rival(border *self, const rdt_config *config) {
    for (size_t i = 0; i < self->count; i++)
        if (!memcmp(&self->config[i], config, sizeof *config)) return;
    if (self->count < RIVALS) self->config[self->count++] = *config;
}

/* A launch a step apart needs no other kernel, and differs little at the ends, but not here. */
static void add_relaunched(border *self, const rdt_space *space, const rdt_config *config) {
    rdt_config moved;
    for (int i = 0; i < space->param_count; i++)
        for (int step = -1; space->param[i].launch && step <= 1; step += 2)
            if (rdt_moves_step(space, config, i, step, &moved)) add_rival(self, &moved);
}

/* Of both ends alike, the better ones first. */
static redtune_status add_rivals(border *self, uint64_t low, uint64_t high, redtune_error *err) {
    const rdt_series *series = self->series;
    const rdt_space *space = rdt_codegen_space(series->codegen, series->family);
    rdt_config best[2][BEST];
    size_t count[2] = {0};
    redtune_status status = REDTUNE_OK;
    for (int end = 0; !status && end < 2; end++) {
        rdt_trials trials = {0};
        status = rdt_trials_select(&series->known[RDT_CACHE_COLD], end ? high : low, &trials, err);
        if (!status) status = rdt_near_best(space, &trials, 0, BEST, best[end], &count[end], err);
        rdt_trials_free(&trials);
    }
    for (size_t i = 0; !status && i < RELAUNCHED; i++)
        for (int end = 0; end < 2; end++)
            if (i < count[end]) add_relaunched(self, space, &best[end][i]);
    for (size_t i = 0; !status && i < BEST; i++)
        for (int end = 0; end < 2; end++)
            if (i < count[end]) add_rival(self, &best[end][i]);
    return status;
}

static redtune_status cross(rdt_series *series, size_t i, redtune_error *err) {
    border self = {.series = series, .count = 2};
    place low = {.count = series->problems[i].count};
    place high = {.count = series->problems[i + 1].count};
    bool found[2] = {false};
    if (low.count < 1 || high.count / low.count > NEIGHBOURS) return REDTUNE_OK;
    redtune_status status = find_winner(series, low.count, &self.config[0], &found[0], err);
    if (!status) status = find_winner(series, high.count, &self.config[1], &found[1], err);
    if (status || !found[0] || !found[1] ||
        !memcmp(&self.config[0], &self.config[1], sizeof self.config[0]))
        return status;
    series->current = i;
    series->stage = "border";
    status = measure(&self, &low, 2, look, err);
    if (!status) status = measure(&self, &high, 2, look, err);
    if (status || (!compare(&low) && !compare(&high))) return status;
    status = add_rivals(&self, low.count, high.count, err);
    return status ? status : halve(&self, low, high, err);
}

redtune_status rdt_border_run(rdt_series *series, redtune_error *err) {
    redtune_status status = REDTUNE_OK;
    for (size_t i = 0; !status && i + 1 < series->count; i++) status = cross(series, i, err);
    return status;
}
