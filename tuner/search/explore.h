/* Explore: which points a strategy measures first. */
#pragma once

#include "base/random.h"
#include "tuner/search/candidates.h"
#include "tuner/search/strategy.h"

/* Every point; under a budget (budget.h) the likely ones first, as far as it goes. */
redtune_status rdt_explore_all(rdt_candidates *candidates, redtune_error *err);

/* Few: the default, what was best on problems like this one, some drawn at random, evenly over the
 * values that have a name; and then, from the best found so far, the points around them. */
redtune_status rdt_explore_adaptive(rdt_candidates *candidates, redtune_error *err);

/* Where a search's random numbers begin: every problem has a sequence of its own, whatever else is
 * tuned. */
rdt_random rdt_explore_random(const rdt_search *search);

/* Lets the evaluator make what the search may ask for, if there is nothing better to do. */
redtune_status rdt_explore_prepare(const rdt_search *search, redtune_error *err);
