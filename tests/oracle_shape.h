/* Oracle of shapes: the model of time for rows and columns. */
#pragma once

#include "oracle.h"

/* What the candidate takes at a problem of rows or columns, cold. */
double oracle_shape_ns(const oracle *self, const redtune_problem *problem,
                       const rdt_candidate *candidate);
/* The best of all points that a search may take at the shape. */
double oracle_shape_best_ns(const oracle *self, const redtune_problem *problem);
