/* Op bits: logic, shifts, fields and permutations of bits, and selections by a predicate. */
#include "exec/lanes.h"

#define U16(v) ((uint64_t)(uint16_t)(v))
#define U32(v) ((uint64_t)(uint32_t)(v))

SIM_STEP2(and_all, SIM_READ_U64, a &b)
SIM_STEP2(or_all, SIM_READ_U64, a | b)
SIM_STEP2(xor_all, SIM_READ_U64, a ^ b)
SIM_STEP1(not_16, SIM_READ_U16, U16(~a))
SIM_STEP1(not_32, SIM_READ_U32, U32(~a))
SIM_STEP1(not_64, SIM_READ_U64, ~a)
SIM_STEP1(cnot_16, SIM_READ_U16, a == 0)
SIM_STEP1(cnot_32, SIM_READ_U32, a == 0)
SIM_STEP1(cnot_64, SIM_READ_U64, a == 0)

/* Shifts by more than the width count as shifts by the width. b has 32 bits in all of them. */
SIM_STEP2(shl_16, SIM_READ_U32, b > 15 ? 0 : U16(a << b))
SIM_STEP2(shl_32, SIM_READ_U32, b > 31 ? 0 : U32(a << b))
SIM_STEP2(shl_64, SIM_READ_U64, b > 63 ? 0 : a << b)
SIM_STEP2(shr_u16, SIM_READ_U32, b > 15 ? 0 : U16(a) >> b)
SIM_STEP2(shr_u32, SIM_READ_U32, b > 31 ? 0 : a >> b)
SIM_STEP2(shr_u64, SIM_READ_U64, b > 63 ? 0 : a >> b)
SIM_STEP2(shr_s16, SIM_READ_U32, U16((int16_t)a >> (b > 15 ? 15 : b)))
SIM_STEP2(shr_s32, SIM_READ_U32, U32((int32_t)a >> (b > 31 ? 31 : b)))
SIM_STEP2(shr_s64, SIM_READ_U64, (uint64_t)((int64_t)a >> (b > 63 ? 63 : b)))

static inline uint32_t funnel_left(uint32_t low, uint32_t high, uint32_t by) {
    return (uint32_t)((((uint64_t)high << 32 | low) << by) >> 32);
}

static inline uint32_t funnel_right(uint32_t low, uint32_t high, uint32_t by) {
    return (uint32_t)(((uint64_t)high << 32 | low) >> by);
}

static inline uint32_t clamp_shift(uint32_t by) { return by > 32 ? 32 : by; }

SIM_STEP3(shf_l_wrap, SIM_READ_U32, funnel_left(a, b, c & 31))
SIM_STEP3(shf_l_clamp, SIM_READ_U32, funnel_left(a, b, clamp_shift(c)))
SIM_STEP3(shf_r_wrap, SIM_READ_U32, funnel_right(a, b, c & 31))
SIM_STEP3(shf_r_clamp, SIM_READ_U32, funnel_right(a, b, clamp_shift(c)))

SIM_STEP1(popc_32, SIM_READ_U32, (uint32_t)__builtin_popcount(a))
SIM_STEP1(popc_64, SIM_READ_U64, (uint32_t)__builtin_popcountll(a))
SIM_STEP1(clz_32, SIM_READ_U32, a ? (uint32_t)__builtin_clz(a) : 32u)
SIM_STEP1(clz_64, SIM_READ_U64, a ? (uint32_t)__builtin_clzll(a) : 64u)

/* Of 64 bits: neighbours change places, then pairs, fours and bytes. */
static inline uint64_t reverse(uint64_t value) {
    value = (value >> 1 & 0x5555555555555555) | (value & 0x5555555555555555) << 1;
    value = (value >> 2 & 0x3333333333333333) | (value & 0x3333333333333333) << 2;
    value = (value >> 4 & 0x0f0f0f0f0f0f0f0f) | (value & 0x0f0f0f0f0f0f0f0f) << 4;
    return __builtin_bswap64(value);
}

