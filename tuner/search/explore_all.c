/* Explore all: every point is measured. Where a budget may not suffice for that, the likely ones
 * come first: what an adaptive exploration chooses, and of the others those of the least
 * estimate. */
#include <stdlib.h>
#include "tuner/search/explore.h"

/* Where an entry comes among those that are left. */
typedef struct place {
    size_t index;
    double estimate_ns; /* 0: its family has none; such families have few points or are alone */
    uint64_t random;    /* so that no part of a space is left out */
} place;

static int compare_likelihood(const void *a, const void *b) {
    const place *x = a, *y = b;
    if (x->estimate_ns != y->estimate_ns) return x->estimate_ns < y->estimate_ns ? -1 : 1;
    return (x->random > y->random) - (x->random < y->random);
}

/* The entries that were not tried; returns how many. */
static size_t list_untried(const rdt_candidates *candidates, size_t *indices) {
    size_t count = 0;
    for (size_t i = 0; i < candidates->count; i++)
        if (!candidates->entry[i].tried) indices[count++] = i;
    return count;
}

static redtune_status put_likely_first(const rdt_candidates *candidates, size_t *indices,
                                       size_t count, redtune_error *err) {
    const rdt_search *search = candidates->search;
    const rdt_case at = {search->problem, search->facts};
    rdt_random random = rdt_explore_random(search);
    place *places = malloc((count + 1) * sizeof *places);
    if (!places) return rdt_fail_memory(err, (count + 1) * sizeof *places);
    for (size_t i = 0; i < count; i++) {
        const rdt_point *point = &candidates->entry[indices[i]].candidate.point;
        places[i] = (place){indices[i], rdt_estimate_time_or_none(search->codegen, at, point),
                            rdt_random_next(&random)};
    }
    qsort(places, count, sizeof *places, compare_likelihood);
    for (size_t i = 0; i < count; i++) indices[i] = places[i].index;
    free(places);
    return REDTUNE_OK;
}

static redtune_status measure_untried(rdt_candidates *candidates, size_t *indices,
                                      redtune_error *err) {
    enum { STRIDE = 32 };
    const rdt_budget *budget = candidates->search->budget;
    const int samples = candidates->search->strategy->samples;
    const size_t all = list_untried(candidates, indices);
    redtune_status status = REDTUNE_OK;
    if (rdt_budget_is_limited(budget)) status = put_likely_first(candidates, indices, all, err);
    for (size_t i = 0; !status && i < all && !rdt_budget_is_late(budget); i += STRIDE) {
        const size_t count = all - i < STRIDE ? all - i : STRIDE;
        status = rdt_candidates_measure(candidates, indices + i, count, samples, err);
    }
    return status;
}

redtune_status rdt_explore_all(rdt_candidates *candidates, redtune_error *err) {
    const rdt_strategy *strategy = candidates->search->strategy;
    const bool limited = rdt_budget_is_limited(candidates->search->budget);
    size_t *indices = malloc(candidates->count * sizeof *indices);
    if (!indices) return rdt_fail_memory(err, candidates->count * sizeof *indices);
    candidates->planned = rdt_strategy_count(strategy, candidates->count);
    redtune_status status = limited ? rdt_explore_adaptive(candidates, err)
                                    : rdt_candidates_measure(candidates, &candidates->baseline, 1,
                                                             strategy->samples, err);
    if (!status) status = measure_untried(candidates, indices, err);
    candidates->now.points = candidates->count;
    candidates->now.untried = list_untried(candidates, indices);
    free(indices);
    return status;
}
