/* Ill-conditioned: elements whose sum, or dot, is tiny beside them. A file that includes it has
 * them to itself. */
#pragma once

#include <math.h>
#include "base/random.h"
#include "model/scalar.h"
#include "rational.h"

/* From -1 to 1. */
static double real(rdt_random *random) {
    return ldexp((double)(int64_t)rdt_random_next(random), -63);
}

static double rounded(redtune_dtype dtype, double x) {
    const redtune_value value = rdt_scalar_from_real(dtype, x);
    return rdt_scalar_real(dtype, &value, 0);
}

typedef enum set { KAHAN, ANDERSON, OGITA_RUMP_OISHI, PAIRS, SETS, ANY = SETS } set;

static const char *const set_names[] = {"Kahan", "Anderson", "Ogita-Rump-Oishi", "pairs", "any"};

/* Finite, of any bits. */
static double any_number(redtune_dtype dtype, rdt_random *random) {
    for (;;) {
        const redtune_value value = rdt_scalar_from_bits(dtype, rdt_random_next(random));
        const double x = rdt_scalar_real(dtype, &value, 0);
        if (isfinite(x)) return x;
    }
}

/* By how many powers of two elements differ. */
static int spread(redtune_dtype dtype) {
    return dtype == REDTUNE_F16 ? 12 : dtype == REDTUNE_F64 ? 40 : 18;
}

/* The x of both, where y is given, that makes their sum as small as a rounding allows. */
static double cancel(redtune_dtype dtype, const rational *sum, double y) {
    double x = (double)(-rational_real(sum) / (long double)y);
    /* That of a few f16 may be beyond the largest number. */
    while (!isfinite(rounded(dtype, x))) x /= 2;
    return rounded(dtype, x);
}

/* Factors of what is added: y is 1 where the op has one input. */
static void draw_set(redtune_dtype dtype, set kind, bool paired, uint64_t count, double *x,
                     double *y, rdt_random *random) {
    rational sum = {.pending = 0};
    const int bits = dtype == REDTUNE_F64 ? 53 : dtype == REDTUNE_F32 ? 24 : 11;
    for (uint64_t i = 0; i < count; i++) {
        const int exponent = (int)(rdt_random_next(random) % (uint64_t)spread(dtype));
        const double part = (double)i / (double)count;
        y[i] = paired ? rounded(dtype, 1 + fabs(real(random))) : 1;
        switch (kind) {
        /* Large ones that cancel, and many that each lose their digits beside one. */
        case KAHAN: x[i] = i % 7 ? 1 + real(random) / 2 : ldexp(i / 7 % 2 ? -1 : 1, bits); break;
        /* The last takes their mean away, many times over. */
        case ANDERSON:
            x[i] = i + 1 < count || dtype == REDTUNE_F16 ? real(random) : cancel(dtype, &sum, y[i]);
            break;
        /* The second half takes away what the first has left, ever more exactly. */
        case OGITA_RUMP_OISHI:
            x[i] = i < count / 2 ? ldexp(real(random), exponent)
                                 : ldexp(real(random), (int)(2 * (1 - part) * spread(dtype))) +
                                       cancel(dtype, &sum, y[i]);
            break;
        /* Numbers, and further down their negatives. */
        case PAIRS:
            x[i] = i % 64 < 32 || i < 32 ? ldexp(real(random), exponent) : -x[i - 32];
            if (i % 64 >= 32) y[i] = y[i - 32];
            break;
        /* Of every exponent, the least and the greatest among them. */
        case ANY: x[i] = any_number(dtype, random); break;
        }
        /* What takes a sum of f16 away may be beyond its largest number. */
        while (!isfinite(rounded(dtype, x[i]))) x[i] /= 2;
        x[i] = rounded(dtype, x[i]);
        rational_add(&sum, x[i], y[i]);
    }
}
