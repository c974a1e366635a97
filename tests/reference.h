/* Reference: the value of a reduction over host memory, as docs/ops.md defines it. Plain and slow:
 * one element after the other, floats in twice the accumulator's precision and more. */
#pragma once

#include "model/problem.h"

/* It has the first so many ops of the table; tests/results.h has all. */
enum { RDT_REFERENCE_OPS = REDTUNE_XOR + 1 };

typedef struct rdt_reference {
    redtune_value value; /* of problem->result */
    double exact;        /* the value before it is rounded to accumulator and result */
    double magnitude;    /* of sums: the sum of the absolute values of what is added */
} rdt_reference;

/* problem is resolved; its count is not looked at. */
void rdt_reference_reduce(const redtune_problem *problem, const void *elements, uint64_t count,
                          rdt_reference *out);

/* From a total in the accumulator to the result: mean's division, norm2's root, the conversion.
 * total is one of the accumulator's numbers. */
redtune_value rdt_reference_finish(const redtune_problem *problem, const redtune_value *total,
                                   uint64_t count);

/* How far a float result may be from exact if no element passes through more than depth additions
 * on its way (Higham, Accuracy and Stability of Numerical Algorithms, 4.2; products: 3.1, whatever
 * the depth); 0 for ops that are exact. */
double rdt_reference_bound(const redtune_problem *problem, const rdt_reference *reference,
                           uint64_t count, double depth);
