/* Sweep: the problems of one class, searched one after another, each started from what was best on
 * those before, and the crossovers between them. */
#ifndef RDT_TUNER_SEARCH_SWEEP_H
#define RDT_TUNER_SEARCH_SWEEP_H

#include "tuner/search/budget.h"
#include "tuner/search/search.h"

enum { RDT_CACHE_STATES = 2 };

/* What came of a problem in one state of the cache. */
typedef struct rdt_finding {
    bool found;           /* false: not looked for, as it could not differ from the cold one */
    rdt_trial winner;     /* by the rule of model/winner.h, over all that is known */
    double default_ns;    /* 0: it is not among what was measured as carefully */
    rdt_search_count now; /* since the problem was told of before */
} rdt_finding;

/* Every function gets user first. */
typedef struct rdt_sweep_hooks {
    void *user;
    redtune_status (*store)(void *user, const rdt_trial *trials, size_t count, redtune_error *err);
    /* Candidate i of the n that are about to be measured on the problem, which at a crossover is
     * none of the sweep'; stage is "known", "cold", "warm" or "crossover". true stops the sweep. */
    bool (*progress)(void *user, const redtune_problem *problem, const char *stage, size_t i,
                     size_t n, double best_ns);
    /* problem is an index. again: a second look measured more; but for the counts, what was told of
     * the problem before is replaced. */
    void (*tuned)(void *user, size_t problem, const rdt_finding finding[RDT_CACHE_STATES],
                  bool again);
    /* Takes a line about what spoils the measurements, each kind once a sweep. NULL: nobody does.
     */
    void (*warn)(void *user, const char *line);
} rdt_sweep_hooks;

typedef struct rdt_sweep {
    const rdt_evaluator *evaluator;
    rdt_codegen *codegen;
    const rdt_facts *facts; /* of the GPU behind the evaluator */
    int family;
    const redtune_problem *problems; /* of one class, resolved, by count */
    size_t count;
    const rdt_strategy *strategy;
    uint64_t seed;
    /* By cache state: what is known of the class, and the same of a class like it (of the same op,
     * with elements of the same size), which may be empty. Measured with these templates on this
     * GPU model. Nothing that is known is measured again; what is measured is added to known. */
    rdt_trials known[RDT_CACHE_STATES], alike[RDT_CACHE_STATES];
    rdt_budget *budget;
    size_t searches_after; /* of the tune, beside this sweep': they share the budget */
    const rdt_sweep_hooks *hooks;
    size_t current; /* the sweep' own, here and below */
    const char *stage;
    bool warned_of_others, warned_of_clocks;
} rdt_sweep;

/* How many searches a problem takes: one for each cache state in which it can differ. */
size_t rdt_sweep_searches(const rdt_facts *facts, const redtune_problem *problem);

/* As rdt_search_run for each problem, then rdt_sweep_join. */
redtune_status rdt_sweep_run(rdt_sweep *sweep, redtune_error *err);
/* What searched problems have to do with each other: the second looks at them, and the crossovers.
 * Where all of it is known, nothing is measured. */
redtune_status rdt_sweep_join(rdt_sweep *sweep, redtune_error *err);

/* A search of the sweep, as far as it is the same for all problems. */
rdt_search rdt_sweep_search(rdt_sweep *sweep, const redtune_problem *problem, rdt_cache_state cache,
                            const rdt_search_hooks *hooks);
/* The hooks of its searches. */
rdt_search_hooks rdt_sweep_hooks_of(rdt_sweep *sweep);

#endif
