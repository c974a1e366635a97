/* Test data: test data for which the result of an op is known exactly, whatever the order in which
 * the elements are combined.
 *
 * The data are drawn from a fixed seed and repeated with a period that is prime, so that an element
 * missed, taken twice or taken from the wrong place changes the result wherever one element can:
 * sums are of non-zero integers (of floats: small ones), products of odd numbers (of floats: -1, 1
 * and few powers of two), bits are random. An accumulator of few bits holds exact sums of so many
 * elements only: beyond that the pattern is thinned out with zeros until the sum of all that is
 * added is exact, and with it every partial sum.
 *
 * The result of min, any and the like hangs on few elements. For them there is a decider, which
 * beats all elements of the pattern: planted somewhere, it is the result. */
#ifndef RDT_TUNER_MEASURE_TEST_DATA_H
#define RDT_TUNER_MEASURE_TEST_DATA_H

#include "model/problem.h"

typedef struct rdt_test_data {
    redtune_problem problem; /* its count does not matter */
    uint64_t period;         /* elements before it repeats */
    uint64_t count_max;      /* results over up to so many elements are exact */
    void *elements;          /* one period, in the problem's dtype */
    uint64_t leaves;
    redtune_value *results; /* of parts of the period, as a binary heap: [1] is the whole's */
} rdt_test_data;

/* Makes a pattern exact for up to count elements, thinned out as little as that takes. */
redtune_status rdt_test_data_create(const redtune_problem *problem, uint64_t count,
                                    rdt_test_data **out, redtune_error *err);
void rdt_test_data_destroy(rdt_test_data *data);

/* The largest count for which a pattern needs no zeros. */
uint64_t rdt_test_data_dense_max(const redtune_problem *problem);

/* The exact result over count elements from first on. */
redtune_value rdt_test_data_value(const rdt_test_data *data, uint64_t first, uint64_t count);
/* The same with the decider in the place of element `at` of them. */
redtune_value rdt_test_data_planted(const rdt_test_data *data, uint64_t first, uint64_t count,
                                    uint64_t at);

/* The same with this value there. */
redtune_value rdt_test_data_planted_value(const rdt_test_data *data, uint64_t first, uint64_t count,
                                          uint64_t at, const redtune_value *value);

/* Whether the result shows only some of the elements, so that a decider has to be planted. */
bool rdt_test_data_hides(const redtune_problem *problem);

/* The decider, and the element that changes nothing beside it. */
redtune_value rdt_test_data_decider(const redtune_problem *problem);
redtune_value rdt_test_data_neutral(const redtune_problem *problem);
/* The result over count elements that are neutral, but for the decider at index `at`; there is none
 * if that is not below count. */
redtune_value rdt_test_data_one_hot(const redtune_problem *problem, uint64_t count, uint64_t at);

#endif
