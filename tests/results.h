/* Results: what every op gives, as docs/ops.md defines it. tests/reference.h has the first
 * RDT_REFERENCE_OPS; here are the others: of two inputs, of two results, with parameters. Plain and
 * slow: one element after the other, in long double and in integers modulo 2^64, two passes for a
 * variance. It has nothing of templates/. */
#pragma once

#include "model/problem.h"

typedef struct results_input {
    const void *x, *y; /* y: of an op of two inputs */
    uint64_t count;
    const double *parameters; /* as many as the op has; NULL: the usual ones */
} results_input;

typedef struct results {
    redtune_value value[RDT_OP_OUTPUTS_MAX];
    long double exact[RDT_OP_OUTPUTS_MAX];     /* before anything is rounded */
    long double magnitude[RDT_OP_OUTPUTS_MAX]; /* what a relative error is of */
} results;

/* problem is resolved; its count is not looked at. */
void results_reduce(const redtune_problem *problem, const results_input *input, results *out);

/* How far a result may be from exact where no element passes through more than depth additions; 0:
 * it is exact, or its value is that of exact sums. Of the first RDT_REFERENCE_OPS, whose bounds
 * tests/reference.h has, it is 0. */
double results_bound(const redtune_problem *problem, int output, const results *right,
                     uint64_t count, double depth);
/* Whether the result is the right one, or within its bound of it. */
bool results_agree(const redtune_problem *problem, int output, const redtune_value *got,
                   const results *right, uint64_t count, double depth);
/* Whether it is the right result of test data (tuner/measure/test_data.h): to the bit, since all
 * sums of them are exact, but where the op rounds what it combines (its entry's tolerance), or
 * takes a logarithm or a power at the end. */
bool results_same(const redtune_problem *problem, int output, const redtune_value *got,
                  const results *right, uint64_t count);
