/* Crossover: between two neighbouring sizes with different winners, the size at which one takes
 * over from the other. */
#pragma once

#include "tuner/search/sweep.h"

/* Measures, with a cold cache, between each two problems that follow each other and have different
 * winners. A winner that is no candidate for a size has lost there. Nothing is measured between two
 * that are within noise of each other at both ends. */
redtune_status rdt_crossover_run(rdt_sweep *sweep, redtune_error *err);
