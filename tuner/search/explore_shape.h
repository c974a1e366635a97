/* Explore shape: which points are measured first at a shape beside which others are known. */
#pragma once

#include "tuner/search/candidates.h"

/* The defaults, and what has won at the shapes beside it; then the points a step from the best, as
 * long as one of them is better. Where nothing beside it is known, as rdt_explore_adaptive. */
redtune_status rdt_explore_shape(rdt_candidates *candidates, redtune_error *err);

/* Lets the evaluator make what that may ask for, if there is nothing better to do. */
redtune_status rdt_explore_shape_prepare(const rdt_search *search, redtune_error *err);
