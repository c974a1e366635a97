/* Op memory: the steps that reach memory: loads, stores, parameters and fences. */
#include "exec/access.h"
#include "exec/lanes.h"
#include "exec/order.h"

#define GATHER(type)                                                                               \
    for (uint32_t e = 0; e < in->count; e++) {                                                     \
        uint64_t *d = sim_row(x, in->ref[e]);                                                      \
        SIM_FOR_LANES(i, lanes, type v; memcpy(&v, access->at[i] + e * sizeof v, sizeof v);        \
                      d[i] = v);                                                                   \
    }

#define SCATTER(type)                                                                              \
    for (uint32_t e = 0; e < in->count; e++) {                                                     \
        const uint64_t *s = sim_row(x, in->ref[e]);                                                \
        SIM_FOR_LANES(i, lanes, type v = (type)s[i];                                               \
                      memcpy(access->at[i] + e * sizeof v, &v, sizeof v));                         \
    }

static void gather(sim_run *x, const sim_inst *in, uint32_t lanes, const sim_access *access) {
    switch (in->bytes) {
    case 1: GATHER(uint8_t) break;
    case 2: GATHER(uint16_t) break;
    case 4: GATHER(uint32_t) break;
    default: GATHER(uint64_t) break;
    }
    if (!in->sign_shift) return;
    uint64_t keep = in->result_bits == 64 ? UINT64_MAX : (1ull << in->result_bits) - 1;
    for (uint32_t e = 0; e < in->count; e++) {
        uint64_t *d = sim_row(x, in->ref[e]);
        uint32_t shift = in->sign_shift;
        SIM_FOR_LANES(i, lanes, d[i] = (uint64_t)((int64_t)(d[i] << shift) >> shift) & keep);
    }
}

static void scatter(sim_run *x, const sim_inst *in, uint32_t lanes, sim_access *access) {
    switch (in->bytes) {
    case 1: SCATTER(uint8_t) break;
    case 2: SCATTER(uint16_t) break;
    case 4: SCATTER(uint32_t) break;
    default: SCATTER(uint64_t) break;
    }
}

static bool is_shared(const sim_inst *in) {
    return in->space == SIM_SPACE_SHARED || in->space == SIM_SPACE_CLUSTER;
}

static void read_addresses(const sim_run *x, const sim_inst *in, uint32_t slot,
                           sim_access *access) {
    const uint64_t *base = sim_row(x, in->ref[slot]);
    for (uint32_t i = 0; i < SIM_LANES; i++) access->address[i] = base[i] + in->imm;
}

/* Whether the warp read this place among its last strong reads; remembers it. */
static bool is_repeated(sim_warp *warp, uint64_t place) {
    for (uint32_t i = 0; i < SIM_SPIN_KEYS; i++)
        if (warp->spin_keys[i] == place) return true;
    warp->spin_keys[warp->spin_next++ % SIM_SPIN_KEYS] = place;
    return false;
}

/* A strong read that returns to the same place over and over only waits: it is neither progress nor
 * worth a whole turn, and how often it does so is the interpreter's schedule, not the clock's. */
static void after_strong_read(sim_run *x, const sim_inst *in, const sim_access *access,
                              uint32_t lanes) {
    enum { SPIN_BUDGET = 16 };
    uint32_t lane = (uint32_t)__builtin_ctz(lanes);
    if (!is_repeated(x->warp, access->address[lane] * 31 + in->line)) {
        x->grid->progress_tick = x->grid->tick;
    } else {
        x->warp->load_pending = x->warp->load_missed = false;
        if (x->budget > SPIN_BUDGET) x->budget = SPIN_BUDGET;
    }
}

