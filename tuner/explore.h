/* Explore: which points of a field a strategy looks at first. */
#ifndef RDT_TUNER_EXPLORE_H
#define RDT_TUNER_EXPLORE_H

#include "tuner/field.h"
#include "tuner/strategy.h"

/* Every point. */
redtune_status rdt_explore_all(const rdt_strategy *strategy, rdt_field *field, redtune_error *err);

/* Few: the default, what was best on problems like this one, some drawn at random, evenly over the
 * values that have a name; and then, from the best found so far, the points around them. */
redtune_status rdt_explore_near(const rdt_strategy *strategy, rdt_field *field, redtune_error *err);

/* Lets the lab make what the search of the field's problem may ask for, if there is nothing better
 * to do. */
redtune_status rdt_explore_prepare(const rdt_field *field, redtune_error *err);

#endif
