/* Block: the barriers of a block.
 *
 * A barrier counts whole warps that have arrived. It opens when all live warps are there. A warp
 * that ends, or arrives at another barrier instruction, makes a barrier that can never open: that
 * is a finding, and not a hang. */
#include "exec/lanes.h"
#include "exec/run.h"

/* The state of a warp's lanes at barriers: all of them at one instruction, or apart. */
static const sim_group *group_at_barrier(const sim_warp *warp) {
    for (uint32_t i = 0; i < warp->group_count; i++) {
        if (warp->groups[i].state == SIM_GROUP_BARRIER) return &warp->groups[i];
    }
    return NULL;
}

static uint32_t barrier_id(const sim_warp *warp, const sim_program *program, const sim_inst *in) {
    sim_run x = {.rows = {warp->rows, program->constants}};
    uint32_t lane = warp->live ? (uint32_t)__builtin_ctz(warp->live) : 0;
    return (uint32_t)sim_row(&x, in->ref[1])[lane] % SIM_BARRIERS;
}

/* How many threads the barrier waits for: a number that stands there, or all that still live. */
static uint32_t expected(const sim_run *x, const sim_inst *in) {
    if (in->count) {
        uint32_t lane = x->warp->live ? (uint32_t)__builtin_ctz(x->warp->live) : 0;
        return (uint32_t)sim_row(x, in->ref[2])[lane];
    }
    return x->block->live_warps * SIM_LANES;
}

static void give_result(sim_run *x, const sim_inst *in, uint32_t lanes,
                        const sim_block_barrier *barrier) {
    uint64_t *d = sim_row(x, in->ref[0]);
    if (in->mode == SIM_BARRIER_POPC) {
        SIM_FOR_LANES(i, lanes, d[i] = barrier->popc);
    } else if (in->mode == SIM_BARRIER_AND) {
        sim_mask_put(x, in->ref[0], lanes, 0u - (uint32_t)barrier->all);
    } else if (in->mode == SIM_BARRIER_OR) {
        sim_mask_put(x, in->ref[0], lanes, 0u - (uint32_t)barrier->any);
    }
}

/* Lets every warp that waits at the barrier go on. */
static void release(sim_run *x, uint32_t id) {
    sim_block *block = x->block;
    sim_block_barrier *barrier = &block->barriers[id];
    block->barrier_clock = ++block->first->cluster_clock;
    block->barrier_tick = x->grid->tick;
    x->grid->progress_tick = x->grid->tick;
    for (uint32_t w = 0; w < block->warp_count; w++) {
        sim_warp *warp = &block->warps[w];
        if (!warp->at_barrier) continue;
        sim_group *group = (sim_group *)group_at_barrier(warp);
        const sim_inst *in = &x->grid->program->insts[group->pc];
        if (barrier_id(warp, x->grid->program, in) != id) continue;
        sim_run other = {.rows = {warp->rows, x->grid->program->constants},
                         .predicates = warp->predicates,
                         .warp = warp,
                         .block = block,
                         .grid = x->grid};
        give_result(&other, in, group->lanes, barrier);
        warp->at_barrier = false;
        group->state = SIM_GROUP_RUNS;
        group->pc++;
    }
    *barrier = (sim_block_barrier){.all = true};
}

static bool is_complete(const sim_run *x, const sim_inst *in, uint32_t id) {
    uint32_t wanted = expected(x, in);
    return wanted && x->block->barriers[id].arrived >= wanted;
}

/* The whole warp has arrived with the group. */
static void arrive_warp(sim_run *x, sim_group *group, const sim_inst *in, uint32_t pc) {
    uint32_t id = barrier_id(x->warp, x->grid->program, in);
    sim_block_barrier *barrier = &x->block->barriers[id];
    uint32_t given = in->mode >= SIM_BARRIER_POPC ? sim_mask(x, in->ref[3]) & group->lanes : 0;
    bool is_first = barrier->arrived == 0;
    if (is_first) *barrier = (sim_block_barrier){.pc = pc, .all = true};
    if (!is_first && !in->count && barrier->pc != pc) {
        const sim_inst *other = &x->grid->program->insts[barrier->pc];
        if (sim_find(x, in, (uint32_t)__builtin_ctz(group->lanes), REDTUNE_SIM_DIVERGENT_BARRIER,
                     "waits at a barrier while other threads of its block wait at the one of "
                     "PTX line %u",
                     other->line)) {
            return;
        }
    }
    barrier->arrived += SIM_LANES;
    barrier->popc += (uint32_t)__builtin_popcount(given);
    barrier->all &= given == group->lanes;
    barrier->any |= given != 0;
    x->counters->barriers++;
    x->warp->wait_ns += x->grid->settings->machine.barrier_ns;
    if (in->mode == SIM_BARRIER_ARRIVE) {
        group->state = SIM_GROUP_RUNS;
        group->pc++;
    } else {
        x->warp->at_barrier = true;
    }
    if (is_complete(x, in, id)) release(x, id);
}

/* Lanes that wait at a barrier while others of their warp, which cannot come, wait elsewhere. */
static bool is_stuck(const sim_warp *warp) {
    for (uint32_t i = 0; i < warp->group_count; i++) {
        if (warp->groups[i].state == SIM_GROUP_RUNS) return false;
    }
    return warp->group_count > 1;
}

void sim_block_barrier_arrive(sim_run *x, const sim_inst *in, uint32_t pc) {
    sim_group *group = NULL;
    for (uint32_t i = 0; i < x->warp->group_count; i++) {
        sim_group *other = &x->warp->groups[i];
        if (other->state == SIM_GROUP_BARRIER && other->pc == pc) group = other;
    }
    if (!group) return;
    if (group->lanes == x->warp->live) {
        arrive_warp(x, group, in, pc);
    } else if (is_stuck(x->warp)) {
        sim_find(x, in, (uint32_t)__builtin_ctz(group->lanes), REDTUNE_SIM_DIVERGENT_BARRIER,
                 "waits at a barrier without lanes 0x%08x of its warp, which wait elsewhere",
                 x->warp->live & ~group->lanes);
        /* Hardware counts warps here, not threads: with the check off, the barrier is met. */
        if (!x->stops) {
            for (uint32_t i = 0; i < x->warp->group_count; i++) {
                x->warp->groups[i].state = SIM_GROUP_RUNS;
                if (x->warp->groups[i].pc == pc) x->warp->groups[i].pc++;
            }
        }
    }
}

/* A warp has exited: barriers no longer wait for it, and its own lanes at one may now be all. */
void sim_block_warp_left(sim_grid *grid, sim_block *block) {
    for (uint32_t w = 0; w < block->warp_count; w++) {
        sim_warp *warp = &block->warps[w];
        if (!warp->at_barrier) continue;
        sim_run x = {.rows = {warp->rows, grid->program->constants},
                     .predicates = warp->predicates,
                     .warp = warp,
                     .block = block,
                     .grid = grid,
                     .counters = &grid->counters};
        const sim_inst *in = &grid->program->insts[group_at_barrier(warp)->pc];
        uint32_t id = barrier_id(warp, grid->program, in);
        if (is_complete(&x, in, id)) release(&x, id);
    }
}