SIM_STEP1(brev_32, SIM_READ_U32, reverse(a) >> 32)
SIM_STEP1(brev_64, SIM_READ_U64, reverse(a))

/* The highest bit that differs from the sign; all ones if all are the sign. */
static inline uint32_t find_high(uint64_t value, uint32_t bits, bool is_signed, bool shift_amount) {
    uint64_t mask = bits == 64 ? UINT64_MAX : (1ull << bits) - 1;
    if (is_signed && (value >> (bits - 1) & 1)) value = ~value;
    value &= mask;
    if (!value) return UINT32_MAX;
    uint32_t at = 63 - (uint32_t)__builtin_clzll(value);
    return shift_amount ? bits - 1 - at : at;
}

SIM_STEP1(bfind_u32, SIM_READ_U32, find_high(a, 32, false, false))
SIM_STEP1(bfind_s32, SIM_READ_U32, find_high(a, 32, true, false))
SIM_STEP1(bfind_u64, SIM_READ_U64, find_high(a, 64, false, false))
SIM_STEP1(bfind_s64, SIM_READ_U64, find_high(a, 64, true, false))
SIM_STEP1(bfind_shift_u32, SIM_READ_U32, find_high(a, 32, false, true))
SIM_STEP1(bfind_shift_s32, SIM_READ_U32, find_high(a, 32, true, true))
SIM_STEP1(bfind_shift_u64, SIM_READ_U64, find_high(a, 64, false, true))
SIM_STEP1(bfind_shift_s64, SIM_READ_U64, find_high(a, 64, true, true))

/* bfe: bits [at, at + length) of a; beyond a's top stands its sign, or 0. */
static inline uint64_t extract(uint64_t a, uint32_t at, uint32_t length, uint32_t bits,
                               bool is_signed) {
    at &= 0xff;
    length &= 0xff;
    if (length == 0) return 0;
    uint32_t top = at + length - 1 < bits - 1 ? at + length - 1 : bits - 1;
    uint64_t sign = is_signed ? a >> top & 1 : 0;
    uint64_t result = 0;
    for (uint32_t i = 0; i < bits; i++) {
        uint64_t bit = i < length && at + i < bits ? a >> (at + i) & 1 : sign;
        result |= bit << i;
    }
    return result;
}

SIM_STEP3(bfe_u32, SIM_READ_U64, extract(a, (uint32_t)b, (uint32_t)c, 32, false))
SIM_STEP3(bfe_s32, SIM_READ_U64, extract(a, (uint32_t)b, (uint32_t)c, 32, true))
SIM_STEP3(bfe_u64, SIM_READ_U64, extract(a, (uint32_t)b, (uint32_t)c, 64, false))
SIM_STEP3(bfe_s64, SIM_READ_U64, extract(a, (uint32_t)b, (uint32_t)c, 64, true))

/* bfi: a's low bits put into b at [at, at + length) */
static inline uint64_t insert(uint64_t a, uint64_t b, uint32_t at, uint32_t length, uint32_t bits) {
    at &= 0xff;
    length &= 0xff;
    for (uint32_t i = 0; i < length && at + i < bits; i++) {
        b = (b & ~(1ull << (at + i))) | (a >> i & 1) << (at + i);
    }
    return b;
}

static void bfi(sim_run *x, const sim_inst *in, uint32_t lanes, uint32_t bits) {
    uint64_t *d = sim_row(x, in->ref[0]);
    const uint64_t *a = sim_row(x, in->ref[1]), *b = sim_row(x, in->ref[2]);
    const uint64_t *at = sim_row(x, in->ref[3]), *length = sim_row(x, in->ref[4]);
    SIM_FOR_LANES(i, lanes, d[i] = insert(a[i], b[i], (uint32_t)at[i], (uint32_t)length[i], bits));
}

static void bfi_32(sim_run *x, const sim_inst *in, uint32_t lanes) { bfi(x, in, lanes, 32); }

