/* Order reference: the bits of a reduction in fixed order over host memory, as docs/order.md has
 * it. */
#pragma once

#include "model/problem.h"

/* Whether it has the op. */
bool rdt_order_reference_has(redtune_op op);
/* The results of the problem, which is resolved, over count elements of each input; y: NULL where
 * the op has one. The accumulators are floats. */
void rdt_order_reference_reduce(const redtune_problem *problem, const void *x, const void *y,
                                uint64_t count, redtune_value results[2]);
