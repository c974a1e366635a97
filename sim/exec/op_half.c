/* Op half: arithmetic in f16 and bf16, single and in pairs. */
#include "exec/half.h"
#include "exec/lanes.h"

#include <math.h>

/* One operation of up to three halves, in double with a rounding that a second one may follow. */
typedef double operation(double a, double b, double c);

static double add(double a, double b, double c) { return (void)c, sim_half_odd_add(a, b); }
static double sub(double a, double b, double c) { return (void)c, sim_half_odd_add(a, -b); }
static double mul(double a, double b, double c) { return (void)c, a * b; }

static double least(double a, double b, double c) {
    (void)c;
    if (isnan(a)) return b;
    if (isnan(b)) return a;
    if (a == b) return signbit(a) ? a : b;
    return a < b ? a : b;
}

static double most(double a, double b, double c) {
    (void)c;
    if (isnan(a)) return b;
    if (isnan(b)) return a;
    if (a == b) return signbit(a) ? b : a;
    return a > b ? a : b;
}

static double least_nan(double a, double b, double c) {
    return isnan(a) || isnan(b) ? (double)NAN : least(a, b, c);
}

static double most_nan(double a, double b, double c) {
    return isnan(a) || isnan(b) ? (double)NAN : most(a, b, c);
}

static double flush(double value, const sim_half_format *format) {
    double normal = ldexp(1.0, 2 - (1 << (format->exponent_bits - 1)));
    return fabs(value) < normal ? copysign(0.0, value) : value;
}

static uint16_t apply(operation *run, const sim_half_format *format, const uint16_t *v,
                      uint8_t flags) {
    double values[3];
    for (int i = 0; i < 3; i++) {
        values[i] = sim_half_to_double(v[i], format);
        if (flags & SIM_FLAG_FTZ) values[i] = flush(values[i], format);
    }
    double result = run(values[0], values[1], values[2]);
    if (flags & SIM_FLAG_SAT) result = isnan(result) ? 0 : fmin(fmax(result, 0), 1);
    uint16_t bits = sim_half_from_double(result, format, 0);
    if (flags & SIM_FLAG_FTZ) {
        double kept = sim_half_to_double(bits, format);
        bits = sim_half_from_double(flush(kept, format), format, 0);
    }
    return bits;
}

static void run_halves(sim_run *x, const sim_inst *in, uint32_t lanes, operation *run,
                       const sim_half_format *format) {
    uint64_t *d = sim_row(x, in->ref[0]);
    const uint64_t *a = sim_row(x, in->ref[1]), *b = sim_row(x, in->ref[2]);
    const uint64_t *c = sim_row(x, in->ref[3]);
    for (uint32_t rest = lanes; rest; rest &= rest - 1) {
        uint32_t i = (uint32_t)__builtin_ctz(rest);
        uint64_t result = 0;
        for (uint32_t part = 0; part < 2; part++) {
            uint16_t v[3] = {(uint16_t)(a[i] >> 16 * part), (uint16_t)(b[i] >> 16 * part),
                             (uint16_t)(c[i] >> 16 * part)};
            result |= (uint64_t)apply(run, format, v, in->flags) << 16 * part;
        }
        d[i] = result;
    }
}

/* A single half runs as a pair whose upper part is dropped. */
#define HALF(name, operation)                                                                      \
    static void name##_f16x2(sim_run *x, const sim_inst *in, uint32_t lanes) {                     \
        run_halves(x, in, lanes, operation, &sim_f16_format);                                      \
    }                                                                                              \
    static void name##_bf16x2(sim_run *x, const sim_inst *in, uint32_t lanes) {                    \
        run_halves(x, in, lanes, operation, &sim_bf16_format);                                     \
    }                                                                                              \
    static void name##_f16(sim_run *x, const sim_inst *in, uint32_t lanes) {                       \
        name##_f16x2(x, in, lanes);                                                                \
        uint64_t *d = sim_row(x, in->ref[0]);                                                      \
        SIM_FOR_LANES(i, lanes, d[i] &= 0xffff);                                                   \
    }                                                                                              \
    static void name##_bf16(sim_run *x, const sim_inst *in, uint32_t lanes) {                      \
        name##_bf16x2(x, in, lanes);                                                               \
        uint64_t *d = sim_row(x, in->ref[0]);                                                      \
        SIM_FOR_LANES(i, lanes, d[i] &= 0xffff);                                                   \
    }

HALF(add, add)
HALF(sub, sub)
HALF(mul, mul)
HALF(fma, sim_half_odd_fma)
HALF(min, least)
HALF(max, most)
HALF(min_nan, least_nan)
HALF(max_nan, most_nan)

/* A NaN loses its sign and payload here as it does in sums. infinity is the format's. */
static inline uint32_t change_sign(uint32_t half, uint32_t keep, uint32_t flip, uint32_t infinity) {
    half &= 0xffff;
    return (half & 0x7fff) > infinity ? 0x7fffu : (half & keep) ^ flip;
}

static inline uint32_t change_signs(uint32_t pair, uint32_t keep, uint32_t flip,
                                    uint32_t infinity) {
    return change_sign(pair >> 16, keep, flip, infinity) << 16 |
           change_sign(pair, keep, flip, infinity);
}

SIM_STEP1(abs_f16, SIM_READ_U32, change_sign(a, 0x7fff, 0, 0x7c00))
SIM_STEP1(neg_f16, SIM_READ_U32, change_sign(a, 0xffff, 0x8000, 0x7c00))
SIM_STEP1(abs_bf16, SIM_READ_U32, change_sign(a, 0x7fff, 0, 0x7f80))
SIM_STEP1(neg_bf16, SIM_READ_U32, change_sign(a, 0xffff, 0x8000, 0x7f80))
SIM_STEP1(abs_f16x2, SIM_READ_U32, change_signs(a, 0x7fff, 0, 0x7c00))
SIM_STEP1(neg_f16x2, SIM_READ_U32, change_signs(a, 0xffff, 0x8000, 0x7c00))
SIM_STEP1(abs_bf16x2, SIM_READ_U32, change_signs(a, 0x7fff, 0, 0x7f80))
SIM_STEP1(neg_bf16x2, SIM_READ_U32, change_signs(a, 0xffff, 0x8000, 0x7f80))

#define ALL(name, step, half, pair)                                                                \
    {name ".f16", half, step##_f16, step##_f16},                                                   \
        {name ".f16x2", pair, step##_f16x2, step##_f16x2},                                         \
        {name ".bf16", half, step##_bf16, step##_bf16}, {                                          \
        name ".bf16x2", pair, step##_bf16x2, step##_bf16x2                                         \
    }

static const sim_op ops[] = {
    ALL("add", add, "Hhh", "Iii"),         ALL("sub", sub, "Hhh", "Iii"),
    ALL("mul", mul, "Hhh", "Iii"),         ALL("fma", fma, "Hhhh", "Iiii"),
    ALL("min", min, "Hhh", "Iii"),         ALL("max", max, "Hhh", "Iii"),
    ALL("min.NaN", min_nan, "Hhh", "Iii"), ALL("max.NaN", max_nan, "Hhh", "Iii"),
    ALL("abs", abs, "Hh", "Ii"),           ALL("neg", neg, "Hh", "Ii"),
};

const sim_op_table sim_ops_half = SIM_OP_TABLE(ops);
