/* Crossovers between shapes: in each direction of a plane, between two neighbours with different
 * winners.
 *
 * All ends come first, then the middles: what is measured at an end decides on the middles alone,
 * by so few samples that no winner there changes. So a tune that goes on after a stop chooses the
 * same middles. A middle is searched from both winners: what fits an end exactly may not fit there.
 * While one is searched, kernels for the next are made. */
#include "tuner/search/crossover_shapes.h"

#include <math.h>
#include <stdlib.h>
#include "model/winner.h"
#include "tuner/search/candidates.h"
#include "tuner/search/crossover.h"
#include "tuner/search/explore.h"
#include "tuner/search/plane.h"
#include "tuner/search/similar.h"

enum {
    END_SAMPLES = 7,     /* of another shape's winner: less than half of a last round's */
    SHAPES_A_MIDDLE = 2, /* the plane's, for each middle at most */
};

/* What the other winner costs at an end, as a share: less gains nothing. */
static const double worth_gaining = 0.02;

/* Two neighbours, by their indices, and their winners. */
typedef struct crossing {
    size_t end[2];
    rdt_axis axis;
    rdt_point winner[2];
    double gain; /* what the better of the two gains at the ends together, as a share of the time */
} crossing;

typedef struct crossings {
    crossing *crossing;
    size_t count;
} crossings;

/* The share of the time that `own` gains over `other`; 0 within noise, and all where that is no
 * candidate. */
static double gain_of(const rdt_trial *own, const rdt_trial *other) {
    if (!own->samples || !other->samples) return own->samples ? 1 : 0;
    const double gain_ns = other->median_ns - own->median_ns;
    return gain_ns > rdt_winner_noise_ns(own, other) ? gain_ns / own->median_ns : 0;
}

static redtune_status measure_ends(rdt_sweep *sweep, crossing *at, redtune_error *err) {
    redtune_status status = REDTUNE_OK;
    at->gain = 0;
    for (int i = 0; !status && i < 2; i++) {
        rdt_trial side[2] = {{.samples = 0}};
        status = rdt_crossover_measure(sweep, &sweep->problems[at->end[i]], at->winner, END_SAMPLES,
                                       side, err);
        const double gain = status ? 0 : gain_of(&side[i], &side[!i]);
        if (gain >= worth_gaining) at->gain += gain;
    }
    return status;
}

/* Every two neighbours with different winners; room for RDT_AXES of each problem. */
static void list(const rdt_sweep *sweep, const rdt_point *winners, const bool *found,
                 crossings *out) {
    for (size_t i = 0; i < sweep->count; i++)
        for (int axis = 0; axis < RDT_AXES; axis++) {
            const long next = rdt_plane_next(sweep->problems, sweep->count, i, (rdt_axis)axis);
            if (next < 0 || !found[i] || !found[next] ||
                rdt_point_same(&winners[i], &winners[next]))
                continue;
            out->crossing[out->count++] = (crossing){.end = {i, (size_t)next},
                                                     .axis = (rdt_axis)axis,
                                                     .winner = {winners[i], winners[next]}};
        }
}

static int compare_gains(const void *a, const void *b) {
    const crossing *x = a, *y = b;
    if (x->gain != y->gain) return x->gain > y->gain ? -1 : 1;
    if (x->end[0] != y->end[0]) return x->end[0] < y->end[0] ? -1 : 1;
    return (int)x->axis - (int)y->axis;
}

/* A problem between two ends, and its search. */
typedef struct middle {
    const crossing *at;
    redtune_problem problem;
} middle;

static rdt_search search_of(rdt_sweep *sweep, const middle *self) {
    rdt_search search = rdt_crossover_search(sweep, &self->problem);
    for (int i = 0; i < 2; i++)
        search.similar[search.similar_count++] =
            (rdt_similar){search.known, sweep->problems[self->at->end[i]], i ? -1 : 1};
    return search;
}

/* Lets the evaluator make kernels that this middle and the next may ask for. */
static redtune_status prepare_middles(rdt_sweep *sweep, const middle *middles, size_t count,
                                      redtune_error *err) {
    redtune_status status = REDTUNE_OK;
    for (size_t i = 0; !status && sweep->evaluator->prepare && i < count && i < 2; i++) {
        const rdt_search search = search_of(sweep, &middles[i]);
        if (!rdt_sweep_has_searched(&search)) status = rdt_explore_prepare(&search, err);
    }
    return status;
}

static redtune_status search_middle(rdt_sweep *sweep, const middle *self, redtune_error *err) {
    const rdt_search search = search_of(sweep, self);
    rdt_search_count measured;
    if (rdt_sweep_has_searched(&search)) return REDTUNE_OK;
    redtune_status status = rdt_search_run(&search, &measured, err);
    return status == REDTUNE_WRONG ? REDTUNE_OK : status; /* no candidate is good there */
}

/* Those with the most to gain; room for one of every SHAPES_A_MIDDLE shapes, rounded up. */
static size_t list_middles(const rdt_sweep *sweep, const crossings *all, middle *out) {
    const size_t most = (sweep->count + SHAPES_A_MIDDLE - 1) / SHAPES_A_MIDDLE;
    size_t count = 0;
    for (size_t i = 0; i < all->count && count < most && all->crossing[i].gain > 0; i++) {
        const crossing *each = &all->crossing[i];
        if (!rdt_plane_middle(&sweep->problems[each->end[0]], &sweep->problems[each->end[1]],
                              each->axis, &out[count].problem))
            continue;
        out[count++].at = each;
    }
    return count;
}

static redtune_status search_middles(rdt_sweep *sweep, const crossings *all, redtune_error *err) {
    middle *middles = calloc(sweep->count + 1, sizeof *middles);
    if (!middles) return rdt_fail_memory(err, (sweep->count + 1) * sizeof *middles);
    const size_t count = list_middles(sweep, all, middles);
    redtune_status status = REDTUNE_OK;
    for (size_t i = 0; !status && i < count; i++) {
        status = prepare_middles(sweep, middles + i, count - i, err);
        if (!status) status = search_middle(sweep, &middles[i], err);
    }
    free(middles);
    return status;
}

redtune_status rdt_crossover_shapes(rdt_sweep *sweep, redtune_error *err) {
    const size_t count = sweep->count;
    rdt_point *winners = calloc(count + 1, sizeof *winners);
    bool *found = calloc(count + 1, sizeof *found);
    crossings all = {.crossing = calloc(count * RDT_AXES + 1, sizeof *all.crossing)};
    redtune_status status = winners && found && all.crossing
                                ? REDTUNE_OK
                                : rdt_fail_memory(err, count * RDT_AXES * sizeof *all.crossing);
    for (size_t i = 0; !status && i < count; i++)
        status = rdt_crossover_winner(sweep, &sweep->problems[i], &winners[i], &found[i], err);
    if (!status) list(sweep, winners, found, &all);
    for (size_t i = 0; !status && i < all.count; i++)
        status = measure_ends(sweep, &all.crossing[i], err);
    if (!status) {
        qsort(all.crossing, all.count, sizeof *all.crossing, compare_gains);
        status = search_middles(sweep, &all, err);
    }
    free(all.crossing);
    free(found);
    free(winners);
    return status;
}
