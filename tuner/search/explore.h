/* Explore: which points a strategy measures first. */
#pragma once

#include "tuner/search/candidates.h"
#include "tuner/search/strategy.h"

/* Every point. */
redtune_status rdt_explore_all(rdt_candidates *candidates, redtune_error *err);

/* Few: the default, what was best on problems like this one, some drawn at random, evenly over the
 * values that have a name; and then, from the best found so far, the points around them. */
redtune_status rdt_explore_adaptive(rdt_candidates *candidates, redtune_error *err);

/* Lets the evaluator make what the search may ask for, if there is nothing better to do. */
redtune_status rdt_explore_prepare(const rdt_search *search, redtune_error *err);
