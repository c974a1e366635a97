/* Op move: the steps that move values without computing, and those that read the machine's state.
 */
#include "exec/lanes.h"
#include "ptx/special.h"

void sim_step_nothing(sim_run *x, const sim_inst *in, uint32_t lanes) {
    (void)x, (void)in, (void)lanes;
}

/* nanosleep: others run first. */
void sim_step_yield(sim_run *x, const sim_inst *in, uint32_t lanes) {
    (void)in, (void)lanes;
    x->budget = 0;
}

SIM_WIDE void sim_step_move(sim_run *x, const sim_inst *in, uint32_t lanes) {
    uint64_t *d = sim_row(x, in->ref[0]);
    const uint64_t *a = sim_row(x, in->ref[1]);
    SIM_FOR_LANES(i, lanes, d[i] = a[i]);
}

/* 128 bits are two rows. */
void sim_step_move_wide(sim_run *x, const sim_inst *in, uint32_t lanes) {
    uint64_t *low = sim_row(x, in->ref[0]), *high = sim_row(x, in->ref[1]);
    const uint64_t *a = sim_row(x, in->ref[2]), *b = sim_row(x, in->ref[3]);
    SIM_FOR_LANES(i, lanes, uint64_t va = a[i], vb = b[i]; low[i] = va; high[i] = vb);
}

/* mov.b64 d, {low, high}: the first part is the lowest */
SIM_WIDE void sim_step_pack(sim_run *x, const sim_inst *in, uint32_t lanes) {
    uint64_t *d = sim_row(x, in->ref[0]), result[SIM_LANES] = {0};
    uint32_t bits = in->bytes * 8u;
    uint64_t keep = (1ull << bits) - 1;
    for (uint32_t part = 0; part < in->count; part++) {
        const uint64_t *a = sim_row(x, in->ref[1 + part]);
        for (uint32_t i = 0; i < SIM_LANES; i++) result[i] |= (a[i] & keep) << part * bits;
    }
    SIM_FOR_LANES(i, lanes, d[i] = result[i]);
}

SIM_WIDE void sim_step_unpack(sim_run *x, const sim_inst *in, uint32_t lanes) {
    uint64_t source[SIM_LANES];
    uint32_t bits = in->bytes * 8u;
    uint64_t keep = (1ull << bits) - 1;
    memcpy(source, sim_row(x, in->ref[in->count]), sizeof source);
    for (uint32_t part = 0; part < in->count; part++) {
        uint64_t *d = sim_row(x, in->ref[part]);
        SIM_FOR_LANES(i, lanes, d[i] = source[i] >> part * bits & keep);
    }
}

void sim_step_move_predicate(sim_run *x, const sim_inst *in, uint32_t lanes) {
    sim_mask_put(x, in->ref[0], lanes, sim_mask(x, in->ref[1]));
}

void sim_step_zero(sim_run *x, const sim_inst *in, uint32_t lanes) {
    uint64_t *d = sim_row(x, in->ref[0]);
    SIM_FOR_LANES(i, lanes, d[i] = 0);
}

/* Clocks count instructions of the whole launch: they grow, and mean no more than that. */
void sim_step_clock(sim_run *x, const sim_inst *in, uint32_t lanes) {
    uint64_t *d = sim_row(x, in->ref[0]);
    uint64_t now = x->grid->tick;
    if (in->mode == SIM_SPECIAL_CLOCK) now &= UINT32_MAX;
    if (in->mode == SIM_SPECIAL_GLOBALTIMER) now += (uint64_t)x->grid->start_ns;
    SIM_FOR_LANES(i, lanes, d[i] = now);
}

void sim_step_activemask(sim_run *x, const sim_inst *in, uint32_t lanes) {
    uint64_t *d = sim_row(x, in->ref[0]);
    SIM_FOR_LANES(i, lanes, d[i] = lanes);
}
