/* Wanted: the problems that a tune's options ask for.
 *
 * Whole arrays are left to the library, as ops, dtypes and counts. Shapes are listed here, each
 * with every op and dtype: the array of each --shape, or each of --rows with each of --cols, along
 * --axis. Without shapes the axes choose among the library's own: 1 its rows, 0 its columns, 1,0
 * both. A recording has its problems in full. */
#pragma once

#include "cli/options.h"

typedef struct rdt_wanted {
    redtune_problem *problems; /* NULL: those of the layouts, as redtune_tuning has them */
    size_t problem_count;
    unsigned layouts;
    redtune_recorded *recorded; /* as many, in the same order; NULL: none is recorded */
} rdt_wanted;

/* What tuning the recorded problems gains: their calls at the time they took before, and take now.
 */
typedef struct rdt_wanted_gain {
    size_t known, unknown; /* problems whose time before is known, of those that were tuned */
    uint64_t calls;        /* of the known ones, as are the times */
    double before_ns, now_ns;
} rdt_wanted_gain;

rdt_wanted_gain rdt_wanted_compare(const rdt_wanted *wanted, const redtune_tuned *results,
                                   size_t result_count);

/* Whether the op, in the options' order and accuracy, does not take dtypes[i] but another of them,
 * so that it goes without; a warning names the two. */
bool rdt_wanted_leaves_out(const rdt_options *options, redtune_op op, const redtune_dtype *dtypes,
                           size_t dtype_count, size_t i);

/* REDTUNE_INVALID for options that do not go together, and what redtune_problem_fold refuses. */
redtune_status rdt_wanted_list(const rdt_options *options, rdt_wanted *out, redtune_error *err);
void rdt_wanted_free(rdt_wanted *wanted);
