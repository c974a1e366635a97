/* Crossover: between two neighbouring sizes with different winners, the size at which one takes
 * over from the other. */
#pragma once

#include "tuner/search/sweep.h"

/* Measures, with a cold cache, between each two problems that follow each other and have different
 * winners. A winner that is no candidate for a size has lost there. Nothing is measured between two
 * that are within noise of each other at both ends. */
redtune_status rdt_crossover_run(rdt_sweep *sweep, redtune_error *err);

/* The search of a problem of the sweep on behalf of a crossover. */
rdt_search rdt_crossover_search(rdt_sweep *sweep, const redtune_problem *problem);

/* The winner of a problem of the sweep, as a point; *found: it has one. */
redtune_status rdt_crossover_winner(rdt_sweep *sweep, const redtune_problem *problem,
                                    rdt_point *out, bool *found, redtune_error *err);
/* Measures two winners, and the defaults, at a problem, and gives what came of the winners. No
 * samples: it is no candidate there, or not good. */
redtune_status rdt_crossover_measure(rdt_sweep *sweep, const redtune_problem *problem,
                                     const rdt_point winner[2], int samples, rdt_trial out[2],
                                     redtune_error *err);
