/* Rational: sums of products of floats without any rounding, as fixed-point integers of as many
 * bits as f64's range takes. What accurate sums are held against. It has nothing of templates/. */
#pragma once

#include "model/problem.h"

/* Limb i counts 2^(32 i - RATIONAL_BEHIND): from below the least product of two f64 to above the
 * sum of 2^64 of the largest. */
enum { RATIONAL_BEHIND = 2176, RATIONAL_LIMBS = 140 };

/* Valid when zeroed: 0. */
typedef struct rational {
    int64_t limb[RATIONAL_LIMBS];
    uint64_t pending; /* additions since carries were taken */
    double special;   /* the sum of what is infinite or NaN, else 0 */
} rational;

/* Adds x * y. */
void rational_add(rational *self, double x, double y);
/* To within 2^-63 of it; infinite or NaN if what was added is. */
long double rational_real(const rational *self);
/* The nearest number of a float dtype, ties to even, infinite beyond the largest. A sum that is
 * zero is +0. */
redtune_value rational_round(const rational *self, redtune_dtype dtype);