void sim_step_load(sim_run *x, const sim_inst *in, uint32_t lanes) {
    sim_access access;
    sim_access_begin(&access, (uint32_t)in->bytes * in->count, false);
    bool is_strong = in->order == SIM_STRONG && !is_shared(in);
    read_addresses(x, in, in->count, &access);
    if (!sim_access_reach(x, in, lanes, &access)) return;
    gather(x, in, lanes, &access);
    if (is_strong || in->mode & SIM_SCOPED) after_strong_read(x, in, &access, lanes);
    if (is_strong)
        sim_order_strong_read(x);
    else if (!is_shared(in))
        x->grid->progress_tick = x->grid->tick;
    if (in->mode & SIM_FENCE_AFTER) sim_order_fence(x);
}

void sim_step_store(sim_run *x, const sim_inst *in, uint32_t lanes) {
    sim_access access;
    sim_access_begin(&access, (uint32_t)in->bytes * in->count, true);
    read_addresses(x, in, in->count, &access);
    if (in->mode & SIM_FENCE_BEFORE) sim_order_fence(x);
    if (!sim_access_reach(x, in, lanes, &access)) return;
    scatter(x, in, lanes, &access);
    if (!is_shared(in) && in->space != SIM_SPACE_LOCAL) {
        x->grid->last_store = access.at[__builtin_ctz(lanes)];
        x->grid->last_store_bytes = access.bytes;
    }
    if (in->order == SIM_STRONG && !is_shared(in)) sim_order_strong_write(x);
    x->grid->progress_tick = x->grid->tick;
}

void sim_step_fence(sim_run *x, const sim_inst *in, uint32_t lanes) {
    (void)in, (void)lanes;
    x->counters->fences++;
    sim_order_fence(x);
}

void sim_step_param(sim_run *x, const sim_inst *in, uint32_t lanes) {
    const unsigned char *params = x->grid->launch->params + in->imm;
    for (uint32_t e = 0; e < in->count; e++) {
        uint64_t *d = sim_row(x, in->ref[e]), bits = 0;
        memcpy(&bits, params + (size_t)e * in->bytes, in->bytes);
        if (in->sign_shift) {
            uint64_t keep = in->result_bits == 64 ? UINT64_MAX : (1ull << in->result_bits) - 1;
            bits = (uint64_t)((int64_t)(bits << in->sign_shift) >> in->sign_shift) & keep;
        }
        SIM_FOR_LANES(i, lanes, d[i] = bits);
    }
}

void sim_step_window(sim_run *x, const sim_inst *in, uint32_t lanes) {
    uint64_t *d = sim_row(x, in->ref[0]);
    const uint64_t *a = sim_row(x, in->ref[1]);
    SIM_FOR_LANES(i, lanes, d[i] = a[i] + in->imm);
}

/* mapa: rank numbers a block of the cluster; whether there is one shows when it is accessed. */
void sim_step_map(sim_run *x, const sim_inst *in, uint32_t lanes) {
    uint64_t *d = sim_row(x, in->ref[0]);
    const uint64_t *a = sim_row(x, in->ref[1]), *rank = sim_row(x, in->ref[2]);
    SIM_FOR_LANES(i, lanes, uint64_t field = rank[i] < 255 ? rank[i] + 1 : 255;
                  d[i] = (a[i] & ~SIM_RANK_MASK) | field << SIM_RANK_SHIFT);
}

void sim_step_is_space(sim_run *x, const sim_inst *in, uint32_t lanes) {
    const uint64_t *a = sim_row(x, in->ref[1]);
    uint64_t window = in->space == SIM_SPACE_SHARED  ? SIM_WINDOW_SHARED
                      : in->space == SIM_SPACE_LOCAL ? SIM_WINDOW_LOCAL
                      : in->space == SIM_SPACE_PARAM ? SIM_WINDOW_PARAM
                                                     : 0;
    uint32_t result = 0;
    for (uint32_t i = 0; i < SIM_LANES; i++) {
        result |= (uint32_t)((a[i] & SIM_WINDOW_MASK) == window) << i;
    }
    if (in->space == SIM_SPACE_CONST) result = 0; /* constants live in global memory here */
    sim_mask_put(x, in->ref[0], lanes, result);
}
