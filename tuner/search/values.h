/* Values: what a search does with each value of the parameters whose values have names. They are
 * classified family by family: a value only against the other points of its family. Those that the
 * family's default has at any size are explored; of the others a few probes are taken where nothing
 * is known of them, and what is done after that follows from what was measured of this class on
 * this GPU model:
 *
 * - faster than all without it, by more than noise, at the nearest size known: it is explored.
 * - slower by more than noise there: it is left out.
 * - neither: the best config is tried with it, no more, and not where that was seen close by.
 *
 * Sizes further than DOUBLINGS away say nothing. What lost in one cache state is not tried in the
 * other. */
#pragma once

#include "tuner/search/search.h"

typedef enum rdt_use {
    RDT_USE_OUT,     /* known to lose: not asked for */
    RDT_USE_TIED,    /* known to be no better than others */
    RDT_USE_UNKNOWN, /* to be probed */
    RDT_USE_IN,      /* explored like any other */
    RDT_USE_BASE,    /* the same, and the default's at some size */
} rdt_use;

/* of[f][i][k]: value k of parameter i of family f. Numbers are BASE, all of them. */
typedef struct rdt_values {
    rdt_use of[RDT_FAMILY_MAX][RDT_PARAM_MAX][RDT_PARAM_VALUE_MAX];
} rdt_values;

/* The values that the defaults have at the sizes of a class, which its problems share. */
typedef struct rdt_usual {
    bool known;
    redtune_problem problem; /* any of them, without its size */
    rdt_values values;
} rdt_usual;

/* *out is zeroed. */
redtune_status rdt_values_classify(const rdt_search *search, rdt_values *out, redtune_error *err);

/* The least use of any of the point's values. */
rdt_use rdt_values_least(const rdt_values *values, const rdt_spaces *spaces,
                         const rdt_point *point);
