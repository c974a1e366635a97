/* Second pass: a problem that was searched, looked at again with the best configs of the next
 * larger size.
 *
 * A sweep goes up, so a search knows only smaller sizes. This pass goes down and carries the
 * winners the other way. It opens a search on the configs that the first one measured and the lent
 * ones, and runs the rounds anew. Where nothing lent is new, all is known and nothing is measured.
 */
#include "tuner/search/second_pass.h"

#include <stdlib.h>
#include "tuner/search/candidates.h"
#include "tuner/search/seeds.h"

enum { LENT = 3 }; /* points of the next size */

/* The trials of the problem and of the next one; owned here. */
typedef struct notes {
    rdt_trials known, other, next;
} notes;

static void free_notes(notes *notes) {
    rdt_trials_free(&notes->known);
    rdt_trials_free(&notes->other);
    rdt_trials_free(&notes->next);
}

static redtune_status take_notes(const rdt_sweep *sweep, size_t i, rdt_cache_state cache,
                                 notes *out, redtune_error *err) {
    const uint64_t here = sweep->problems[i].count, next = sweep->problems[i + 1].count;
    redtune_status status = rdt_trials_select(&sweep->known[cache], here, &out->known, err);
    if (!status) status = rdt_trials_select(&sweep->known[!cache], here, &out->other, err);
    if (!status) status = rdt_trials_select(&sweep->known[cache], next, &out->next, err);
    return status;
}

/* The points that the search has looked at here, and behind them those that the next size lends.
 * One that only a crossover measured does not count: a tune that goes on after a stop has it,
 * another not yet. */
static redtune_status gather_points(const rdt_search *search, const notes *notes, rdt_point **out,
                                    size_t *count, redtune_error *err) {
    const rdt_spaces *spaces = rdt_codegen_spaces(search->codegen);
    const int careful = rdt_strategy_samples(search->strategy);
    size_t room = notes->known.count + LENT, lent = 0;
    rdt_point *points = calloc(room, sizeof *points);
    if (!points) return rdt_fail_memory(err, room * sizeof *points);
    *count = 0;
    for (size_t i = 0; i < notes->known.count; i++) {
        const rdt_trial *trial = &notes->known.trial[i];
        if (trial->outcome == RDT_OUTCOME_GOOD && trial->samples <= search->strategy->samples)
            *count += !rdt_point_read(spaces, trial->family, trial->config, &points[*count], NULL);
    }
    redtune_status status =
        rdt_seeds_best(spaces, &notes->next, -1, careful, LENT, points + *count, &lent, err);
    *count += lent;
    if (status)
        free(points);
    else
        *out = points;
    return status;
}

static redtune_status search_again(const rdt_search *search, const notes *notes,
                                   rdt_search_count *count, redtune_error *err) {
    rdt_candidates candidates;
    rdt_point *points = NULL;
    size_t point_count = 0;
    redtune_status status = gather_points(search, notes, &points, &point_count, err);
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
    notes notes = {.known = {0}};
    if (search.is_late && search.is_late(sweep)) return REDTUNE_OK;
    sweep->current = i;
    redtune_status status = take_notes(sweep, i, cache, &notes, err);
    search.known = &notes.known;
    search.verified = &notes.other;
    if (!status && notes.known.count && notes.next.count)
        status = search_again(&search, &notes, count, err);
    free_notes(&notes);
    return status;
}
