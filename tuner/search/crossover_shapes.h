/* Crossovers between shapes: in each direction of a plane, between two neighbours with different
 * winners. */
#pragma once

#include "tuner/search/sweep.h"

/* Measures both winners at both of two shapes that follow each other on a line of the plane. Where
 * they differ there, the shape in the middle is searched, too, from both of them: the runtime takes
 * the nearest measured shape. The middles where most is gained come first, and at most one for
 * every two shapes. */
redtune_status rdt_crossover_shapes(rdt_sweep *sweep, redtune_error *err);
