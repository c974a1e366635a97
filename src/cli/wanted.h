/* Wanted: the problems that a tune's options ask for.
 *
 * Whole arrays are left to the library, as ops, dtypes and counts. Shapes are listed here, each
 * with every op and dtype: the array of each --shape, or each of --rows with each of --cols, along
 * --axis. Without shapes the axis chooses among the library's own: 1 its rows, 0 its columns. */
#pragma once

#include "cli/options.h"

typedef struct rdt_wanted {
    redtune_problem *problems; /* NULL: those of the layouts, as redtune_tuning has them */
    size_t problem_count;
    unsigned layouts;
} rdt_wanted;

/* REDTUNE_INVALID for options that do not go together, and what redtune_problem_fold refuses. */
redtune_status rdt_wanted_list(const rdt_options *options, rdt_wanted *out, redtune_error *err);
void rdt_wanted_free(rdt_wanted *wanted);
