/* Tune: a tune of one class on an oracle, for the tests of searches and series. */
#pragma once

#include "oracle.h"
#include "tuner/search/sweep.h"
#include "redtune/tune.h"

enum { TUNE_PROBLEMS_MAX = 128 };

/* A tune of one class, and what came of it. */
typedef struct tune {
    oracle oracle;
    redtune_problem problems[TUNE_PROBLEMS_MAX];
    size_t count;
    redtune_effort effort;
    uint64_t seed;
    rdt_sweep sweep;
    rdt_sink sink;
    rdt_finding cold[TUNE_PROBLEMS_MAX], warm[TUNE_PROBLEMS_MAX];
    size_t stored, stop_after; /* stop_after: trials; 0: never */
    size_t late_after; /* trials of a problem, and then its share of time is over; 0: no limit */
    rdt_budget budget;
    redtune_problem storing; /* of the last trials */
    size_t stored_here;      /* of that problem */
    redtune_problem told;    /* of the last progress */
    size_t elsewhere;        /* trials of other counts than that */
    redtune_error err;
} tune;

/* Open from tune_open to tune_close. */
extern rdt_codegen *tune_codegen;

/* Sums of 2^low to 2^high elements, doubling. */
void tune_begin(tune *self, oracle oracle, redtune_dtype dtype, int low, int high);
/* The default shapes, of rows or else of columns. */
void tune_begin_shapes(tune *self, oracle oracle, redtune_dtype dtype, bool rows);
redtune_status tune_run(tune *self);
void tune_end(tune *self);
/* What the trial's point takes on its problem, without noise. */
double tune_truth_ns(const tune *self, const rdt_trial *trial);

/* Before and after the facts run. The file of the facts itself runs them: how they stand is known
 * to one file alone (check.h). tune_open says why it cannot, and returns false. */
bool tune_open(void);
void tune_close(void);
