/* Op integer: integer arithmetic: 16, 32 and 64 bits, signed and unsigned. */
#include "exec/lanes.h"

/* PTX leaves division by zero open; hardware gives all ones, as the remainder too. */
static inline uint32_t div_u32(uint32_t a, uint32_t b) { return b ? a / b : UINT32_MAX; }
static inline uint32_t rem_u32(uint32_t a, uint32_t b) { return b ? a % b : UINT32_MAX; }
static inline uint64_t div_u64(uint64_t a, uint64_t b) { return b ? a / b : UINT64_MAX; }
static inline uint64_t rem_u64(uint64_t a, uint64_t b) { return b ? a % b : UINT64_MAX; }

static inline uint32_t div_s32(int32_t a, int32_t b) {
    if (b == 0) return UINT32_MAX;
    return b == -1 ? 0u - (uint32_t)a : (uint32_t)(a / b);
}

static inline uint32_t rem_s32(int32_t a, int32_t b) {
    if (b == 0) return UINT32_MAX;
    return b == -1 ? 0 : (uint32_t)(a % b);
}

static inline uint64_t div_s64(int64_t a, int64_t b) {
    if (b == 0) return UINT64_MAX;
    return b == -1 ? 0ull - (uint64_t)a : (uint64_t)(a / b);
}

static inline uint64_t rem_s64(int64_t a, int64_t b) {
    if (b == 0) return UINT64_MAX;
    return b == -1 ? 0 : (uint64_t)(a % b);
}

static inline uint64_t high_u64(uint64_t a, uint64_t b) {
    return (uint64_t)((unsigned __int128)a * b >> 64);
}

static inline uint64_t high_s64(int64_t a, int64_t b) {
    return (uint64_t)((unsigned __int128)((__int128)a * b) >> 64);
}

static inline uint32_t saturate_s32(int64_t value) {
    if (value > INT32_MAX) return INT32_MAX;
    if (value < INT32_MIN) return (uint32_t)INT32_MIN;
    return (uint32_t)(int32_t)value;
}

#define U16(v)            ((uint64_t)(uint16_t)(v))
#define U32(v)            ((uint64_t)(uint32_t)(v))
#define U64(v)            ((uint64_t)(v))
#define MIN(a, b)         ((a) < (b) ? (a) : (b))
#define MAX(a, b)         ((a) > (b) ? (a) : (b))
#define DISTANCE(U, a, b) ((a) > (b) ? (U)(a) - (U)(b) : (U)(b) - (U)(a))

