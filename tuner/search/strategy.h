/* Strategy: how a search goes about it. The table of them. */
#pragma once

#include "base/fail.h"
#include "codegen/codegen.h"
#include "model/problem.h"
#include "redtune/tune.h"

struct rdt_candidates;

/* A round measures the best `keep` of those before it, and the built-in default, with `samples`
 * samples each. */
typedef struct rdt_round {
    size_t keep;
    int samples;
} rdt_round;

enum { RDT_ROUNDS_MAX = 4 };

/* How many of n points an exploration measures: max(share * n, least); where nothing like the
 * problem is known, alone. */
typedef struct rdt_quota {
    double share;
    size_t least, alone;
} rdt_quota;

typedef struct rdt_strategy {
    const char *name;
    rdt_scope scope; /* of the points that it explores */
    /* Exploration: which points are measured first, with `samples` each. */
    redtune_status (*explore)(struct rdt_candidates *candidates, redtune_error *err);
    int samples;
    /* Times the estimate of a family's best so far: what takes longer by its estimate is left out.
     * 0: nothing is. */
    double hopeless;
    /* How much is explored first under a budget, or by any other strategy than that of all points:
     * where every sample of a candidate takes the same time, as in a model,
     * and where they do not: there what is best has more equals that few samples cannot tell from
     * it, and is harder to predict. */
    rdt_quota exact, noisy;
    rdt_round rounds[RDT_ROUNDS_MAX]; /* ends with keep 0 */
} rdt_strategy;

/* For problems of the layout; NULL for an unknown effort. */
const rdt_strategy *rdt_strategy_find(redtune_effort effort, rdt_layout layout);
/* Whether it explores every point. */
bool rdt_strategy_explores_all(const rdt_strategy *strategy);
/* Samples of the last round: a winner has been timed so often. */
int rdt_strategy_samples(const rdt_strategy *strategy);

/* How many measurements a search asks for that explores that many points. */
size_t rdt_strategy_count(const rdt_strategy *strategy, size_t points);
