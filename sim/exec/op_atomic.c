/* Op atomic: atomic operations on memory. */
#include "exec/access.h"
#include "exec/half.h"
#include "exec/lanes.h"
#include "exec/order.h"

#include <math.h>

static float flush(float value) {
    return fabsf(value) < 0x1p-126f ? copysignf(0.0f, value) : value;
}

static uint16_t add_half(uint16_t a, uint16_t b, const sim_half_format *format) {
    double sum = sim_half_odd_add(sim_half_to_double(a, format), sim_half_to_double(b, format));
    return sim_half_from_double(sum, format, 0);
}

static uint64_t add_pair(uint64_t a, uint64_t b, const sim_half_format *format) {
    uint64_t high = add_half((uint16_t)(a >> 16), (uint16_t)(b >> 16), format);
    return high << 16 | add_half((uint16_t)a, (uint16_t)b, format);
}

/* f32 sums in global memory flush subnormals, those in shared memory do not. */
static uint64_t add(sim_type type, uint64_t a, uint64_t b, bool flushes) {
    float narrow = 0;
    double wide = 0;
    switch ((int)type) { /* the others are integers */
    case SIM_F32:
        narrow = flushes ? flush(flush(sim_f32(a)) + flush(sim_f32(b))) : sim_f32(a) + sim_f32(b);
        return isnan(narrow) ? 0x7fffffffu : sim_f32_bits(narrow);
    case SIM_F64:
        wide = sim_f64(a) + sim_f64(b);
        if (isnan(sim_f64(b))) return b | 0x0008000000000000ull;
        if (isnan(sim_f64(a))) return a | 0x0008000000000000ull;
        return isnan(wide) ? 0xfff8000000000000ull : sim_f64_bits(wide);
    case SIM_F16: return add_half((uint16_t)a, (uint16_t)b, &sim_f16_format);
    case SIM_BF16: return add_half((uint16_t)a, (uint16_t)b, &sim_bf16_format);
    case SIM_F16X2: return add_pair(a, b, &sim_f16_format);
    case SIM_BF16X2: return add_pair(a, b, &sim_bf16_format);
    default: return a + b;
    }
}

static bool is_less(sim_type type, uint64_t a, uint64_t b) {
    if (type == SIM_S32) return (int32_t)a < (int32_t)b;
    return type == SIM_S64 ? (int64_t)a < (int64_t)b : a < b;
}

static uint64_t combine(sim_atomic op, sim_type type, uint64_t old, uint64_t value, bool flushes) {
    switch ((int)op) {
    case SIM_ATOMIC_ADD: return add(type, old, value, flushes);
    case SIM_ATOMIC_INC: return old >= value ? 0 : old + 1;
    case SIM_ATOMIC_DEC: return old == 0 || old > value ? value : old - 1;
    case SIM_ATOMIC_MIN: return is_less(type, value, old) ? value : old;
    case SIM_ATOMIC_MAX: return is_less(type, old, value) ? value : old;
    case SIM_ATOMIC_AND: return old & value;
    case SIM_ATOMIC_OR: return old | value;
    case SIM_ATOMIC_XOR: return old ^ value;
    default: return value;
    }
}

/* One lane's turn, on up to two words of 64 bits. */
static void update(sim_run *x, const sim_inst *in, uint32_t lane, unsigned char *at, bool flushes) {
    sim_atomic op = (sim_atomic)(in->mode & ~SIM_ATOMIC_NO_RESULT);
    uint32_t words = in->bytes > 8 ? 2 : 1, bytes = in->bytes / words;
    uint64_t old[2] = {0}, value[2] = {0}, other[2] = {0};
    for (uint32_t w = 0; w < words; w++) {
        memcpy(&old[w], at + w * 8, bytes);
        value[w] = sim_row(x, in->ref[SIM_ATOMIC_VALUE + w])[lane];
        if (op == SIM_ATOMIC_CAS) other[w] = sim_row(x, in->ref[SIM_ATOMIC_OTHER + w])[lane];
    }
    bool equal = old[0] == value[0] && old[1] == value[1];
    for (uint32_t w = 0; w < words; w++) {
        uint64_t result = op == SIM_ATOMIC_CAS
                              ? (equal ? other[w] : old[w])
                              : combine(op, (sim_type)in->count, old[w], value[w], flushes);
        if (memcmp(at + w * 8, &result, bytes) != 0) x->grid->progress_tick = x->grid->tick;
        memcpy(at + w * 8, &result, bytes);
        if (in->row_defs) sim_row(x, in->ref[w])[lane] = old[w];
    }
}

void sim_step_atomic(sim_run *x, const sim_inst *in, uint32_t lanes) {
    sim_access access;
    sim_access_begin(&access, in->bytes, true);
    access.is_atomic = true;
    const uint64_t *base = sim_row(x, in->ref[SIM_ATOMIC_ADDRESS]);
    for (uint32_t i = 0; i < SIM_LANES; i++) access.address[i] = base[i] + in->imm;
    if (in->result_bits & SIM_FENCE_BEFORE) sim_order_fence(x);
    if (!sim_access_reach(x, in, lanes, &access)) return;
    for (uint32_t rest = lanes; rest; rest &= rest - 1) {
        uint32_t i = (uint32_t)__builtin_ctz(rest);
        bool is_shared = in->space == SIM_SPACE_SHARED || in->space == SIM_SPACE_CLUSTER ||
                         (access.address[i] & SIM_WINDOW_MASK) == SIM_WINDOW_SHARED;
        update(x, in, i, access.at[i], !is_shared);
        x->counters->atomics++;
    }
    if (in->space != SIM_SPACE_SHARED && in->space != SIM_SPACE_CLUSTER) {
        sim_order_strong_read(x);
        sim_order_strong_write(x);
    }
    if (in->result_bits & SIM_FENCE_AFTER) sim_order_fence(x);
}