SIM_STEP2(add_16, SIM_READ_U16, U16(a + b))
SIM_STEP2(add_32, SIM_READ_U32, U32(a + b))
SIM_STEP2(add_64, SIM_READ_U64, U64(a + b))
SIM_STEP2(add_sat_s32, SIM_READ_S32, saturate_s32((int64_t)a + b))
SIM_STEP2(sub_16, SIM_READ_U16, U16(a - b))
SIM_STEP2(sub_32, SIM_READ_U32, U32(a - b))
SIM_STEP2(sub_64, SIM_READ_U64, U64(a - b))
SIM_STEP2(sub_sat_s32, SIM_READ_S32, saturate_s32((int64_t)a - b))
SIM_STEP2(mul_lo_16, SIM_READ_U16, U16((uint32_t)a *b))
SIM_STEP2(mul_lo_32, SIM_READ_U32, U32(a *b))
SIM_STEP2(mul_lo_64, SIM_READ_U64, U64(a *b))
SIM_STEP2(mul_hi_u16, SIM_READ_U16, U16((uint32_t)a *b >> 16))
SIM_STEP2(mul_hi_s16, SIM_READ_S16, U16((int32_t)a *b >> 16))
SIM_STEP2(mul_hi_u32, SIM_READ_U32, U32((uint64_t)a *b >> 32))
SIM_STEP2(mul_hi_s32, SIM_READ_S32, U32((int64_t)a *b >> 32))
SIM_STEP2(mul_hi_u64, SIM_READ_U64, high_u64(a, b))
SIM_STEP2(mul_hi_s64, SIM_READ_S64, high_s64(a, b))
SIM_STEP2(mul_wide_u16, SIM_READ_U16, U32((uint32_t)a *b))
SIM_STEP2(mul_wide_s16, SIM_READ_S16, U32((int32_t)a *b))
SIM_STEP2(mul_wide_u32, SIM_READ_U32, (uint64_t)a *b)
SIM_STEP2(mul_wide_s32, SIM_READ_S32, U64((int64_t)a *b))
SIM_STEP2(div_u16_, SIM_READ_U16, U16(div_u32(a, b)))
SIM_STEP2(div_s16_, SIM_READ_S16, U16(div_s32(a, b)))
SIM_STEP2(div_u32_, SIM_READ_U32, div_u32(a, b))
SIM_STEP2(div_s32_, SIM_READ_S32, div_s32(a, b))
SIM_STEP2(div_u64_, SIM_READ_U64, div_u64(a, b))
SIM_STEP2(div_s64_, SIM_READ_S64, div_s64(a, b))
SIM_STEP2(rem_u16_, SIM_READ_U16, U16(rem_u32(a, b)))
SIM_STEP2(rem_s16_, SIM_READ_S16, U16(rem_s32(a, b)))
SIM_STEP2(rem_u32_, SIM_READ_U32, rem_u32(a, b))
SIM_STEP2(rem_s32_, SIM_READ_S32, rem_s32(a, b))
SIM_STEP2(rem_u64_, SIM_READ_U64, rem_u64(a, b))
SIM_STEP2(rem_s64_, SIM_READ_S64, rem_s64(a, b))
SIM_STEP2(min_u16, SIM_READ_U16, U16(MIN(a, b)))
SIM_STEP2(min_s16, SIM_READ_S16, U16(MIN(a, b)))
SIM_STEP2(min_u32, SIM_READ_U32, U32(MIN(a, b)))
SIM_STEP2(min_s32, SIM_READ_S32, U32(MIN(a, b)))
SIM_STEP2(min_u64, SIM_READ_U64, MIN(a, b))
SIM_STEP2(min_s64, SIM_READ_S64, U64(MIN(a, b)))
SIM_STEP2(max_u16, SIM_READ_U16, U16(MAX(a, b)))
SIM_STEP2(max_s16, SIM_READ_S16, U16(MAX(a, b)))
SIM_STEP2(max_u32, SIM_READ_U32, U32(MAX(a, b)))
SIM_STEP2(max_s32, SIM_READ_S32, U32(MAX(a, b)))
SIM_STEP2(max_u64, SIM_READ_U64, MAX(a, b))
SIM_STEP2(max_s64, SIM_READ_S64, U64(MAX(a, b)))
SIM_STEP1(neg_16, SIM_READ_U16, U16(0u - a))
SIM_STEP1(neg_32, SIM_READ_U32, U32(0u - a))
SIM_STEP1(neg_64, SIM_READ_U64, 0ull - a)
SIM_STEP1(abs_s16, SIM_READ_S16, U16(a < 0 ? 0 - a : a))
SIM_STEP1(abs_s32, SIM_READ_S32, U32(a < 0 ? 0u - (uint32_t)a : (uint32_t)a))
SIM_STEP1(abs_s64, SIM_READ_S64, a < 0 ? 0ull - (uint64_t)a : (uint64_t)a)
SIM_STEP3(mad_lo_16, SIM_READ_U16, U16((uint32_t)a *b + c))
SIM_STEP3(mad_lo_32, SIM_READ_U32, U32(a *b + c))
SIM_STEP3(mad_lo_64, SIM_READ_U64, a *b + c)
SIM_STEP3(mad_hi_u32, SIM_READ_U32, U32(((uint64_t)a * b >> 32) + c))
SIM_STEP3(mad_hi_s32, SIM_READ_S32, U32((uint64_t)((int64_t)a *b >> 32) + (uint64_t)c))
SIM_STEP3(mad_hi_u64, SIM_READ_U64, high_u64(a, b) + c)
SIM_STEP3(mad_hi_s64, SIM_READ_S64, high_s64(a, b) + (uint64_t)c)
/* mad.wide reads c at the width of the result. */
SIM_STEP3(mad_wide_u32, SIM_READ_U64, U64((uint64_t)(uint32_t)a *(uint32_t)b + c))
SIM_STEP3(mad_wide_s32, SIM_READ_U64, U64((int64_t)(int32_t)a *(int32_t)b) + c)
SIM_STEP3(mad_wide_u16, SIM_READ_U32, U32((uint32_t)(uint16_t)a *(uint16_t)b + c))
SIM_STEP3(mad_wide_s16, SIM_READ_U32, U32((uint32_t)((int32_t)(int16_t)a *(int16_t)b) + c))
SIM_STEP3(sad_u32, SIM_READ_U32, U32(c + DISTANCE(uint32_t, a, b)))
SIM_STEP3(sad_s32, SIM_READ_S32, U32((uint32_t)c + DISTANCE(uint32_t, a, b)))
SIM_STEP3(sad_u64, SIM_READ_U64, c + DISTANCE(uint64_t, a, b))
SIM_STEP3(sad_s64, SIM_READ_S64, (uint64_t)c + DISTANCE(uint64_t, a, b))