static void bfi_64(sim_run *x, const sim_inst *in, uint32_t lanes) { bfi(x, in, lanes, 64); }

static inline uint32_t mask_from(uint32_t at, uint32_t length) {
    if (at > 31 || length == 0) return 0;
    uint32_t low = length > 31 ? UINT32_MAX : (1u << length) - 1;
    return low << at;
}

SIM_STEP2(bmsk_clamp, SIM_READ_U32, mask_from(a, b))
SIM_STEP2(bmsk_wrap, SIM_READ_U32, mask_from(a & 31, b & 31))

static inline uint32_t extend_from(uint32_t value, uint32_t bits, bool is_signed) {
    if (bits == 0) return 0;
    if (bits > 31) return value;
    value &= (1u << bits) - 1;
    if (is_signed && (value >> (bits - 1) & 1)) value |= UINT32_MAX << bits;
    return value;
}

SIM_STEP2(szext_clamp_u32, SIM_READ_U32, extend_from(a, b, false))
SIM_STEP2(szext_clamp_s32, SIM_READ_U32, extend_from(a, b, true))
SIM_STEP2(szext_wrap_u32, SIM_READ_U32, extend_from(a, b & 31, false))
SIM_STEP2(szext_wrap_s32, SIM_READ_U32, extend_from(a, b & 31, true))

static inline uint32_t permute(uint32_t a, uint32_t b, uint32_t selector) {
    uint64_t bytes = (uint64_t)b << 32 | a;
    uint32_t result = 0;
    for (uint32_t i = 0; i < 4; i++) {
        uint32_t nibble = selector >> (4 * i) & 15;
        uint32_t byte = (uint32_t)(bytes >> (8 * (nibble & 7))) & 0xff;
        if (nibble & 8) byte = byte & 0x80 ? 0xff : 0; /* the byte's sign, eight times */
        result |= byte << (8 * i);
    }
    return result;
}

/* The selectors that prmt's modes stand for, by the two low bits of c. */
static const uint16_t prmt_modes[6][4] = {
    {0x3210, 0x4321, 0x5432, 0x6543}, /* f4e */
    {0x5670, 0x6701, 0x7012, 0x0123}, /* b4e */
    {0x0000, 0x1111, 0x2222, 0x3333}, /* rc8 */
    {0x3210, 0x3211, 0x3222, 0x3333}, /* ecl */
    {0x0000, 0x1110, 0x2210, 0x3210}, /* ecr */
    {0x1010, 0x3232, 0x1010, 0x3232}, /* rc16 */
};

SIM_STEP3(prmt, SIM_READ_U32, permute(a, b, c))
SIM_STEP3(prmt_f4e, SIM_READ_U32, permute(a, b, prmt_modes[0][c & 3]))
SIM_STEP3(prmt_b4e, SIM_READ_U32, permute(a, b, prmt_modes[1][c & 3]))
SIM_STEP3(prmt_rc8, SIM_READ_U32, permute(a, b, prmt_modes[2][c & 3]))
SIM_STEP3(prmt_ecl, SIM_READ_U32, permute(a, b, prmt_modes[3][c & 3]))
SIM_STEP3(prmt_ecr, SIM_READ_U32, permute(a, b, prmt_modes[4][c & 3]))
SIM_STEP3(prmt_rc16, SIM_READ_U32, permute(a, b, prmt_modes[5][c & 3]))

/* lop3: bit k of the table is the result where a, b and c have the bits of k. */
SIM_WIDE static void lop3(sim_run *x, const sim_inst *in, uint32_t lanes) {
    uint64_t *d = sim_row(x, in->ref[0]);
    const uint64_t *a = sim_row(x, in->ref[1]), *b = sim_row(x, in->ref[2]);
    const uint64_t *c = sim_row(x, in->ref[3]);
    uint32_t table = (uint32_t)sim_row(x, in->ref[4])[0];
    SIM_FOR_LANES(
        i, lanes, uint32_t result = 0; for (uint32_t k = 0; k < 8; k++) {
            uint32_t pa = k & 4 ? (uint32_t)a[i] : ~(uint32_t)a[i];
            uint32_t pb = k & 2 ? (uint32_t)b[i] : ~(uint32_t)b[i];
            uint32_t pc = k & 1 ? (uint32_t)c[i] : ~(uint32_t)c[i];
            if (table >> k & 1) result |= pa & pb & pc;
        } d[i] = result);
}

