/* Crossover: between two neighbouring sizes with different winners, the size at which one takes
 * over from the other. */
#pragma once

#include "tuner/search/sweep.h"

/* Measures, between each two problems of the sweep that follow each other and have different
 * winners with a cold cache, both winners, the best found there and the defaults at sizes
 * between, halving the distance on the log scale, so that the nearest measured size has the config
 * that is best there. A winner
 * that is no candidate for a size has lost there. Nothing is measured between two that are within
 * noise of each other at both ends. */
redtune_status rdt_crossover_run(rdt_sweep *sweep, redtune_error *err);
