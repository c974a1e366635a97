/* Compare: whether the results that a kernel gave are right.
 *
 * An op without a tolerance is right to the bit, and so is any in fixed order. Where an op has one,
 * a result may differ from the naive kernel's by so many units in the last place of the
 * accumulator's dtype, taken at the right value's magnitude, or at 1 where that is larger: the test
 * data's elements have magnitudes from 1 on, and what cancels to less has their rounding errors. A
 * result of fewer bits than the accumulator may also be its neighbour's, since both may be rounded
 * from nearly the same. Results that are integers, NaN or infinite have no tolerance. */
#pragma once

#include "model/problem.h"

/* The right results of one reduction: an op's first one, and its second one, if it has that. */
typedef struct rdt_answer {
    redtune_value value[RDT_OP_OUTPUTS_MAX];
} rdt_answer;

/* The dtype of that result, counted from 0; REDTUNE_DTYPE_NONE: the op has no such one. */
redtune_dtype rdt_compare_dtype(const redtune_problem *problem, int output);
bool rdt_compare_is_right(const redtune_problem *problem, int output, const redtune_value *got,
                          const redtune_value *right);
/* Adds "is 3 and should be 4" to a message, with the name of the result before it where the op has
 * two, and "give or take 1e-06" behind it where it has a tolerance. */
void rdt_compare_print(const redtune_problem *problem, int output, const redtune_value *got,
                       const redtune_value *right, rdt_text *out);
