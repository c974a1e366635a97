/* Op float: f32 arithmetic, with its roundings, flushing of subnormals and saturation. */
#include "exec/lanes.h"

#include <fenv.h>
#include <math.h>

enum { F32_NAN = 0x7fffffff };

static inline uint64_t keep(float value) { return value != value ? F32_NAN : sim_f32_bits(value); }

static inline float flush(float value) {
    return fabsf(value) < 0x1p-126f ? copysignf(0.0f, value) : value;
}

/* NaN saturates to 0. */
static inline float saturate(float value) {
    return value >= 1.0f ? 1.0f : value > 0.0f ? value : 0.0f;
}

static int rounding_of(uint8_t flags) {
    return flags & SIM_FLAG_RZ   ? FE_TOWARDZERO
           : flags & SIM_FLAG_RM ? FE_DOWNWARD
           : flags & SIM_FLAG_RP ? FE_UPWARD
                                 : FE_TONEAREST;
}

/* The flagged form of a step, around each lane. */
#define IN(v)  (ftz ? flush(v) : (v))
#define OUT(v) finish((v), ftz, in->flags)

static inline uint64_t finish(float value, bool ftz, uint8_t flags) {
    if (ftz) value = flush(value);
    if (flags & SIM_FLAG_SAT) value = saturate(value);
    return keep(value);
}

#define FLAGGED(name, body)                                                                        \
    static void name##_flagged(sim_run *x, const sim_inst *in, uint32_t lanes) {                   \
        uint64_t *d = sim_row(x, in->ref[0]);                                                      \
        const uint64_t *pa = sim_row(x, in->ref[1]), *pb = sim_row(x, in->ref[2]);                 \
        const uint64_t *pc = sim_row(x, in->ref[3]);                                               \
        bool ftz = in->flags & SIM_FLAG_FTZ;                                                       \
        (void)pb, (void)pc;                                                                        \
        fesetround(rounding_of(in->flags));                                                        \
        for (uint32_t rest = lanes; rest; rest &= rest - 1) {                                      \
            uint32_t i = (uint32_t)__builtin_ctz(rest);                                            \
            body;                                                                                  \
        }                                                                                          \
        fesetround(FE_TONEAREST);                                                                  \
    }

#define FLOAT1(name, expression)                                                                   \
    static inline float name##_of(float a) { return expression; }                                  \
    SIM_STEP1(name, SIM_READ_F32, keep(name##_of(a)))                                              \
    FLAGGED(name, d[i] = OUT(name##_of(IN(sim_f32(pa[i])))))

#define FLOAT2(name, expression)                                                                   \
    static inline float name##_of(float a, float b) { return expression; }                         \
    SIM_STEP2(name, SIM_READ_F32, keep(name##_of(a, b)))                                           \
    FLAGGED(name, d[i] = OUT(name##_of(IN(sim_f32(pa[i])), IN(sim_f32(pb[i])))))

#define FLOAT3(name, expression)                                                                   \
    static inline float name##_of(float a, float b, float c) { return expression; }                \
    SIM_STEP3(name, SIM_READ_F32, keep(name##_of(a, b, c)))                                        \
    FLAGGED(name, d[i] = OUT(name##_of(IN(sim_f32(pa[i])), IN(sim_f32(pb[i])), IN(sim_f32(pc[i])))))

/* -0 is less than +0; of a number and a NaN the number is taken, unless the form keeps NaN. */
static inline float least(float a, float b) {
    if (a != a) return b;
    if (b != b) return a;
    if (a == b) return signbit(a) ? a : b;
    return a < b ? a : b;
}

static inline float most(float a, float b) {
    if (a != a) return b;
    if (b != b) return a;
    if (a == b) return signbit(a) ? b : a;
    return a > b ? a : b;
}

FLOAT2(add_f32, a + b)
FLOAT2(sub_f32, a - b)
FLOAT2(mul_f32, a *b)
FLOAT2(div_f32, a / b)
FLOAT3(fma_f32, __builtin_fmaf(a, b, c))
FLOAT2(min_f32, least(a, b))
FLOAT2(max_f32, most(a, b))
FLOAT2(min_nan_f32, a != a || b != b ? NAN : least(a, b))
FLOAT2(max_nan_f32, a != a || b != b ? NAN : most(a, b))
FLOAT1(rcp_f32, 1.0f / a)
FLOAT1(sqrt_f32, sqrtf(a))
FLOAT1(rsqrt_f32, (float)(1.0 / sqrt((double)a)))
FLOAT1(sin_f32, sinf(a))
FLOAT1(cos_f32, cosf(a))
FLOAT1(lg2_f32, log2f(a))
FLOAT1(ex2_f32, exp2f(a))
FLOAT1(tanh_f32, tanhf(a))
FLOAT1(abs_f32, fabsf(a))
FLOAT1(neg_f32, -a)

/* copysign puts a's sign on b. */
SIM_STEP2(copysign_f32, SIM_READ_U32, (a & 0x80000000u) | (b & 0x7fffffffu))

#define TESTP(name, expression)                                                                    \
    static void testp_##name(sim_run *x, const sim_inst *in, uint32_t lanes) {                     \
        const uint64_t *p = sim_row(x, in->ref[1]);                                                \
        uint32_t result = 0;                                                                       \
        for (uint32_t i = 0; i < SIM_LANES; i++) {                                                 \
            float a = sim_f32(p[i]);                                                               \
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
    BOTH("add.f32", "Fff", add_f32),
    BOTH("sub.f32", "Fff", sub_f32),
    BOTH("mul.f32", "Fff", mul_f32),
    BOTH("fma.f32", "Ffff", fma_f32),
    BOTH("mad.f32", "Ffff", fma_f32),
    BOTH("div.f32", "Fff", div_f32),
    BOTH("div.approx.f32", "Fff", div_f32),
    BOTH("div.full.f32", "Fff", div_f32),
    BOTH("min.f32", "Fff", min_f32),
    BOTH("max.f32", "Fff", max_f32),
    BOTH("min.NaN.f32", "Fff", min_nan_f32),
    BOTH("max.NaN.f32", "Fff", max_nan_f32),
    BOTH("rcp.f32", "Ff", rcp_f32),
    BOTH("rcp.approx.f32", "Ff", rcp_f32),
    BOTH("sqrt.f32", "Ff", sqrt_f32),
    BOTH("sqrt.approx.f32", "Ff", sqrt_f32),
    BOTH("rsqrt.approx.f32", "Ff", rsqrt_f32),
    BOTH("sin.approx.f32", "Ff", sin_f32),
    BOTH("cos.approx.f32", "Ff", cos_f32),
    BOTH("lg2.approx.f32", "Ff", lg2_f32),
    BOTH("ex2.approx.f32", "Ff", ex2_f32),
    BOTH("tanh.approx.f32", "Ff", tanh_f32),
    BOTH("abs.f32", "Ff", abs_f32),
    BOTH("neg.f32", "Ff", neg_f32),
    {"copysign.f32", "Fff", copysign_f32, NULL},
    {"testp.finite.f32", "Pf", testp_finite, NULL},
    {"testp.infinite.f32", "Pf", testp_infinite, NULL},
    {"testp.number.f32", "Pf", testp_number, NULL},
    {"testp.notanumber.f32", "Pf", testp_notanumber, NULL},
    {"testp.normal.f32", "Pf", testp_normal, NULL},
    {"testp.subnormal.f32", "Pf", testp_subnormal, NULL},
};

const sim_op_table sim_ops_float = SIM_OP_TABLE(ops);
