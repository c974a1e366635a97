/* Warp: running one warp, as groups of lanes that part at branches and meet again.
 *
 * A group is a set of lanes at one instruction. Every live lane is in exactly one group. The group
 * furthest behind runs until it branches, waits, or reaches the instruction of another; groups at
 * one instruction in one state are merged. So lanes meet again at the earliest common instruction,
 * without knowing where that is. A loop that waits for lanes of its own warp would starve them:
 * every fourth turn of a parted warp begins with the group furthest ahead. */
#include "exec/lanes.h"
#include "exec/run.h"

/* Every fourth turn of a parted warp is fair. */
enum { FAIR_TURN = 4 };

static void count_waits(sim_run *x) {
    sim_warp *warp = x->warp;
    const sim_machine *machine = &x->grid->settings->machine;
    if (!warp->load_pending) return;
    x->counters->memory_waits++;
    if (!warp->load_missed) x->counters->cache_waits++;
    warp->wait_ns += warp->load_missed ? machine->memory_ns : machine->cache_ns;
    warp->load_pending = warp->load_missed = false;
}

/* The group to run: the one furthest behind, which the others then wait for; NULL: none can. */
static sim_group *choose_group(sim_warp *warp, bool fair) {
    sim_group *chosen = NULL;
    for (uint32_t i = 0; i < warp->group_count; i++) {
        sim_group *group = &warp->groups[i];
        if (group->state != SIM_GROUP_RUNS) continue;
        bool better = !chosen || (fair ? group->pc > chosen->pc : group->pc < chosen->pc);
        if (better) chosen = group;
    }
    return chosen;
}

/* Where the group next meets another one that runs. */
static uint32_t meeting_pc(const sim_warp *warp, const sim_group *group) {
    uint32_t nearest = UINT32_MAX;
    for (uint32_t i = 0; i < warp->group_count; i++) {
        const sim_group *other = &warp->groups[i];
        if (other == group || other->state != SIM_GROUP_RUNS || other->pc <= group->pc) continue;
        if (other->pc < nearest) nearest = other->pc;
    }
    return nearest;
}

static void drop_group(sim_warp *warp, sim_group *group) {
    *group = warp->groups[--warp->group_count];
}

/* Joins groups that stand at one instruction in one state. */
static void merge_groups(sim_warp *warp) {
    for (uint32_t i = 0; i < warp->group_count; i++) {
        for (uint32_t k = i + 1; k < warp->group_count;) {
            sim_group *a = &warp->groups[i], *b = &warp->groups[k];
            if (a->pc == b->pc && a->state == b->state) {
                a->lanes |= b->lanes;
                drop_group(warp, b);
            } else {
                k++;
            }
        }
    }
}

/* Lanes are never in two groups, so there is always room for one more. */
static void add_group(sim_warp *warp, uint32_t pc, uint32_t lanes, uint32_t state) {
    if (lanes) warp->groups[warp->group_count++] = (sim_group){pc, lanes, state};
}

static void exit_lanes(sim_run *x, uint32_t lanes) {
    sim_warp *warp = x->warp;
    warp->live &= ~lanes;
    x->grid->progress_tick = x->grid->tick;
    /* Those who wait at a collective or a barrier may have waited for these lanes only. */
    for (uint32_t i = 0; i < warp->group_count; i++) {
        sim_group *group = &warp->groups[i];
        if (group->state == SIM_GROUP_SYNCS) group->state = SIM_GROUP_RUNS;
        if (group->state == SIM_GROUP_BARRIER && group->lanes == warp->live) {
            sim_block_barrier_arrive(x, &x->grid->program->insts[group->pc], group->pc);
        }
    }
    sim_cluster_open(x->grid, x->block);
}

static void branch(sim_run *x, sim_group *group, const sim_inst *in, uint32_t taken) {
    x->counters->branches++;
    if (taken == group->lanes) {
        group->pc = in->target;
    } else if (!taken) {
        group->pc++;
    } else {
        x->counters->divergent_branches++;
        add_group(x->warp, in->target, taken, SIM_GROUP_RUNS);
        group->lanes &= ~taken;
        group->pc++;
    }
}

