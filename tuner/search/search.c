/* Search: the measurements that find the fastest point for one problem. */
#include "tuner/search/search.h"

#include <stdlib.h>
#include "tuner/search/candidates.h"
#include "tuner/search/lent.h"
#include "tuner/search/plane.h"

/* The best `keep` good entries, and behind them, if none of them is a default, the best default. At
 * a shape, of those that may gain there. */
static size_t narrow(const rdt_candidates *candidates, size_t keep, size_t *indices) {
    size_t good = rdt_candidates_rank(candidates, indices), first = 0;
    if (rdt_plane_has(candidates->search->problem) &&
        !rdt_strategy_explores_all(candidates->search->strategy))
        good = rdt_lent_prefer(candidates, indices, good);
    if (keep >= good) return good;
    while (first < good && !candidates->entry[indices[first]].is_default) first++;
    if (first >= keep && first < good) indices[keep++] = indices[first];
    return keep;
}

static redtune_status none_good(const rdt_candidates *candidates, redtune_error *err) {
    char problem[RDT_PROBLEM_TEXT_BYTES];
    rdt_problem_describe(candidates->search->problem, problem);
    return rdt_fail(
        err, REDTUNE_WRONG, 0,
        "cannot tune %s: none of %zu candidates compiles and gives the right result; the "
        "first: %s",
        problem, candidates->tried,
        *candidates->first_cause ? candidates->first_cause : "no cause");
}

redtune_status rdt_search_rounds(rdt_candidates *candidates, redtune_error *err) {
    const rdt_strategy *strategy = candidates->search->strategy;
    size_t *indices = malloc(candidates->count * sizeof *indices);
    if (!indices) return rdt_fail_memory(err, candidates->count * sizeof *indices);
    redtune_status status = REDTUNE_OK;
    for (const rdt_round *round = strategy->rounds; !status && round->keep; round++) {
        size_t count = narrow(candidates, round->keep, indices);
        status = rdt_candidates_measure(candidates, indices, count, round->samples, err);
    }
    if (!status && !rdt_candidates_rank(candidates, indices)) status = none_good(candidates, err);
    free(indices);
    return status;
}

redtune_status rdt_search_run(const rdt_search *search, rdt_search_count *count,
                              redtune_error *err) {
    rdt_candidates candidates;
    *count = (rdt_search_count){0};
    redtune_status status = rdt_candidates_open(search, NULL, 0, &candidates, err);
    if (status) return status;
    status = search->strategy->explore(&candidates, err);
    if (!status) status = rdt_search_rounds(&candidates, err);
    *count = candidates.now;
    rdt_candidates_close(&candidates);
    return status;
}
