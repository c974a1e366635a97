/* Search: the fastest config for one problem. */
#ifndef RDT_TUNER_SEARCH_H
#define RDT_TUNER_SEARCH_H

#include "codegen/codegen.h"
#include "tuner/lab.h"

/* What a search reports to; every function gets user first. */
typedef struct rdt_search_hooks {
    void *user;
    /* Takes trials for keeping as soon as there are any. */
    redtune_status (*store)(void *user, const rdt_trial *trials, size_t count, redtune_error *err);
    /* Candidate i of n in a stage ("verify", "measure"); true stops the search. */
    bool (*progress)(void *user, const char *stage, size_t i, size_t n, double best_ns);
} rdt_search_hooks;

typedef struct rdt_search {
    const rdt_lab *lab;
    rdt_codegen *codegen;
    const rdt_facts *facts; /* of the GPU behind the lab */
    int family;
    const redtune_problem *problem; /* resolved */
    rdt_cache_state cache;
    /* What is known already of this family, problem and cache state, measured with these templates
     * on this GPU model: it is not tried again. */
    const rdt_trial *known;
    size_t known_count;
    const rdt_search_hooks *hooks;
} rdt_search;

/* A winner has been timed so often. */
enum { RDT_SEARCH_FINAL_SAMPLES = 31 };

typedef struct rdt_found {
    rdt_config winner;
    double winner_ns, default_ns; /* default_ns is 0 if the default could not be measured */
    size_t measured, failed;      /* now, and not known before */
} rdt_found;

/* Verifies and times every point of the space once; times the best again, and the best of those
 * once more, in turns. REDTUNE_WRONG if no candidate is good; REDTUNE_INTERRUPTED if a hook said
 * stop. What was measured has been stored in any case. */
redtune_status rdt_search_run(const rdt_search *search, rdt_found *out, redtune_error *err);

#endif