/* brx.idx: an index beyond the table is undefined, and found here. */
static void branch_table(sim_run *x, sim_group *group, const sim_inst *in, uint32_t active) {
    const uint64_t *index = sim_row(x, in->ref[0]);
    const uint32_t *targets = x->grid->program->targets + in->target;
    uint32_t passing = group->lanes & ~active, pc = group->pc;
    x->counters->branches++;
    group->lanes = 0;
    for (uint32_t rest = active; rest; rest &= rest - 1) {
        uint32_t i = (uint32_t)__builtin_ctz(rest), k = 0;
        if (index[i] >= in->count) {
            sim_find(x, in, i, REDTUNE_SIM_TRAP, "branches by index %u beyond a table of %u",
                     (uint32_t)index[i], in->count);
            x->stops = true;
            return;
        }
        while (k < x->warp->group_count &&
               (x->warp->groups[k].pc != targets[index[i]] ||
                x->warp->groups[k].state != SIM_GROUP_RUNS || &x->warp->groups[k] == group)) {
            k++;
        }
        if (k < x->warp->group_count)
            x->warp->groups[k].lanes |= 1u << i;
        else
            add_group(x->warp, targets[index[i]], 1u << i, SIM_GROUP_RUNS);
    }
    add_group(x->warp, pc + 1, passing, SIM_GROUP_RUNS);
    drop_group(x->warp, group);
}

/* The lanes at a collective whose peers are all there. */
static uint32_t ready_lanes(const sim_run *x, const sim_inst *in, uint32_t lanes) {
    const uint64_t *masks = sim_row(x, in->ref[SIM_REF_MASK]);
    uint32_t ready = 0;
    for (uint32_t rest = lanes; rest; rest &= rest - 1) {
        uint32_t i = (uint32_t)__builtin_ctz(rest);
        if (((uint32_t)masks[i] & x->warp->live & ~lanes) == 0) ready |= 1u << i;
    }
    return ready;
}

static bool waits_at_sync(const sim_run *x, const sim_group *group) {
    return group->state == SIM_GROUP_SYNCS &&
           x->grid->program->insts[group->pc].run == sim_step_warp_sync;
}

/* bar.warp.sync may be met at different instructions: the lanes that wait at any. */
static uint32_t lanes_at_syncs(const sim_run *x) {
    uint32_t lanes = 0;
    for (uint32_t i = 0; i < x->warp->group_count; i++) {
        if (waits_at_sync(x, &x->warp->groups[i])) lanes |= x->warp->groups[i].lanes;
    }
    return lanes;
}

/* Lets those who wait elsewhere for the lanes of mask go on; gives who they are. */
static uint32_t release_syncs(sim_run *x, uint32_t mask) {
    uint32_t released = 0;
    for (uint32_t i = 0; i < x->warp->group_count; i++) {
        sim_group *other = &x->warp->groups[i];
        if (!waits_at_sync(x, other) || (other->lanes & ~mask)) continue;
        other->state = SIM_GROUP_RUNS;
        other->pc++;
        released |= other->lanes;
    }
    return released;
}

static void join_waiting(sim_warp *warp, sim_group *group) {
    for (uint32_t i = 0; i < warp->group_count; i++) {
        sim_group *other = &warp->groups[i];
        bool joins = other != group && other->state == SIM_GROUP_SYNCS && other->pc == group->pc;
        if (!joins) continue;
        group->lanes |= other->lanes;
        other->lanes = 0;
    }
}

/* The group, at a collective with all its lanes active: runs it for those whose peers are there,
 * and leaves the others waiting. */
static void meet(sim_run *x, sim_group *group, const sim_inst *in) {
    sim_warp *warp = x->warp;
    bool is_sync = in->run == sim_step_warp_sync;
    join_waiting(warp, group);
    uint32_t elsewhere = is_sync ? lanes_at_syncs(x) : 0;
    uint32_t ready = ready_lanes(x, in, group->lanes | elsewhere) & group->lanes;
    uint32_t waiting = group->lanes & ~ready, pc = group->pc;
    if (ready) {
        in->run(x, in, ready);
        x->counters->lane_instructions += (uint32_t)__builtin_popcount(ready);
        uint32_t mask = (uint32_t)sim_row(x, in->ref[SIM_REF_MASK])[__builtin_ctz(ready)];
        uint32_t released = is_sync ? release_syncs(x, mask) : 0;
        if (released) sim_warp_log_sync(x, ready | released);
        group->lanes = ready;
        group->pc = pc + 1;
        add_group(warp, pc, waiting, SIM_GROUP_SYNCS);
    } else {
        group->state = SIM_GROUP_SYNCS;
    }
    for (uint32_t i = 0; i < warp->group_count;) {
        if (warp->groups[i].lanes)
            i++;
        else
            drop_group(warp, &warp->groups[i]);
    }
}

/* A group that arrives where not all of its lanes take part lets the others pass first. */
static bool split_passing(sim_run *x, sim_group *group, uint32_t active) {
    uint32_t passing = group->lanes & ~active;
    if (!passing) return false;
    if (active)
        add_group(x->warp, group->pc + 1, passing, SIM_GROUP_RUNS);
    else
        group->pc++;
    if (active) group->lanes = active;
    return !active;
}

