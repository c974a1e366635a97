/* Strategy: how a search goes about it. */
#include "tuner/search/strategy.h"

#include <string.h>
#include "tuner/search/explore.h"
#include "tuner/search/explore_shape.h"
#include "redtune/tune.h"

#define EFFORTS (REDTUNE_EFFORT_EXHAUSTIVE + 1)

/* docs/tuning.md says what each was seen to find. */
static const rdt_strategy table[EFFORTS] = {
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
                                   .exact = {0.10, 14, 28},
                                   .noisy = {0.22, 28, 48},
                                   .rounds = {{24, 9}, {6, 31}}},
};

/* For shapes: a plane has many, and each has neighbours to start from. */
static const rdt_strategy shapes[EFFORTS] = {
    [REDTUNE_EFFORT_STANDARD] = {.name = "standard",
                                 .explore = rdt_explore_shape,
                                 .samples = 3,
                                 .hopeless = 1.4,
                                 .exact = {0, 28, 40},
                                 .noisy = {0, 28, 48},
                                 .rounds = {{6, 9}, {4, 31}}},
    [REDTUNE_EFFORT_QUICK] = {.name = "quick",
                              .explore = rdt_explore_shape,
                              .samples = 3,
                              .exact = {0, 18, 28},
                              .noisy = {0, 18, 32},
                              .rounds = {{3, 15}}},
    [REDTUNE_EFFORT_EXHAUSTIVE] = {.name = "exhaustive",
                                   .explore = rdt_explore_all,
                                   .scope = RDT_SCOPE_DISTINCT,
                                   .samples = 3,
                                   .exact = {0, 28, 40},
                                   .noisy = {0, 28, 48},
                                   .rounds = {{24, 9}, {6, 31}}},
};

const rdt_strategy *rdt_strategy_find(redtune_effort effort, rdt_layout layout) {
    if ((size_t)effort >= EFFORTS) return NULL;
    return layout == RDT_LAYOUT_WHOLE ? &table[effort] : &shapes[effort];
}

bool rdt_strategy_explores_all(const rdt_strategy *strategy) {
    return strategy->explore == rdt_explore_all;
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
    const rdt_strategy *strategy = rdt_strategy_find(effort, RDT_LAYOUT_WHOLE);
    return strategy ? strategy->name : "unknown";
}

redtune_status redtune_effort_find(const char *name, redtune_effort *effort, redtune_error *err) {
    if (!effort) return rdt_fail(err, REDTUNE_INVALID, 0, "cannot find an effort: effort is NULL");
    for (size_t i = 0; name && i < EFFORTS; i++) {
        if (strcmp(table[i].name, name)) continue;
        *effort = (redtune_effort)i;
        return REDTUNE_OK;
    }
    return rdt_fail(err, REDTUNE_INVALID, 0,
                    "cannot use effort '%.40s': use quick, standard or exhaustive",
                    name ? name : "");
}
