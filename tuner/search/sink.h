/* Sink: where what a tune finds goes: measurements to keep, how far it is, results, warnings. A
 * search and a sweep write to one; a sweep's searches write to the sweep's own, which passes on. */
#pragma once

#include "base/fail.h"
#include "model/trial.h"

enum { RDT_CACHE_STATES = 2 };

typedef struct rdt_search_count {
    size_t measured, failed; /* candidates, now and not known before */
    size_t points, untried;  /* of a search of every point: all, and those it had no time for */
} rdt_search_count;

/* The result of a problem in one state of the cache. */
typedef struct rdt_finding {
    bool found;           /* false: not looked for, as it could not differ from the cold one */
    rdt_trial winner;     /* by the rule of model/winner.h, over all that is known */
    double default_ns;    /* 0: it is not among what was measured as carefully */
    size_t points;        /* that are known, good or not */
    rdt_search_count now; /* since the problem's last report */
} rdt_finding;

/* Every function gets user first. */
typedef struct rdt_sink {
    void *user;
    /* Takes trials for keeping as soon as there are any. */
    redtune_status (*store)(void *user, const rdt_trial *trials, size_t count, redtune_error *err);
    /* Candidate i of the n that are about to be measured on the problem, which at a crossover is
     * not among the sweep's; stage is "known", "cold", "warm" or "crossover". true stops the
     * search. NULL: nobody does. */
    bool (*progress)(void *user, const redtune_problem *problem, const char *stage, size_t i,
                     size_t n, double best_ns);
    /* Only a sweep calls the two below. problem is an index. again: the second pass measured more;
     * except for the counts, this replaces the problem's report from before. */
    void (*tuned)(void *user, size_t problem, const rdt_finding finding[RDT_CACHE_STATES],
                  bool again);
    /* Takes a line about what spoils the measurements, each kind once a sweep. NULL: nobody does.
     */
    void (*warn)(void *user, const char *line);
} rdt_sink;
