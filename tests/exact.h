/* Exact: the results of test data by the host's reference, over any stretch of them. */
#pragma once

#include "tuner/measure/test_data.h"

typedef struct exact exact;

/* data outlives it. */
redtune_status exact_open(const rdt_test_data *data, exact **out, redtune_error *err);
void exact_close(exact *self);

/* The result over count elements from first on. */
redtune_value exact_value(const exact *self, uint64_t first, uint64_t count);
/* The same with the decider, or this value, in the place of element `at` of them. */
redtune_value exact_planted(const exact *self, uint64_t first, uint64_t count, uint64_t at);
redtune_value exact_planted_value(const exact *self, uint64_t first, uint64_t count, uint64_t at,
                                  const redtune_value *value);
/* The result over count elements that are neutral, but for the decider at index `at`; there is none
 * if that is not below count. */
redtune_value exact_one_hot(const redtune_problem *problem, uint64_t count, uint64_t at);