static inline int32_t byte_of(uint32_t word, uint32_t i, bool is_signed) {
    uint8_t byte = (uint8_t)(word >> (8 * i));
    return is_signed ? (int8_t)byte : byte;
}

static inline int32_t half_of(uint32_t word, uint32_t i, bool is_signed) {
    uint16_t half = (uint16_t)(word >> (16 * i));
    return is_signed ? (int16_t)half : half;
}

static inline uint32_t dot4(uint32_t a, uint32_t b, uint32_t c, bool a_signed, bool b_signed) {
    for (uint32_t i = 0; i < 4; i++) {
        c += (uint32_t)(byte_of(a, i, a_signed) * byte_of(b, i, b_signed));
    }
    return c;
}

/* dp2a multiplies the two halves of a with the low or the high two bytes of b. */
static inline uint32_t dot2(uint32_t a, uint32_t b, uint32_t c, bool a_signed, bool b_signed) {
    for (uint32_t i = 0; i < 2; i++) {
        c += (uint32_t)(half_of(a, i, a_signed) * byte_of(b, i, b_signed));
    }
    return c;
}

SIM_STEP3(dp4a_uu, SIM_READ_U32, dot4(a, b, c, false, false))
SIM_STEP3(dp4a_us, SIM_READ_U32, dot4(a, b, c, false, true))
SIM_STEP3(dp4a_su, SIM_READ_U32, dot4(a, b, c, true, false))
SIM_STEP3(dp4a_ss, SIM_READ_U32, dot4(a, b, c, true, true))
SIM_STEP3(dp2a_lo_uu, SIM_READ_U32, dot2(a, b, c, false, false))
SIM_STEP3(dp2a_lo_us, SIM_READ_U32, dot2(a, b, c, false, true))
SIM_STEP3(dp2a_lo_su, SIM_READ_U32, dot2(a, b, c, true, false))
SIM_STEP3(dp2a_lo_ss, SIM_READ_U32, dot2(a, b, c, true, true))
SIM_STEP3(dp2a_hi_uu, SIM_READ_U32, dot2(a, b >> 16, c, false, false))
SIM_STEP3(dp2a_hi_us, SIM_READ_U32, dot2(a, b >> 16, c, false, true))
SIM_STEP3(dp2a_hi_su, SIM_READ_U32, dot2(a, b >> 16, c, true, false))
SIM_STEP3(dp2a_hi_ss, SIM_READ_U32, dot2(a, b >> 16, c, true, true))

