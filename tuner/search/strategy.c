/* Strategy: how a search goes about it. */
#include "tuner/search/strategy.h"

#include <string.h>
#include "tuner/search/explore.h"
#include "redtune/tune.h"

/* docs/tuning.md says what each was seen to find. */
static const rdt_strategy table[] = {
    [REDTUNE_EFFORT_STANDARD] = {.name = "standard",
                                 .explore = rdt_explore_adaptive,
                                 .samples = 3,
                                 .exact = {0.10, 14, 28},
                                 .noisy = {0.22, 28, 48},
                                 .rounds = {{10, 9}, {5, 31}}},
    [REDTUNE_EFFORT_QUICK] = {.name = "quick",
                              .explore = rdt_explore_adaptive,
                              .samples = 3,
                              .exact = {0.09, 14, 28},
                              .noisy = {0.10, 14, 32},
                              .rounds = {{4, 15}}},
    [REDTUNE_EFFORT_EXHAUSTIVE] = {.name = "exhaustive",
                                   .explore = rdt_explore_all,
                                   .scope = RDT_SCOPE_DISTINCT,
                                   .samples = 3,
                                   .rounds = {{24, 9}, {6, 31}}},
};

const rdt_strategy *rdt_strategy_find(redtune_effort effort) {
    return (size_t)effort < sizeof table / sizeof *table ? &table[effort] : NULL;
}

int rdt_strategy_samples(const rdt_strategy *strategy) {
    int samples = strategy->samples;
    for (const rdt_round *round = strategy->rounds; round->keep; round++) samples = round->samples;
    return samples;
}

size_t rdt_strategy_count(const rdt_strategy *strategy, size_t points) {
    for (const rdt_round *round = strategy->rounds; round->keep; round++) points += round->keep;
    return points;
}

/* ---- names ----------------------------------------------------------------------------------- */

const char *redtune_effort_name(redtune_effort effort) {
    const rdt_strategy *strategy = rdt_strategy_find(effort);
    return strategy ? strategy->name : "unknown";
}

redtune_status redtune_effort_find(const char *name, redtune_effort *effort, redtune_error *err) {
    if (!effort) return rdt_fail(err, REDTUNE_INVALID, 0, "cannot find an effort: effort is NULL");
    for (size_t i = 0; name && i < sizeof table / sizeof *table; i++) {
        if (strcmp(table[i].name, name)) continue;
        *effort = (redtune_effort)i;
        return REDTUNE_OK;
    }
    return rdt_fail(err, REDTUNE_INVALID, 0,
                    "cannot use effort '%.40s': use quick, standard or exhaustive",
                    name ? name : "");
}