SIM_WIDE static void selp(sim_run *x, const sim_inst *in, uint32_t lanes) {
    uint64_t *d = sim_row(x, in->ref[0]);
    const uint64_t *a = sim_row(x, in->ref[1]), *b = sim_row(x, in->ref[2]);
    uint32_t chosen = sim_mask(x, in->ref[3]);
    SIM_FOR_LANES(i, lanes, d[i] = chosen >> i & 1 ? a[i] : b[i]);
}

/* slct: a where c is not negative; .s32 in c, or .f32 where -0.0 counts as not negative. */
SIM_STEP3(slct_s32, SIM_READ_U64, (int32_t)c >= 0 ? a : b)
SIM_STEP3(slct_f32, SIM_READ_U64, sim_f32(c) >= 0.0f ? a : b)

static void and_pred(sim_run *x, const sim_inst *in, uint32_t lanes) {
    sim_mask_put(x, in->ref[0], lanes, sim_mask(x, in->ref[1]) & sim_mask(x, in->ref[2]));
}

static void or_pred(sim_run *x, const sim_inst *in, uint32_t lanes) {
    sim_mask_put(x, in->ref[0], lanes, sim_mask(x, in->ref[1]) | sim_mask(x, in->ref[2]));
}

static void xor_pred(sim_run *x, const sim_inst *in, uint32_t lanes) {
    sim_mask_put(x, in->ref[0], lanes, sim_mask(x, in->ref[1]) ^ sim_mask(x, in->ref[2]));
}

static void not_pred(sim_run *x, const sim_inst *in, uint32_t lanes) {
    sim_mask_put(x, in->ref[0], lanes, ~sim_mask(x, in->ref[1]));
}

