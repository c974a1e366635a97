/* Test data: elements for which an op gives the same bits whatever the order in which they are
 * combined.
 *
 * The data are drawn from a fixed seed and repeated with a period that is prime, so that an element
 * missed, taken twice or taken from the wrong place changes the result wherever one element can:
 * sums are of non-zero integers (of floats: small ones), products of odd numbers (of floats: -1, 1
 * and few powers of two), bits are random. An accumulator of few bits holds exact sums of few
 * elements only: beyond that the pattern is thinned out with zeros until the sum of all that is
 * added is exact, and with it every partial sum.
 *
 * The result of min, any and the like hangs on few elements. For them there is a decider, which
 * beats all elements of the pattern: planted somewhere, it is the result. */
#pragma once

#include "model/problem.h"

typedef struct rdt_test_data {
    redtune_problem problem; /* its count does not matter */
    uint64_t period;         /* elements before it repeats */
    uint64_t count_max;      /* results over up to this many elements are exact */
    void *elements;          /* one period, in the problem's dtype */
} rdt_test_data;

/* Makes a pattern exact for up to count elements, thinned out as little as that takes. */
redtune_status rdt_test_data_create(const redtune_problem *problem, uint64_t count,
                                    rdt_test_data **out, redtune_error *err);
void rdt_test_data_destroy(rdt_test_data *data);

/* The largest count for which a pattern needs no zeros. */
uint64_t rdt_test_data_dense_max(const redtune_problem *problem);

/* Whether the result shows only some of the elements, so that a decider has to be planted. */
bool rdt_test_data_hides(const redtune_problem *problem);

/* The decider, and the element that changes nothing beside it. */
redtune_value rdt_test_data_decider(const redtune_problem *problem);
redtune_value rdt_test_data_neutral(const redtune_problem *problem);
