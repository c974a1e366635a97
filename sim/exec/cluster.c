/* Cluster: the barrier of a cluster.
 *
 * A thread arrives, and waits later. The barrier opens when every thread of the cluster that lives
 * has arrived; from then on a wait is over at once, and the next round begins. A thread that
 * arrives twice without a wait, or waits without having arrived, is a finding. The barrier orders
 * what a block did before, unless one of its threads arrived relaxed. */
#include "exec/lanes.h"
#include "exec/run.h"

/* Whether somebody has arrived, and nobody who lives has not. */
static bool is_complete(const sim_grid *grid, const sim_block *first) {
    uint32_t arrived = 0;
    for (uint32_t b = 0; b < grid->program->cluster_blocks; b++) {
        for (uint32_t w = 0; w < first[b].warp_count && first[b].live_warps; w++) {
            const sim_warp *warp = &first[b].warps[w];
            if (warp->live & ~warp->cluster_arrived) return false;
            arrived |= warp->live;
        }
    }
    return arrived != 0;
}

static void release_warp(sim_warp *warp) {
    warp->cluster_released |= warp->cluster_arrived;
    warp->cluster_arrived = 0;
    for (uint32_t i = 0; i < warp->group_count; i++) {
        sim_group *group = &warp->groups[i];
        if (group->state == SIM_GROUP_CLUSTER) group->state = SIM_GROUP_RUNS;
    }
}

void sim_cluster_open(sim_grid *grid, sim_block *block) {
    sim_block *first = block->first;
    if (!is_complete(grid, first)) return;
    first->cluster_clock++;
    for (uint32_t b = 0; b < grid->program->cluster_blocks; b++) {
        sim_block *other = &first[b];
        for (uint32_t w = 0; w < other->warp_count; w++) release_warp(&other->warps[w]);
        if (!other->is_relaxed) {
            other->before_clock = other->met_clock;
            other->met_clock = first->cluster_clock;
            other->met_tick = grid->tick;
        }
        other->is_relaxed = false;
    }
    grid->progress_tick = grid->tick;
}

bool sim_cluster_can_run(const sim_grid *grid, const sim_block *block) {
    const sim_block *first = block->first;
    for (uint32_t b = 0; b < grid->program->cluster_blocks; b++) {
        for (uint32_t w = 0; w < first[b].warp_count && first[b].live_warps; w++) {
            if (first[b].warps[w].live && sim_warp_can_run(&first[b].warps[w])) return true;
        }
    }
    return false;
}

static void arrive(sim_run *x, sim_group *group, const sim_inst *in) {
    sim_warp *warp = x->warp;
    uint32_t again = group->lanes & (warp->cluster_arrived | warp->cluster_released);
    if (again && sim_find(x, in, (uint32_t)__builtin_ctz(again), REDTUNE_SIM_DIVERGENT_BARRIER,
                          "arrives at the barrier of its cluster again, and has not waited")) {
        return;
    }
    warp->cluster_arrived |= group->lanes;
    if (in->mode == SIM_CLUSTER_ARRIVE_RELAXED) x->block->is_relaxed = true;
    x->counters->barriers++;
    x->warp->wait_ns += x->grid->settings->machine.barrier_ns;
    group->pc++;
    sim_cluster_open(x->grid, x->block);
}

static void wait(sim_run *x, sim_group *group, const sim_inst *in) {
    sim_warp *warp = x->warp;
    uint32_t absent = group->lanes & ~(warp->cluster_arrived | warp->cluster_released);
    if (absent && sim_find(x, in, (uint32_t)__builtin_ctz(absent), REDTUNE_SIM_DIVERGENT_BARRIER,
                           "waits at the barrier of its cluster, and has not arrived there")) {
        return;
    }
    if (group->lanes & warp->cluster_arrived) {
        group->state = SIM_GROUP_CLUSTER;
        return;
    }
    warp->cluster_released &= ~group->lanes;
    x->block->has_met = true;
    group->pc++;
}

void sim_cluster_come(sim_run *x, sim_group *group, const sim_inst *in) {
    if (in->mode == SIM_CLUSTER_WAIT)
        wait(x, group, in);
    else
        arrive(x, group, in);
}
