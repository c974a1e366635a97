/* Op compare: the comparisons of setp and set. */
#include "exec/half.h"
#include "exec/lanes.h"

#include <math.h>

#define COMPARE(name, T, READ, expression)                                                         \
    SIM_WIDE static uint32_t name(const uint64_t *pa, const uint64_t *pb) {                        \
        uint32_t result = 0;                                                                       \
        for (uint32_t i = 0; i < SIM_LANES; i++) {                                                 \
            T a = READ(pa[i]), b = READ(pb[i]);                                                    \
            result |= (uint32_t)((expression) != 0) << i;                                          \
        }                                                                                          \
        return result;                                                                             \
    }

#define F16(bits)  sim_half_to_double((uint16_t)(bits), &sim_f16_format)
#define BF16(bits) sim_half_to_double((uint16_t)(bits), &sim_bf16_format)

/* An unsigned comparison serves every width, since rows keep zeros above a value. */
#define ORDERED(tag, T, READ)                                                                      \
    COMPARE(eq_##tag, T, READ, a == b)                                                             \
    COMPARE(ne_##tag, T, READ, a<b || a> b)                                                        \
    COMPARE(lt_##tag, T, READ, a < b)                                                              \
    COMPARE(le_##tag, T, READ, a <= b)                                                             \
    COMPARE(gt_##tag, T, READ, a > b)                                                              \
    COMPARE(ge_##tag, T, READ, a >= b)

#define FLOATING(tag, T, READ)                                                                     \
    ORDERED(tag, T, READ)                                                                          \
    COMPARE(equ_##tag, T, READ, !(a < b || a > b))                                                 \
    COMPARE(neu_##tag, T, READ, a != b)                                                            \
    COMPARE(ltu_##tag, T, READ, !(a >= b))                                                         \
    COMPARE(leu_##tag, T, READ, !(a > b))                                                          \
    COMPARE(gtu_##tag, T, READ, !(a <= b))                                                         \
    COMPARE(geu_##tag, T, READ, !(a < b))                                                          \
    COMPARE(num_##tag, T, READ, !isnan(a) && !isnan(b))                                            \
    COMPARE(nan_##tag, T, READ, isnan(a) || isnan(b))

ORDERED(u, uint64_t, (uint64_t))
ORDERED(s16, int16_t, (int16_t))
ORDERED(s32, int32_t, (int32_t))
ORDERED(s64, int64_t, (int64_t))
FLOATING(f32, float, sim_f32)
FLOATING(f64, double, sim_f64)
FLOATING(f16, double, F16)
FLOATING(bf16, double, BF16)

typedef enum column { U, S16, S32, S64, FLT, DBL, HALF, BRAIN, COLUMNS } column;

#define ROW_INTEGER(name)                                                                          \
    {                                                                                              \
#name, {                                                                                   \
            name##_u, name##_s16, name##_s32, name##_s64, name##_f32, name##_f64, name##_f16,      \
                name##_bf16                                                                        \
        }                                                                                          \
    }
#define ROW_UNSIGNED(name, as)                                                                     \
    {                                                                                              \
#name, { as##_u, 0, 0, 0, 0, 0, 0, 0 }                                                     \
    }
#define ROW_FLOAT(name)                                                                            \
    {                                                                                              \
#name, { 0, 0, 0, 0, name##_f32, name##_f64, name##_f16, name##_bf16 }                     \
    }

static const struct {
    const char *name;
    sim_compare *by_column[COLUMNS];
} comparisons[] = {
    ROW_INTEGER(eq),      ROW_INTEGER(ne),      ROW_INTEGER(lt),      ROW_INTEGER(le),
    ROW_INTEGER(gt),      ROW_INTEGER(ge),      ROW_UNSIGNED(lo, lt), ROW_UNSIGNED(ls, le),
    ROW_UNSIGNED(hi, gt), ROW_UNSIGNED(hs, ge), ROW_FLOAT(equ),       ROW_FLOAT(neu),
    ROW_FLOAT(ltu),       ROW_FLOAT(leu),       ROW_FLOAT(gtu),       ROW_FLOAT(geu),
    ROW_FLOAT(num),       ROW_FLOAT(nan),
};

static int column_of(sim_type type) {
    switch ((int)type) { /* the others are not compared */
    case SIM_B16:
    case SIM_B32:
    case SIM_B64:
    case SIM_U16:
    case SIM_U32:
    case SIM_U64: return U;
    case SIM_S16: return S16;
    case SIM_S32: return S32;
    case SIM_S64: return S64;
    case SIM_F32: return FLT;
    case SIM_F64: return DBL;
    case SIM_F16: return HALF;
    case SIM_BF16: return BRAIN;
    default: return -1;
    }
}

sim_compare *sim_op_compare_find(sim_text comparison, sim_type type) {
    int column = column_of(type);
    if (column < 0) return NULL;
    for (size_t i = 0; i < sizeof comparisons / sizeof *comparisons; i++) {
        if (sim_arena_text_equal(comparison, comparisons[i].name)) {
            return comparisons[i].by_column[column];
        }
    }
    return NULL;
}

static void flush_row(const uint64_t *from, uint64_t *to) {
    for (uint32_t i = 0; i < SIM_LANES; i++) {
        bool is_subnormal = (from[i] & 0x7f800000u) == 0;
        to[i] = is_subnormal ? from[i] & 0x80000000u : from[i];
    }
}

static uint32_t compare(sim_run *x, const sim_inst *in, sim_ref a, sim_ref b) {
    if (!(in->flags & SIM_FLAG_FTZ)) return in->compare(sim_row(x, a), sim_row(x, b));
    uint64_t fa[SIM_LANES], fb[SIM_LANES];
    flush_row(sim_row(x, a), fa);
    flush_row(sim_row(x, b), fb);
    return in->compare(fa, fb);
}

static uint32_t combine(sim_boolean how, uint32_t result, uint32_t with) {
    switch (how) {
    case SIM_BOOL_AND: return result & with;
    case SIM_BOOL_OR: return result | with;
    case SIM_BOOL_XOR: return result ^ with;
    case SIM_BOOL_NONE: break;
    }
    return result;
}

/* p is the comparison, q its opposite, both combined with c. */
void sim_step_setp(sim_run *x, const sim_inst *in, uint32_t lanes) {
    uint32_t result = compare(x, in, in->ref[2], in->ref[3]);
    uint32_t with = in->mode ? sim_mask(x, in->ref[4]) : 0;
    sim_mask_put(x, in->ref[0], lanes, combine((sim_boolean)in->mode, result, with));
    sim_mask_put(x, in->ref[1], lanes, combine((sim_boolean)in->mode, ~result, with));
}

void sim_step_set(sim_run *x, const sim_inst *in, uint32_t lanes) {
    uint64_t *d = sim_row(x, in->ref[0]);
    uint32_t result = compare(x, in, in->ref[1], in->ref[2]);
    uint32_t with = in->mode ? sim_mask(x, in->ref[3]) : 0;
    result = combine((sim_boolean)in->mode, result, with);
    SIM_FOR_LANES(i, lanes, d[i] = result >> i & 1 ? in->imm : 0);
}
