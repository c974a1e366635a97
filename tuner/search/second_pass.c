/* Second pass: a problem that was searched, searched again with the best configs of the next
 * larger size.
 *
 * A sweep goes up, so a search knows only smaller sizes. This pass goes down and carries the
 * winners the other way: it measures them beside the configs of the first search, and runs the
 * rounds anew. Where none of them is new, all is known and nothing is measured. */
#include "tuner/search/second_pass.h"

#include <stdlib.h>
#include "tuner/search/candidates.h"
#include "tuner/search/seeds.h"

enum { FROM_NEXT = 3 }; /* points of the next size */

/* The points that the search has explored here, and behind them the best of the next size. */
static redtune_status gather_points(const rdt_search *search, const rdt_similar *next,
                                    rdt_point **out, size_t *count, redtune_error *err) {
    size_t added = 0;
    redtune_status status = rdt_candidates_list_explored(search, FROM_NEXT, out, count, err);
    if (!status) status = rdt_seeds_best(search, next, -1, FROM_NEXT, *out + *count, &added, err);
    *count += added;
    return status;
}

static redtune_status search_again(const rdt_search *search, const rdt_similar *next,
                                   rdt_search_count *count, redtune_error *err) {
    rdt_candidates candidates;
    rdt_point *points = NULL;
    size_t point_count = 0;
    redtune_status status = gather_points(search, next, &points, &point_count, err);
    if (!status) status = rdt_candidates_open(search, points, point_count, &candidates, err);
    free(points);
    if (status) return status;
    const int samples = search->strategy->samples;
    status = rdt_candidates_measure(&candidates, NULL, candidates.count, samples, err);
    if (!status) status = rdt_search_rounds(&candidates, err);
    *count = candidates.now;
    rdt_candidates_close(&candidates);
    return status;
}

static redtune_status revisit(rdt_sweep *sweep, size_t i, rdt_cache_state cache, rdt_finding *out,
                              redtune_error *err) {
    rdt_search search = rdt_sweep_search(sweep, &sweep->problems[i], cache);
    const rdt_similar next = {search.known, sweep->problems[i + 1], -1};
    redtune_status status = REDTUNE_OK;
    search.verified = &sweep->known[!cache];
    if (!rdt_budget_is_late(search.budget) && rdt_trials_at(search.known, search.problem) &&
        rdt_trials_at(next.trials, &next.problem))
        status = search_again(&search, &next, &out->now, err);
    return status ? status : rdt_sweep_find(sweep, search.problem, cache, out, err);
}

/* From the large sizes to the small ones; a search of every point has nothing to learn. */
redtune_status rdt_second_pass_run(rdt_sweep *sweep, redtune_error *err) {
    redtune_status status = REDTUNE_OK;
    if (rdt_strategy_explores_all(sweep->strategy) || !sweep->count) return REDTUNE_OK;
    for (size_t i = sweep->count - 1; !status && i-- > 0;) {
        const size_t states = rdt_sweep_searches(sweep->facts, &sweep->problems[i]);
        rdt_finding found[RDT_CACHE_STATES] = {{0}};
        size_t tried = 0;
        for (size_t state = 0; !status && state < states; state++) {
            status = revisit(sweep, i, (rdt_cache_state)state, &found[state], err);
            tried += found[state].now.measured + found[state].now.failed;
        }
        if (!status && tried) sweep->sink->tuned(sweep->sink->user, i, found, true);
    }
    return status;
}
