/* Comparison: the winners of two databases or exports, paired by problem. */
#pragma once

#include "cli/options.h"
#include "redtune/records.h"
#include "redtune/tools.h"

/* Valid when zeroed. Its differences are of at least one problem, those that are slower first. */
typedef struct rdt_comparison {
    redtune_comparison about;
    redtune_row *a, *b; /* its texts besides family and config are "" */
    redtune_difference *differences;
    size_t slower, faster;
} rdt_comparison;

/* Reads what `wanted` selects of both sides. GPU models are told apart, unless each side has one.
 * b is NULL: the databases of wanted->database; a is a file, as b otherwise. A difference is noise
 * below the tolerance of the options, or 5 %. */
redtune_status rdt_comparison_make(const rdt_options *options, const redtune_rows_query *wanted,
                                   const char *a, const char *b, rdt_comparison *out,
                                   redtune_error *err);
void rdt_comparison_free(rdt_comparison *comparison);

/* The time that the second takes longer, in %; negative: shorter. */
double rdt_comparison_longer(const redtune_difference *difference);
