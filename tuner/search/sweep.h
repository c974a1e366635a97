/* Sweep: the problems of one class, searched one after another, each started from what was best on
 * those before, and the crossovers between them. */
#pragma once

#include "tuner/search/values.h"

typedef struct rdt_sweep {
    const rdt_evaluator *evaluator;
    rdt_codegen *codegen;
    const rdt_facts *facts;          /* of the GPU behind the evaluator */
    const redtune_problem *problems; /* of one class, resolved, by extents */
    size_t count;
    const rdt_strategy *strategy;
    uint64_t seed;
    /* By cache state: what is known of the class, and the same of a class like it (of the same op,
     * with elements of the same size), which may be empty. Measured with these templates on this
     * GPU model. Nothing that is known is measured again; what is measured is added to known. */
    rdt_trials known[RDT_CACHE_STATES], alike[RDT_CACHE_STATES];
    rdt_budget *budget;
    size_t searches_after; /* of the tune, beside this sweep's: they share the budget */
    const rdt_sink *sink;
    rdt_sink searches; /* the sweep's own, here and below: the sink of its searches */
    rdt_usual usual;
    size_t *order; /* in which shapes are searched; NULL: the problems' */
    bool warned_of_others, warned_of_clocks;
} rdt_sweep;

/* How many searches a problem takes: one for each cache state in which it can differ. */
size_t rdt_sweep_searches(const rdt_facts *facts, const redtune_problem *problem);

/* As rdt_search_run for each problem, then rdt_sweep_join. */
redtune_status rdt_sweep_run(rdt_sweep *sweep, redtune_error *err);
/* The steps between searched problems: the second pass and the crossovers.
 * Where all of it is known, nothing is measured. */
redtune_status rdt_sweep_join(rdt_sweep *sweep, redtune_error *err);

/* For the sweep's other files: a search of it, as far as it is the same for all problems. */
rdt_search rdt_sweep_search(rdt_sweep *sweep, const redtune_problem *problem,
                            rdt_cache_state cache);
/* Whether a search has been through the shape: something was explored there, and there was a last
 * round. It takes as few candidates as suffice. */
bool rdt_sweep_has_searched(const rdt_search *search);
/* Finds what is known of the problem by now; out->now stays. */
redtune_status rdt_sweep_find(const rdt_sweep *sweep, const redtune_problem *problem,
                              rdt_cache_state cache, rdt_finding *out, redtune_error *err);
