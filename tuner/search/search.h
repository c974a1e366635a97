/* Search: the measurements that find the fastest config for one problem. */
#pragma once

#include "codegen/codegen.h"
#include "model/trials.h"
#include "tuner/evaluator.h"
#include "tuner/search/budget.h"
#include "tuner/search/sink.h"
#include "tuner/search/strategy.h"

struct rdt_candidates;
struct rdt_usual;

/* A problem like this one, by its trials: those of its extents among them. */
typedef struct rdt_similar {
    const rdt_trials *trials;
    redtune_problem problem; /* of which the extents count */
    /* How its size compares: 1 for a smaller one, whose best configs are tried with their
     * parameters one step up, too; -1 for a larger one; 0 for the same. */
    int shift;
} rdt_similar;

enum { RDT_SIMILAR_MAX = 6 };

typedef struct rdt_search {
    const rdt_evaluator *evaluator;
    rdt_codegen *codegen;
    const rdt_facts *facts;         /* of the GPU behind the evaluator */
    const redtune_problem *problem; /* resolved */
    rdt_cache_state cache;
    const rdt_strategy *strategy;
    uint64_t seed;
    /* The trials of the class in this cache state, measured with these templates on this GPU model:
     * what they say of this problem is not measured again. NULL: nothing. */
    const rdt_trials *known;
    /* The same in the other cache state: it is not verified again. NULL: nothing. */
    const rdt_trials *verified;
    rdt_similar similar[RDT_SIMILAR_MAX]; /* the most alike first */
    size_t similar_count;
    /* Trials of the class that say which named values are worth a probe, or more. NULL: nothing is
     * probed. */
    const rdt_trials *sizes;
    struct rdt_usual *usual; /* of the class, found once for all of its problems; NULL: each time */
    const char *stage;       /* for the sink's progress */
    const rdt_budget *budget; /* of time; NULL: no limit */
    bool any; /* of points that are named: those that are allowed, worth measuring or not */
    const rdt_sink *sink;
} rdt_search;

/* Explores, and goes through the rounds of the strategy. REDTUNE_WRONG if no candidate is good;
 * REDTUNE_INTERRUPTED if the sink said stop. All trials have been stored in any case, and
 * *count is valid. */
redtune_status rdt_search_run(const rdt_search *search, rdt_search_count *count,
                              redtune_error *err);

/* The rounds alone, among the candidates that were tried. */
redtune_status rdt_search_rounds(struct rdt_candidates *candidates, redtune_error *err);
