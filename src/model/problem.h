/* Problem: what is reduced. */
#pragma once

#include "base/text.h"
#include "model/dtype.h"
#include "model/op.h"

/* Copies the problem with its result dtype filled in. REDTUNE_INVALID if it makes no sense. */
redtune_status rdt_problem_resolve(const redtune_problem *problem, redtune_problem *out,
                                   redtune_error *err);
/* The dtype that sums, products and means of the problem, which is resolved, accumulate in. */
redtune_dtype rdt_problem_accumulator(const redtune_problem *problem);
/* REDTUNE_INVALID for an unknown enumerator; NULL is any. */
redtune_status rdt_problem_check_filter(const redtune_op *op, const redtune_dtype *dtype,
                                        redtune_error *err);
/* Whether both differ in their count at most; both are resolved. */
bool rdt_problem_same_class(const redtune_problem *a, const redtune_problem *b);
/* "sum of 1048576 f32", or "sum of 1048576 f32 as f64" where the result's dtype is not the usual
 * one; the problem is resolved. */
enum { RDT_PROBLEM_TEXT_BYTES = 64 };
void rdt_problem_describe(const redtune_problem *problem, char out[RDT_PROBLEM_TEXT_BYTES]);
/* The element count such a problem may have at most, so that byte offsets stay below 2^63. */
uint64_t rdt_problem_count_max(redtune_dtype dtype);
