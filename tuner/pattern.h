/* Pattern: test data whose sum is known exactly, whatever the order of the additions.
 *
 * The data are small non-zero integers drawn from a fixed seed, repeated with a period that is
 * prime, so that an element missed, taken twice or taken from the wrong place changes the sum. A
 * dtype of few bits holds exact sums of so many elements only: beyond that the pattern is thinned
 * out with zeros until the sum of all absolute values is exact, and with it every partial sum. */
#ifndef RDT_TUNER_PATTERN_H
#define RDT_TUNER_PATTERN_H

#include "model/problem.h"

typedef struct rdt_pattern {
    redtune_dtype dtype;
    uint64_t period;    /* elements before it repeats */
    uint64_t count_max; /* sums of up to so many elements are exact */
    int64_t *before;    /* before[i]: the sum of the first i elements; period + 1 of them */
    void *elements;     /* one period, in dtype */
} rdt_pattern;

/* Makes a pattern exact for sums of up to count elements, thinned out as little as that takes. */
redtune_status rdt_pattern_create(redtune_dtype dtype, uint64_t count, rdt_pattern **out,
                                  redtune_error *err);
void rdt_pattern_destroy(rdt_pattern *pattern);

/* The largest count for which a pattern of dtype needs no zeros. */
uint64_t rdt_pattern_dense_max(redtune_dtype dtype);

/* The exact sum of count elements from first on. */
int64_t rdt_pattern_sum(const rdt_pattern *pattern, uint64_t first, uint64_t count);

#endif
