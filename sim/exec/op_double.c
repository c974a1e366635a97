/* Op double: f64 arithmetic, with its roundings. */
#include "exec/lanes.h"

#include <fenv.h>
#include <math.h>

#define F64_NAN   0xfff8000000000000ull /* what an invalid operation on numbers gives */
#define F64_QUIET 0x0008000000000000ull

/* Hardware hands a NaN of the sources on, made quiet; which of several depends on the
 * instruction, and each of these looks at its arguments from the last to the first. */
static inline uint64_t pass(uint64_t otherwise, double source) {
    return source != source ? sim_f64_bits(source) | F64_QUIET : otherwise;
}

static inline uint64_t keep1(double value, double a) {
    return value == value ? sim_f64_bits(value) : pass(F64_NAN, a);
}

static inline uint64_t keep2(double value, double a, double b) {
    return value == value ? sim_f64_bits(value) : pass(pass(F64_NAN, a), b);
}

static inline uint64_t keep3(double value, double a, double b, double c) {
    return value == value ? sim_f64_bits(value) : pass(pass(pass(F64_NAN, a), b), c);
}

static int rounding_of(uint8_t flags) {
    return flags & SIM_FLAG_RZ   ? FE_TOWARDZERO
           : flags & SIM_FLAG_RM ? FE_DOWNWARD
           : flags & SIM_FLAG_RP ? FE_UPWARD
                                 : FE_TONEAREST;
}

/* f64 knows roundings, and neither flushing nor saturation; rcp.approx.ftz is its own form. */
#define FLAGGED(name, step)                                                                        \
    static void name##_flagged(sim_run *x, const sim_inst *in, uint32_t lanes) {                   \
        fesetround(rounding_of(in->flags));                                                        \
        step(x, in, lanes);                                                                        \
        fesetround(FE_TONEAREST);                                                                  \
    }

static inline double least(double a, double b) {
    if (a != a) return b;
    if (b != b) return a;
    if (a == b) return signbit(a) ? a : b;
    return a < b ? a : b;
}

static inline double most(double a, double b) {
    if (a != a) return b;
    if (b != b) return a;
    if (a == b) return signbit(a) ? b : a;
    return a > b ? a : b;
}

SIM_STEP2(add_f64, SIM_READ_F64, keep2(a + b, a, b))
SIM_STEP2(sub_f64, SIM_READ_F64, keep2(a - b, a, b))
SIM_STEP2(mul_f64, SIM_READ_F64, keep2(a *b, a, b))
SIM_STEP2(div_f64, SIM_READ_F64, keep2(a / b, b, a))
SIM_STEP3(fma_f64, SIM_READ_F64, keep3(__builtin_fma(a, b, c), a, c, b))
SIM_STEP2(min_f64, SIM_READ_F64, keep2(least(a, b), a, b))
SIM_STEP2(max_f64, SIM_READ_F64, keep2(most(a, b), a, b))
SIM_STEP1(rcp_f64, SIM_READ_F64, keep1(1.0 / a, a))
SIM_STEP1(sqrt_f64, SIM_READ_F64, keep1(sqrt(a), a))
SIM_STEP1(rsqrt_f64, SIM_READ_F64, keep1(1.0 / sqrt(a), a))
/* The sign of a NaN stays as it is. */
SIM_STEP1(abs_f64, SIM_READ_F64, keep1(fabs(a), a))
SIM_STEP1(neg_f64, SIM_READ_F64, keep1(-a, a))
SIM_STEP2(copysign_f64, SIM_READ_U64, (a & 0x8000000000000000ull) | (b & 0x7fffffffffffffffull))

FLAGGED(add_f64, add_f64)
FLAGGED(sub_f64, sub_f64)
FLAGGED(mul_f64, mul_f64)
FLAGGED(div_f64, div_f64)
FLAGGED(fma_f64, fma_f64)
FLAGGED(rcp_f64, rcp_f64)
FLAGGED(sqrt_f64, sqrt_f64)

/* rcp.approx.ftz.f64 gives the upper 32 bits only. */
static inline double flush(double value) {
    return fabs(value) < 0x1p-1022 ? copysign(0.0, value) : value;
}

SIM_STEP1(rcp_approx_f64, SIM_READ_F64,
          keep1(sim_f64(sim_f64_bits(flush(1.0 / flush(a))) & 0xffffffff00000000ull), a))
SIM_STEP1(rsqrt_approx_f64, SIM_READ_F64,
          keep1(sim_f64(sim_f64_bits(flush(1.0 / sqrt(flush(a)))) & 0xffffffff00000000ull), a))

#define TESTP(name, expression)                                                                    \
    static void testp_##name(sim_run *x, const sim_inst *in, uint32_t lanes) {                     \
        const uint64_t *p = sim_row(x, in->ref[1]);                                                \
        uint32_t result = 0;                                                                       \
        for (uint32_t i = 0; i < SIM_LANES; i++) {                                                 \
            double a = sim_f64(p[i]);                                                              \
            result |= (uint32_t)((expression) != 0) << i;                                          \
        }                                                                                          \
        sim_mask_put(x, in->ref[0], lanes, result);                                                \
    }

TESTP(finite, isfinite(a))
TESTP(infinite, isinf(a))
TESTP(number, !isnan(a))
TESTP(notanumber, isnan(a))
TESTP(normal, isnormal(a) || a == 0)
TESTP(subnormal, fpclassify(a) == FP_SUBNORMAL)

#define BOTH(name, pattern, step)                                                                  \
    { name, pattern, step, step##_flagged }

static const sim_op ops[] = {
    BOTH("add.f64", "Eee", add_f64),
    BOTH("sub.f64", "Eee", sub_f64),
    BOTH("mul.f64", "Eee", mul_f64),
    BOTH("fma.f64", "Eeee", fma_f64),
    BOTH("mad.f64", "Eeee", fma_f64),
    BOTH("div.f64", "Eee", div_f64),
    BOTH("rcp.f64", "Ee", rcp_f64),
    BOTH("sqrt.f64", "Ee", sqrt_f64),
    {"min.f64", "Eee", min_f64, NULL},
    {"max.f64", "Eee", max_f64, NULL},
    {"abs.f64", "Ee", abs_f64, NULL},
    {"neg.f64", "Ee", neg_f64, NULL},
    {"copysign.f64", "Eee", copysign_f64, NULL},
    {"rcp.approx.f64", "Ee", NULL, rcp_approx_f64},
    {"rsqrt.approx.f64", "Ee", rsqrt_f64, rsqrt_approx_f64},
    {"testp.finite.f64", "Pe", testp_finite, NULL},
    {"testp.infinite.f64", "Pe", testp_infinite, NULL},
    {"testp.number.f64", "Pe", testp_number, NULL},
    {"testp.notanumber.f64", "Pe", testp_notanumber, NULL},
    {"testp.normal.f64", "Pe", testp_normal, NULL},
    {"testp.subnormal.f64", "Pe", testp_subnormal, NULL},
};

const sim_op_table sim_ops_double = SIM_OP_TABLE(ops);
