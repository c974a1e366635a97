/* Beside: arrays that lie beside the first one of a problem, as people write them. Each has a shape
 * that broadcasts to the first one's, as in NumPy: "1024" beside "16384x1024" is one vector beside
 * all rows, "16384x1" one weight beside each. */
#pragma once

#include "cli/options.h"

/* REDTUNE_INVALID where an option that says so has no --shape or matrix to go with. */
redtune_status rdt_beside_check(const rdt_options *options, redtune_error *err);
/* As rdt_shape_fold, with the steps of what the options say lies beside the array. */
redtune_status rdt_beside_fold(const rdt_options *options, const rdt_shape_array *shape,
                               redtune_problem *problem, redtune_error *err);