/* Instructions that change the groups: a group is then chosen anew. */
static void flow(sim_run *x, sim_group *group, const sim_inst *in, uint32_t active) {
    uint32_t pc = group->pc;
    switch ((sim_flow)in->flow) {
    case SIM_FLOW_BRANCH: branch(x, group, in, active); break;
    case SIM_FLOW_TABLE: branch_table(x, group, in, active); break;
    case SIM_FLOW_EXIT:
        group->lanes &= ~active;
        group->pc++;
        if (!group->lanes) drop_group(x->warp, group);
        if (active) exit_lanes(x, active);
        break;
    case SIM_FLOW_TRAP:
        if (active) {
            sim_find(x, in, (uint32_t)__builtin_ctz(active), REDTUNE_SIM_TRAP, "traps");
            x->stops = true;
        }
        group->pc++;
        break;
    case SIM_FLOW_COLLECTIVE:
        if (!split_passing(x, group, active)) meet(x, group, in);
        break;
    case SIM_FLOW_BARRIER:
        if (!split_passing(x, group, active)) {
            group->state = SIM_GROUP_BARRIER;
            merge_groups(x->warp);
            sim_block_barrier_arrive(x, in, pc);
        }
        break;
    case SIM_FLOW_CLUSTER:
        if (!split_passing(x, group, active)) sim_cluster_come(x, group, in);
        break;
    case SIM_FLOW_NEXT: break;
    }
}

/* Runs a group until it ends, parts, meets another or has had its turn. */
static void run_group(sim_run *x, sim_group *group) {
    const sim_inst *insts = x->grid->program->insts;
    struct redtune_sim_counters *counters = x->counters;
    uint32_t stop = meeting_pc(x->warp, group), lanes = group->lanes, pc = group->pc;
    uint32_t lane_count = (uint32_t)__builtin_popcount(lanes);
    const uint64_t before = x->grid->tick;
    uint64_t lane_instructions = 0;
    while (x->budget && pc != stop) {
        const sim_inst *in = &insts[pc];
        uint32_t active = lanes & sim_mask(x, in->guard);
        x->budget--;
        x->grid->tick++;
        if (in->waits) count_waits(x);
        /* Where all that live are, none waits elsewhere: a collective is a step like others. */
        const bool meets = in->flow == SIM_FLOW_COLLECTIVE && active == x->warp->live;
        if (in->flow != SIM_FLOW_NEXT && !meets) {
            group->pc = pc;
            if (in->flow != SIM_FLOW_COLLECTIVE)
                lane_instructions += (uint32_t)__builtin_popcount(active);
            bool uniform = in->flow == SIM_FLOW_BRANCH && (active == lanes || !active);
            flow(x, group, in, active);
            if (!uniform || x->warp->group_count > 1) goto done; /* who goes first may change */
            pc = group->pc;
            continue;
        }
        if (active == lanes) {
            lane_instructions += lane_count;
            in->run(x, in, active);
        } else if (active) {
            lane_instructions += (uint32_t)__builtin_popcount(active);
            in->run(x, in, active);
        }
        pc++;
        if (x->stops) break;
    }
    group->pc = pc;
done:
    counters->warp_instructions += x->grid->tick - before;
    counters->lane_instructions += lane_instructions;
}

bool sim_warp_can_run(const sim_warp *warp) {
    for (uint32_t i = 0; i < warp->group_count; i++) {
        if (warp->groups[i].state == SIM_GROUP_RUNS) return true;
    }
    return false;
}

void sim_warp_run(sim_grid *grid, sim_block *block, sim_warp *warp, uint32_t budget) {
    sim_run x = {.rows = {warp->rows, grid->program->constants},
                 .predicates = warp->predicates,
                 .warp = warp,
                 .block = block,
                 .grid = grid,
                 .memory = grid->memory,
                 .counters = &grid->counters,
                 .budget = budget};
    bool fair = warp->crowded_turns % FAIR_TURN == FAIR_TURN - 1;
    while (x.budget && !x.stops) {
        merge_groups(warp);
        sim_group *group = choose_group(warp, fair);
        if (!group) break;
        run_group(&x, group);
    }
    if (warp->group_count > 1) warp->crowded_turns++;
    if (!warp->live && !x.stops) {
        /* What first needs a load may stand on a path that the warp did not take. */
        count_waits(&x);
        if (warp->wait_ns > grid->counters.longest_warp_ns) {
            grid->counters.longest_warp_ns = warp->wait_ns;
        }
        block->live_warps--;
        sim_block_warp_left(grid, block);
    }
}
