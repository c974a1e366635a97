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

/* The trials of the problem and of the next one; owned here. */
typedef struct history {
    rdt_trials known, other, next;
} history;

static void free_history(history *history) {
    rdt_trials_free(&history->known);
    rdt_trials_free(&history->other);
    rdt_trials_free(&history->next);
}

static redtune_status select_history(const rdt_sweep *sweep, size_t i, rdt_cache_state cache,
                                     history *out, redtune_error *err) {
    const uint64_t here = sweep->problems[i].count, next = sweep->problems[i + 1].count;
    redtune_status status = rdt_trials_select(&sweep->known[cache], here, &out->known, err);
    if (!status) status = rdt_trials_select(&sweep->known[!cache], here, &out->other, err);
    if (!status) status = rdt_trials_select(&sweep->known[cache], next, &out->next, err);
    return status;
}

/* The points that the search has explored here, and behind them the best of the next size.
 * One that only a crossover measured does not count: a tune that goes on after a stop has it,
 * another not yet. */
static redtune_status gather_points(const rdt_search *search, const history *history,
                                    rdt_point **out, size_t *count, redtune_error *err) {
    const rdt_spaces *spaces = rdt_codegen_spaces(search->codegen);
    const int careful = rdt_strategy_samples(search->strategy);
    size_t room = history->known.count + FROM_NEXT, added = 0;
    rdt_point *points = calloc(room, sizeof *points);
    if (!points) return rdt_fail_memory(err, room * sizeof *points);
    *count = 0;
    for (size_t i = 0; i < history->known.count; i++) {
        const rdt_trial *trial = &history->known.trial[i];
        if (trial->outcome == RDT_OUTCOME_GOOD && trial->samples <= search->strategy->samples)
            *count += !rdt_point_read(spaces, trial->family, trial->config, &points[*count], NULL);
    }
    redtune_status status = rdt_seeds_best(spaces, &history->next, -1, careful, FROM_NEXT,
                                           points + *count, &added, err);
    *count += added;
    if (status)
        free(points);
    else
        *out = points;
    return status;
}

static redtune_status search_again(const rdt_search *search, const history *history,
                                   rdt_search_count *count, redtune_error *err) {
    rdt_candidates candidates;
    rdt_point *points = NULL;
    size_t point_count = 0;
    redtune_status status = gather_points(search, history, &points, &point_count, err);
    if (!status) status = rdt_candidates_open_some(search, points, point_count, &candidates, err);
    free(points);
    if (status) return status;
    size_t *all = malloc(candidates.count * sizeof *all);
    if (!all) status = rdt_fail_memory(err, candidates.count * sizeof *all);
    for (size_t i = 0; !status && i < candidates.count; i++) all[i] = i;
    if (!status)
        status = rdt_candidates_measure(&candidates, all, candidates.count,
                                        search->strategy->samples, err);
    if (!status) status = rdt_search_rounds(&candidates, err);
    count->measured += candidates.now.measured;
    count->failed += candidates.now.failed;
    free(all);
    rdt_candidates_close(&candidates);
    return status;
}

redtune_status rdt_second_pass_run(rdt_sweep *sweep, size_t i, rdt_cache_state cache,
                                   rdt_search_count *count, redtune_error *err) {
    rdt_search search = rdt_sweep_search(sweep, &sweep->problems[i], cache);
    history history = {.known = {0}};
    if (search.is_late && search.is_late(sweep)) return REDTUNE_OK;
    sweep->current = i;
    redtune_status status = select_history(sweep, i, cache, &history, err);
    search.known = &history.known;
    search.verified = &history.other;
    if (!status && history.known.count && history.next.count)
        status = search_again(&search, &history, count, err);
    free_history(&history);
    return status;
}
