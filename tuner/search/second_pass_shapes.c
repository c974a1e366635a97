/* Second pass over shapes: what has won at the larger shapes beside one, tried at it.
 *
 * A shape is searched when those with fewer elements or fewer results are known. This pass goes
 * back and brings it the winners of the two or three that came later. Each gets a few samples here,
 * and those of a last round if these are as good as any. Only shapes that this pass has left behind
 * lend, and crossovers take fewer samples than a winner has: so what it asks for does not depend on
 * whether it was run before. */
#include "tuner/search/second_pass_shapes.h"

#include <stdlib.h>
#include "tuner/search/candidates.h"
#include "tuner/search/plane.h"
#include "tuner/search/similar.h"

/* Times the best time of as few samples: a config that is slower does not win. */
static const double near_margin = 1.03;

/* The shapes beside the one whose turn it is, of those that were searched after it. */
static rdt_search search_at(rdt_sweep *sweep, size_t turn) {
    const redtune_problem *here = &sweep->problems[sweep->order[turn]];
    rdt_search search = rdt_sweep_search(sweep, here, RDT_CACHE_COLD);
    rdt_beside beside = {{NULL}};
    for (size_t i = turn + 1; i < sweep->count; i++)
        rdt_plane_add(&beside, here, &sweep->problems[sweep->order[i]]);
    for (int side = 0; side < RDT_SIDE_COUNT; side++)
        if (beside.side[side] && rdt_trials_at(search.known, beside.side[side]))
            search.similar[search.similar_count++] =
                (rdt_similar){search.known, *beside.side[side], -1};
    return search;
}

/* The points that the search has explored here, and behind them the winners. */
static redtune_status gather_points(const rdt_search *search, rdt_point **out, size_t *explored,
                                    size_t *count, redtune_error *err) {
    redtune_status status = rdt_candidates_list_explored(search, RDT_SIMILAR_MAX, out, count, err);
    *explored = *count;
    for (size_t i = 0; !status && i < search->similar_count; i++) {
        bool found = false;
        status = rdt_similar_winner(search, &search->similar[i], *out + *count, &found, err);
        *count += found;
    }
    return status;
}

/* Of these points those that are near the best. */
static size_t choose(const rdt_candidates *candidates, const rdt_point *points, size_t count,
                     size_t *out) {
    size_t chosen = 0;
    for (size_t i = 0; i < count; i++) {
        const long at = rdt_candidates_find(candidates, &points[i]);
        const rdt_entry *each = at >= 0 ? &candidates->entry[at] : NULL;
        if (each && each->samples && each->median_ns <= near_margin * candidates->best_ns)
            out[chosen++] = (size_t)at;
    }
    return chosen;
}

static redtune_status try_winners(const rdt_search *search, rdt_search_count *count,
                                  redtune_error *err) {
    rdt_candidates candidates = {.entry = NULL};
    rdt_point *points = NULL;
    size_t explored = 0, point_count = 0, near[RDT_SIMILAR_MAX];
    redtune_status status = gather_points(search, &points, &explored, &point_count, err);
    if (!status) status = rdt_candidates_open(search, points, point_count, &candidates, err);
    if (!status)
        status = rdt_candidates_measure(&candidates, NULL, candidates.count,
                                        search->strategy->samples, err);
    if (!status) {
        const size_t chosen = choose(&candidates, points + explored, point_count - explored, near);
        status = rdt_candidates_measure(&candidates, near, chosen,
                                        rdt_strategy_samples(search->strategy), err);
    }
    *count = candidates.now;
    rdt_candidates_close(&candidates);
    free(points);
    return status;
}

redtune_status rdt_second_pass_shapes(rdt_sweep *sweep, redtune_error *err) {
    redtune_status status = REDTUNE_OK;
    if (rdt_strategy_explores_all(sweep->strategy) || !sweep->count) return REDTUNE_OK;
    for (size_t turn = sweep->count - 1; !status && turn-- > 0;) {
        const rdt_search search = search_at(sweep, turn);
        rdt_finding found[RDT_CACHE_STATES] = {{0}};
        if (rdt_budget_is_late(search.budget) || !search.similar_count ||
            !rdt_trials_at(search.known, search.problem))
            continue;
        const size_t before = search.known->count;
        status = try_winners(&search, &found[RDT_CACHE_COLD].now, err);
        if (status || search.known->count == before) continue;
        status = rdt_sweep_find(sweep, search.problem, RDT_CACHE_COLD, &found[RDT_CACHE_COLD], err);
        if (!status) sweep->sink->tuned(sweep->sink->user, sweep->order[turn], found, true);
    }
    return status;
}
