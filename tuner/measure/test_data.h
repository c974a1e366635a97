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
 * beats all elements of the pattern: planted somewhere, it is the result.
 *
 * Of ops of two inputs elements of the same index are made together: numbers that differ, where
 * their product, difference or squares are added, all exact; or of which every other pair is the
 * same, where those that are not are counted. A decider beats the rest in either input.
 *
 * Results of an op with a tolerance are those of elements without a sign: no sum of them is small
 * against its rounding errors. Sums of elements are exact all the same. */
#pragma once

#include "model/problem.h"

typedef struct rdt_test_data {
    redtune_problem problem; /* its count does not matter */
    uint64_t period;         /* elements before it repeats */
    uint64_t count_max;      /* results over up to this many elements are exact */
    void *elements;          /* one period, in the problem's dtype */
    void *second;            /* those of the second input, of ops of two; else NULL */
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
/* Another decider, of ops that two kinds of elements decide: the greatest beside the least, -inf
 * beside inf. Of others it is the same. */
enum { RDT_TEST_DATA_DECIDERS = 2 };
redtune_value rdt_test_data_other_decider(const redtune_problem *problem);
/* Of ops of two inputs: what all of the other input is, where one has a decider among neutral
 * elements. The decider shows in either. */
redtune_value rdt_test_data_opposite(const redtune_problem *problem);
