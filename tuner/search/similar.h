/* Similar: the problems that a search starts from. */
#pragma once

#include "tuner/search/sweep.h"

/* Fills in what is similar to the search's problem, the most alike first: the same problem in the
 * other cache state, the same of a class like it, and the nearest that are known: the next smaller
 * and the next larger size of a whole array, and the shapes on all sides of a shape. */
void rdt_similar_find(const rdt_sweep *sweep, rdt_search *search);

/* The point that won there, by the rule of model/winner.h. */
redtune_status rdt_similar_winner(const rdt_search *search, const rdt_similar *similar,
                                  rdt_point *out, bool *found, redtune_error *err);
