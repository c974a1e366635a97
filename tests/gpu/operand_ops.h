/* Operand ops: the ops of fixtures/operands, each computed by a plain loop. A file that includes it
 * has it to itself. */
#pragma once

#include <math.h>
#include "model/scalar.h"

enum { COUNTS_MAX = 4000 }; /* elements of a result */

static const double scalars[RDT_GIVEN_SCALARS] = {3, -2}; /* scale, limit */

/* The elements of one result, as they are. */
typedef struct elements {
    uint64_t count;
    double x[COUNTS_MAX], y[COUNTS_MAX];
} elements;

typedef void compute_fn(redtune_dtype dtype, const elements *of, double out[2]);

static void compute_dot(redtune_dtype dtype, const elements *of, double out[2]) {
    (void)dtype;
    for (uint64_t i = 0; i < of->count; i++) out[0] += of->x[i] * of->y[i];
}

static void compute_above(redtune_dtype dtype, const elements *of, double out[2]) {
    (void)dtype;
    for (uint64_t i = 0; i < of->count; i++)
        if (of->x[i] > scalars[1]) out[0] += scalars[0] * of->x[i];
}

static void compute_cosine(redtune_dtype dtype, const elements *of, double out[2]) {
    double xy = 0, xx = 0, yy = 0;
    (void)dtype;
    for (uint64_t i = 0; i < of->count; i++) {
        xy += of->x[i] * of->y[i];
        xx += of->x[i] * of->x[i];
        yy += of->y[i] * of->y[i];
    }
    out[0] = xy / (sqrt(xx) * sqrt(yy));
}

static void compute_powers(redtune_dtype dtype, const elements *of, double out[2]) {
    (void)dtype;
    for (uint64_t i = 0; i < of->count; i++) {
        const double x = of->x[i];
        out[0] += 1 + 2 * x + 3 * x * x + 5 * x * x * x;
        out[1] += x > 0;
    }
}

static double greatest_of(redtune_dtype dtype) {
    if (rdt_scalar_is_float(dtype)) return (double)INFINITY;
    const int bits = 8 * (int)redtune_dtype_bytes(dtype) - rdt_scalar_is_signed(dtype);
    return ldexp(1, bits) - 1;
}

static double least_of(redtune_dtype dtype) {
    if (rdt_scalar_is_float(dtype)) return -(double)INFINITY;
    return rdt_scalar_is_signed(dtype) ? -greatest_of(dtype) - 1 : 0;
}

/* out begins with 0, or with what the output held. */
static void compute_extremes(redtune_dtype dtype, const elements *of, double out[2]) {
    const bool goes_on = out[0] != 0;
    if (!goes_on) out[0] = greatest_of(dtype), out[1] = least_of(dtype);
    for (uint64_t i = 0; i < of->count; i++) {
        out[0] = fmin(out[0], of->x[i]);
        out[1] = fmax(out[1], of->x[i]);
    }
}

static void compute_counted(redtune_dtype dtype, const elements *of, double out[2]) {
    (void)dtype;
    for (uint64_t i = 0; i < of->count; i++) out[0] += of->x[i];
    out[0] /= (double)of->count;
    out[1] = (double)of->count;
}

static void compute_lowest(redtune_dtype dtype, const elements *of, double out[2]) {
    out[0] = greatest_of(dtype), out[1] = -1;
    for (uint64_t i = 0; i < of->count; i++)
        if (out[1] < 0 || of->x[i] < out[0] || (isnan(of->x[i]) && !isnan(out[0])))
            out[0] = of->x[i], out[1] = (double)i;
}

static const struct {
    const char *name;
    compute_fn *compute;
    int inputs, outputs;
    bool resumes, nan, is_signed;
} ops[] = {
    {"t_dot", compute_dot, 2, 1, true, false, false},
    {"t_above", compute_above, 1, 1, true, false, false},
    {"t_cosine", compute_cosine, 2, 1, false, false, false},
    {"t_powers", compute_powers, 1, 2, false, false, false},
    {"t_extremes", compute_extremes, 1, 2, true, false, false},
    {"t_counted", compute_counted, 1, 2, false, false, false},
    {"t_lowest", compute_lowest, 1, 2, false, true, true},
};
enum { OPS = sizeof ops / sizeof *ops };

static const redtune_dtype dtypes[] = {REDTUNE_I8,   REDTUNE_U8,  REDTUNE_I32, REDTUNE_F16,
                                       REDTUNE_BF16, REDTUNE_F32, REDTUNE_F64};
enum { DTYPES = sizeof dtypes / sizeof *dtypes };
