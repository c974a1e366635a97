/* Similar: the problems that a search starts from. */
#include "tuner/search/similar.h"

#include <stdlib.h>
#include "model/winner.h"
#include "tuner/search/plane.h"

/* problem: NULL: nothing is added. */
static void add(rdt_search *search, const rdt_trials *trials, const redtune_problem *problem,
                int shift) {
    if (problem && rdt_trials_at(trials, problem))
        search->similar[search->similar_count++] = (rdt_similar){trials, *problem, shift};
}

/* The nearest searched problem below, or above; NULL: not found. */
static const redtune_problem *find_nearest(const rdt_trials *trials, const redtune_problem *problem,
                                           bool above) {
    enum { SEARCHED = 13 }; /* trials: where there are fewer, only some configs were measured */
    const int side = above ? 1 : -1;
    const redtune_problem *nearest = NULL;
    for (size_t i = 0; i < trials->count; i++) {
        const redtune_problem *each = &trials->trial[i].problem;
        if (side * rdt_problem_compare_extents(each, problem) <= 0 ||
            (nearest && side * rdt_problem_compare_extents(each, nearest) >= 0))
            continue;
        if (rdt_trials_at(trials, each) >= SEARCHED) nearest = each;
    }
    return nearest;
}

/* The nearest shapes whose winners are known: timed with some care. */
static void add_beside(rdt_search *search, const rdt_trials *trials) {
    enum { CAREFUL = 9 }; /* samples */
    rdt_beside beside = {{NULL}};
    for (size_t i = 0; i < trials->count; i++) {
        const rdt_trial *each = &trials->trial[i];
        if (each->outcome == RDT_OUTCOME_GOOD && each->samples >= CAREFUL)
            rdt_plane_add(&beside, search->problem, &each->problem);
    }
    for (int side = 0; side < RDT_SIDE_COUNT; side++) {
        const bool less = side == RDT_SIDE_LESS_COUNT || side == RDT_SIDE_LESS_RESULTS;
        add(search, trials, beside.side[side], side == RDT_SIDE_HERE ? 0 : less ? 1 : -1);
    }
}

void rdt_similar_find(const rdt_sweep *sweep, rdt_search *search) {
    const redtune_problem *here = search->problem;
    const rdt_cache_state cache = search->cache;
    const rdt_trials *same = &sweep->known[cache], *other = &sweep->known[!cache];
    if (cache == RDT_CACHE_WARM) add(search, other, here, 0);
    add(search, &sweep->alike[cache], here, 0);
    if (rdt_plane_has(here)) {
        add_beside(search, same);
    } else {
        add(search, same, find_nearest(same, here, false), 1);
        add(search, same, find_nearest(same, here, true), -1);
    }
}

redtune_status rdt_similar_winner(const rdt_search *search, const rdt_similar *similar,
                                  rdt_point *out, bool *found, redtune_error *err) {
    const rdt_trial **trials = NULL;
    rdt_winner winner = {.trial = NULL};
    size_t count = 0;
    redtune_status status =
        rdt_trials_list(similar->trials, &similar->problem, &trials, &count, err);
    if (!status) status = rdt_winner_choose(trials, count, &winner, err);
    *found = !status && winner.trial &&
             !rdt_point_read(rdt_codegen_spaces(search->codegen), winner.trial->family,
                             winner.trial->config, out, NULL);
    free(trials);
    return status;
}
