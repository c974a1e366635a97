/* Tune: a tune of one class on an oracle, for the tests of searches and series. */
#ifndef RDT_TESTS_TUNE_H
#define RDT_TESTS_TUNE_H

#include "check.h"
#include "oracle.h"
#include "tuner/series.h"

enum { TUNE_PROBLEMS_MAX = 32 };

/* A tune of one class, and what came of it. */
typedef struct tune {
    oracle oracle;
    redtune_problem problems[TUNE_PROBLEMS_MAX];
    size_t count;
    redtune_effort effort;
    uint64_t seed;
    rdt_series series;
    rdt_series_hooks hooks;
    rdt_finding cold[TUNE_PROBLEMS_MAX], warm[TUNE_PROBLEMS_MAX];
    size_t stored, stop_after; /* stop_after: trials; 0: never */
    redtune_error err;
} tune;

/* Open while the facts run: see tune_main. */
extern rdt_codegen *tune_codegen;

/* Sums of 2^low to 2^high elements, doubling. */
void tune_begin(tune *self, oracle oracle, redtune_dtype dtype, int low, int high);
redtune_status tune_run(tune *self);
void tune_end(tune *self);
/* What the trial's config takes on its problem, without noise. */
double tune_truth_ns(const tune *self, const rdt_trial *trial);

/* Runs the facts as check_run does. */
int tune_main(const check_fact *facts, size_t count, int argc, char **argv);

#endif