#define LOGIC(name)                                                                                \
    {#name ".pred", "Ppp", name##_pred, NULL}, {#name ".b16", "Hhh", name##_all, NULL},            \
        {#name ".b32", "Iii", name##_all, NULL}, {                                                 \
#name ".b64", "Lll", name##_all, NULL                                                      \
    }

#define SELP(type, pattern)                                                                        \
    { "selp." type, pattern, selp, NULL }

static const sim_op ops[] = {
    LOGIC(and),
    LOGIC(or),
    LOGIC(xor),
    {"not.pred", "Pp", not_pred, NULL},
    {"not.b16", "Hh", not_16, NULL},
    {"not.b32", "Ii", not_32, NULL},
    {"not.b64", "Ll", not_64, NULL},
    {"cnot.b16", "Hh", cnot_16, NULL},
    {"cnot.b32", "Ii", cnot_32, NULL},
    {"cnot.b64", "Ll", cnot_64, NULL},
    {"shl.b16", "Hhi", shl_16, NULL},
    {"shl.b32", "Iii", shl_32, NULL},
    {"shl.b64", "Lli", shl_64, NULL},
    {"shr.b16", "Hhi", shr_u16, NULL},
    {"shr.b32", "Iii", shr_u32, NULL},
    {"shr.b64", "Lli", shr_u64, NULL},
    {"shr.u16", "Hhi", shr_u16, NULL},
    {"shr.u32", "Iii", shr_u32, NULL},
    {"shr.u64", "Lli", shr_u64, NULL},
    {"shr.s16", "Hhi", shr_s16, NULL},
    {"shr.s32", "Iii", shr_s32, NULL},
    {"shr.s64", "Lli", shr_s64, NULL},
    {"shf.l.wrap.b32", "Iiii", shf_l_wrap, NULL},
    {"shf.l.clamp.b32", "Iiii", shf_l_clamp, NULL},
    {"shf.r.wrap.b32", "Iiii", shf_r_wrap, NULL},
    {"shf.r.clamp.b32", "Iiii", shf_r_clamp, NULL},
    {"popc.b32", "Ii", popc_32, NULL},
    {"popc.b64", "Il", popc_64, NULL},
    {"clz.b32", "Ii", clz_32, NULL},
    {"clz.b64", "Il", clz_64, NULL},
    {"brev.b32", "Ii", brev_32, NULL},
    {"brev.b64", "Ll", brev_64, NULL},
    {"bfind.u32", "Ii", bfind_u32, NULL},
    {"bfind.s32", "Ii", bfind_s32, NULL},
    {"bfind.u64", "Il", bfind_u64, NULL},
    {"bfind.s64", "Il", bfind_s64, NULL},
    {"bfind.shiftamt.u32", "Ii", bfind_shift_u32, NULL},
    {"bfind.shiftamt.s32", "Ii", bfind_shift_s32, NULL},
    {"bfind.shiftamt.u64", "Il", bfind_shift_u64, NULL},
    {"bfind.shiftamt.s64", "Il", bfind_shift_s64, NULL},
    {"bfe.u32", "Iiii", bfe_u32, NULL},
    {"bfe.s32", "Iiii", bfe_s32, NULL},
    {"bfe.u64", "Llii", bfe_u64, NULL},
    {"bfe.s64", "Llii", bfe_s64, NULL},
    {"bfi.b32", "Iiiii", bfi_32, NULL},
    {"bfi.b64", "Lllii", bfi_64, NULL},
    {"bmsk.clamp.b32", "Iii", bmsk_clamp, NULL},
    {"bmsk.wrap.b32", "Iii", bmsk_wrap, NULL},
    {"szext.clamp.u32", "Iii", szext_clamp_u32, NULL},
    {"szext.clamp.s32", "Iii", szext_clamp_s32, NULL},
    {"szext.wrap.u32", "Iii", szext_wrap_u32, NULL},
    {"szext.wrap.s32", "Iii", szext_wrap_s32, NULL},
    {"prmt.b32", "Iiii", prmt, NULL},
    {"prmt.b32.f4e", "Iiii", prmt_f4e, NULL},
    {"prmt.b32.b4e", "Iiii", prmt_b4e, NULL},
    {"prmt.b32.rc8", "Iiii", prmt_rc8, NULL},
    {"prmt.b32.ecl", "Iiii", prmt_ecl, NULL},
    {"prmt.b32.ecr", "Iiii", prmt_ecr, NULL},
    {"prmt.b32.rc16", "Iiii", prmt_rc16, NULL},
    {"lop3.b32", "Iiiii", lop3, NULL},
    SELP("b16", "Hhhp"),
    SELP("u16", "Hhhp"),
    SELP("s16", "Hhhp"),
    SELP("b32", "Iiip"),
    SELP("u32", "Iiip"),
    SELP("s32", "Iiip"),
    SELP("f32", "Fffp"),
    SELP("b64", "Lllp"),
    SELP("u64", "Lllp"),
    SELP("s64", "Lllp"),
    SELP("f64", "Eeep"),
    {"slct.b32.s32", "Iiii", slct_s32, NULL},
    {"slct.u32.s32", "Iiii", slct_s32, NULL},
    {"slct.s32.s32", "Iiii", slct_s32, NULL},
    {"slct.f32.s32", "Fffi", slct_s32, NULL},
    {"slct.b64.s32", "Llli", slct_s32, NULL},
    {"slct.u64.s32", "Llli", slct_s32, NULL},
    {"slct.s64.s32", "Llli", slct_s32, NULL},
    {"slct.f64.s32", "Eeei", slct_s32, NULL},
    {"slct.b32.f32", "Iiif", slct_f32, slct_f32},
    {"slct.f32.f32", "Ffff", slct_f32, slct_f32},
};

const sim_op_table sim_ops_bits = SIM_OP_TABLE(ops);