#define SIGNLESS(name, pattern16, pattern32, pattern64, step)                                      \
    {name ".u16", pattern16, step##_16, NULL}, {name ".s16", pattern16, step##_16, NULL},          \
        {name ".u32", pattern32, step##_32, NULL}, {name ".s32", pattern32, step##_32, NULL},      \
        {name ".u64", pattern64, step##_64, NULL}, {                                               \
        name ".s64", pattern64, step##_64, NULL                                                    \
    }

#define BY_SIGN(name, step, tail)                                                                  \
    {name ".u16", "Hhh", step##_u16##tail, NULL}, {name ".s16", "Hhh", step##_s16##tail, NULL},    \
        {name ".u32", "Iii", step##_u32##tail, NULL},                                              \
        {name ".s32", "Iii", step##_s32##tail, NULL},                                              \
        {name ".u64", "Lll", step##_u64##tail, NULL}, {                                            \
        name ".s64", "Lll", step##_s64##tail, NULL                                                 \
    }

#define DOT(name, step)                                                                            \
    {name ".u32.u32", "Iiii", step##_uu, NULL}, {name ".u32.s32", "Iiii", step##_us, NULL},        \
        {name ".s32.u32", "Iiii", step##_su, NULL}, {                                              \
        name ".s32.s32", "Iiii", step##_ss, NULL                                                   \
    }

static const sim_op ops[] = {
    {"add.u16", "Hhh", add_16, NULL},
    {"add.s16", "Hhh", add_16, NULL},
    {"add.u32", "Iii", add_32, NULL},
    {"add.s32", "Iii", add_32, add_sat_s32},
    {"add.u64", "Lll", add_64, NULL},
    {"add.s64", "Lll", add_64, NULL},
    {"sub.u16", "Hhh", sub_16, NULL},
    {"sub.s16", "Hhh", sub_16, NULL},
    {"sub.u32", "Iii", sub_32, NULL},
    {"sub.s32", "Iii", sub_32, sub_sat_s32},
    {"sub.u64", "Lll", sub_64, NULL},
    {"sub.s64", "Lll", sub_64, NULL},
    SIGNLESS("mul.lo", "Hhh", "Iii", "Lll", mul_lo),
    SIGNLESS("mad.lo", "Hhhh", "Iiii", "Llll", mad_lo),
    BY_SIGN("mul.hi", mul_hi, ),
    BY_SIGN("div", div, _),
    BY_SIGN("rem", rem, _),
    BY_SIGN("min", min, ),
    BY_SIGN("max", max, ),
    {"mul.wide.u16", "Ihh", mul_wide_u16, NULL},
    {"mul.wide.s16", "Ihh", mul_wide_s16, NULL},
    {"mul.wide.u32", "Lii", mul_wide_u32, NULL},
    {"mul.wide.s32", "Lii", mul_wide_s32, NULL},
    {"mad.wide.u16", "Ihhi", mad_wide_u16, NULL},
    {"mad.wide.s16", "Ihhi", mad_wide_s16, NULL},
    {"mad.wide.u32", "Liil", mad_wide_u32, NULL},
    {"mad.wide.s32", "Liil", mad_wide_s32, NULL},
    {"mad.hi.u32", "Iiii", mad_hi_u32, NULL},
    {"mad.hi.s32", "Iiii", mad_hi_s32, NULL},
    {"mad.hi.u64", "Llll", mad_hi_u64, NULL},
    {"mad.hi.s64", "Llll", mad_hi_s64, NULL},
    {"sad.u32", "Iiii", sad_u32, NULL},
    {"sad.s32", "Iiii", sad_s32, NULL},
    {"sad.u64", "Llll", sad_u64, NULL},
    {"sad.s64", "Llll", sad_s64, NULL},
    {"neg.s16", "Hh", neg_16, NULL},
    {"neg.s32", "Ii", neg_32, NULL},
    {"neg.s64", "Ll", neg_64, NULL},
    {"abs.s16", "Hh", abs_s16, NULL},
    {"abs.s32", "Ii", abs_s32, NULL},
    {"abs.s64", "Ll", abs_s64, NULL},
    DOT("dp4a", dp4a),
    DOT("dp2a.lo", dp2a_lo),
    DOT("dp2a.hi", dp2a_hi),
};

const sim_op_table sim_ops_integer = SIM_OP_TABLE(ops);
