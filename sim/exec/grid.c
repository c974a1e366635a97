/* Grid: a launch: the slots that blocks run in, the turns of warps, and the end, good or bad.
 *
 * As many blocks are resident as the machine's SMs hold. All warps of all resident blocks take
 * turns, so blocks may wait for each other. A turn is a number of instructions; a seed shuffles
 * the turns' order and length, and the same seed gives the same run. When nothing has
 * progressed for a limit of ticks, the launch is a deadlock or a hang. */
#include "exec/lanes.h"
#include "exec/order.h"
#include "exec/run.h"
#include "ptx/special.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TURN = 4096, TURN_BITS_LEAST = 3, TURN_BITS_MOST = 12 };

static uint64_t next_random(sim_grid *grid) {
    uint64_t z = grid->random += 0x9E3779B97F4A7C15ull; /* splitmix64 */
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ z >> 27) * 0x94D049BB133111EBull;
    return z ^ z >> 31;
}

static uint32_t least(uint32_t a, uint32_t b) { return a < b ? a : b; }

uint32_t sim_grid_blocks_per_sm(const sim_machine *machine, const sim_program *program,
                                uint32_t threads, uint32_t dynamic_bytes) {
    uint32_t warps = (threads + SIM_LANES - 1) / SIM_LANES;
    uint32_t blocks = least(machine->sm_blocks, machine->sm_threads / (warps * SIM_LANES));
    uint32_t registers = (program->register_count + 7) / 8 * 8;
    blocks = least(blocks, machine->sm_registers / (registers * warps * SIM_LANES));
    uint32_t shared = program->shared_named_bytes + dynamic_bytes;
    if (shared) blocks = least(blocks, machine->sm_shared_bytes / (shared + 1024));
    return blocks;
}

static void free_slots(sim_grid *grid) {
    for (uint32_t s = 0; grid->blocks && s < grid->block_count; s++) {
        sim_block *block = &grid->blocks[s];
        if (block->warps) free(block->warps[0].rows);
        if (block->warps) free(block->warps[0].predicates);
        free(block->warps);
        free(block->shared);
        free(block->tags);
        free(block->local);
    }
    free(grid->blocks);
    grid->blocks = NULL;
}

static bool make_slot(sim_grid *grid, sim_block *block) {
    const sim_program *program = grid->program;
    uint32_t warps = (grid->threads + SIM_LANES - 1) / SIM_LANES;
    size_t rows = (size_t)(program->row_count ? program->row_count : 1) * SIM_LANES;
    block->warp_count = warps;
    block->warps = calloc(warps, sizeof *block->warps);
    if (!block->warps) return false;
    block->shared = calloc(1, grid->shared_total + 1);
    block->tags = calloc(grid->shared_total + 1, sizeof *block->tags);
    /* What a thread finds there before it writes is anything. */
    block->local =
        malloc(((size_t)warps * SIM_LANES * sim_local_lines(program) + 1) * SIM_LINE_BYTES);
    uint64_t *all_rows = calloc(warps, rows * sizeof *all_rows);
    uint32_t *predicates = calloc(warps, program->predicate_count * sizeof *predicates);
    for (uint32_t w = 0; w < warps && all_rows && predicates; w++) {
        block->warps[w].rows = all_rows + w * rows;
        block->warps[w].predicates = predicates + (size_t)w * program->predicate_count;
        block->warps[w].predicates[0] = UINT32_MAX;
        block->warps[w].index = w;
    }
    if (all_rows && predicates) return block->shared && block->tags && block->local;
    free(all_rows);
    free(predicates);
    return false;
}

static bool make_slots(sim_grid *grid) {
    const sim_machine *machine = &grid->settings->machine;
    const sim_launch *launch = grid->launch;
    uint32_t per_sm =
        sim_grid_blocks_per_sm(machine, grid->program, grid->threads, launch->dynamic_bytes);
    uint64_t slots = (uint64_t)(per_sm ? per_sm : 1) * machine->sm_count;
    uint32_t together = grid->program->cluster_blocks;
    slots = slots < together ? together : slots / together * together;
    if (slots > grid->total_blocks) slots = grid->total_blocks;
    grid->blocks = calloc(slots, sizeof *grid->blocks);
    if (!grid->blocks) return false;
    grid->block_count = (uint32_t)slots;
    for (uint32_t s = 0; s < grid->block_count; s++) {
        grid->blocks[s].slot = s;
        grid->blocks[s].rank = s % together;
        grid->blocks[s].first = &grid->blocks[s - s % together];
        if (!make_slot(grid, &grid->blocks[s])) return false;
    }
    return true;
}

static uint64_t special_value(const sim_grid *grid, const sim_block *block, uint32_t thread,
                              sim_special special) {
    const uint32_t *shape = grid->launch->block;
    uint32_t lane = thread % SIM_LANES, bit = 1u << lane;
    switch ((int)special) { /* the clocks are read elsewhere */
    case SIM_SPECIAL_TID_X: return thread < shape[0] ? thread : thread % shape[0];
    case SIM_SPECIAL_TID_Y: return thread / shape[0] % shape[1];
    case SIM_SPECIAL_TID_Z: return thread / shape[0] / shape[1];
    case SIM_SPECIAL_NTID_X:
    case SIM_SPECIAL_NTID_Y:
    case SIM_SPECIAL_NTID_Z: return shape[special - SIM_SPECIAL_NTID_X];
    case SIM_SPECIAL_CTAID_X:
    case SIM_SPECIAL_CTAID_Y:
    case SIM_SPECIAL_CTAID_Z: return block->at[special - SIM_SPECIAL_CTAID_X];
    case SIM_SPECIAL_NCTAID_X:
    case SIM_SPECIAL_NCTAID_Y:
    case SIM_SPECIAL_NCTAID_Z: return grid->launch->grid[special - SIM_SPECIAL_NCTAID_X];
    case SIM_SPECIAL_LANEID: return lane;
    case SIM_SPECIAL_WARPID: return thread / SIM_LANES;
    case SIM_SPECIAL_NWARPID: return grid->settings->machine.sm_threads / SIM_LANES;
    case SIM_SPECIAL_SMID: return block->slot % grid->settings->machine.sm_count;
    case SIM_SPECIAL_NSMID: return grid->settings->machine.sm_count;
    case SIM_SPECIAL_GRIDID: return grid->memory->launch;
    case SIM_SPECIAL_LANEMASK_EQ: return bit;
    case SIM_SPECIAL_LANEMASK_LT: return bit - 1;
    case SIM_SPECIAL_LANEMASK_LE: return (bit - 1) | bit;
    case SIM_SPECIAL_LANEMASK_GT: return ~((bit - 1) | bit);
    case SIM_SPECIAL_LANEMASK_GE: return ~(bit - 1);
    case SIM_SPECIAL_CLUSTERID_X: return block->at[0] / grid->program->cluster_blocks;
    case SIM_SPECIAL_NCLUSTERID_X: return grid->launch->grid[0] / grid->program->cluster_blocks;
    case SIM_SPECIAL_CLUSTER_CTAID_X:
    case SIM_SPECIAL_CLUSTER_CTARANK: return block->rank;
    case SIM_SPECIAL_CLUSTER_NCTAID_X:
    case SIM_SPECIAL_CLUSTER_NCTARANK: return grid->program->cluster_blocks;
    case SIM_SPECIAL_DYNAMIC_SMEM: return grid->launch->dynamic_bytes;
    case SIM_SPECIAL_TOTAL_SMEM:
        return grid->program->shared_named_bytes + grid->launch->dynamic_bytes;
    default: return 0;
    }
}

/* Whether the lanes of a warp see values of their own. */
static bool is_of_lanes(sim_special special) {
    switch ((int)special) {
    case SIM_SPECIAL_TID_X:
    case SIM_SPECIAL_TID_Y:
    case SIM_SPECIAL_TID_Z:
    case SIM_SPECIAL_LANEID:
    case SIM_SPECIAL_LANEMASK_EQ:
    case SIM_SPECIAL_LANEMASK_LT:
    case SIM_SPECIAL_LANEMASK_LE:
    case SIM_SPECIAL_LANEMASK_GT:
    case SIM_SPECIAL_LANEMASK_GE: return true;
    default: return false;
    }
}

static void start_warp(sim_grid *grid, sim_block *block, sim_warp *warp) {
    const sim_program *program = grid->program;
    uint32_t first = warp->index * SIM_LANES;
    uint32_t rest = grid->threads - first;
    warp->live = rest >= SIM_LANES ? UINT32_MAX : (1u << rest) - 1;
    warp->group_count = 1;
    warp->groups[0] = (sim_group){0, warp->live, SIM_GROUP_RUNS};
    warp->crowded_turns = 0;
    warp->at_barrier = warp->load_pending = warp->load_missed = false;
    warp->sync_count = warp->full_sync_clock = 0;
    memset(warp->spin_keys, 0, sizeof warp->spin_keys);
    warp->spin_next = 0;
    warp->cluster_arrived = warp->cluster_released = 0;
    warp->wait_ns = 0;
    for (uint32_t s = 0; s < program->special_count; s++) {
        const sim_special special = (sim_special)program->specials[s].special;
        const bool is_own = is_of_lanes(special);
        uint64_t *row = warp->rows + (size_t)program->specials[s].row * SIM_LANES;
        row[0] = (uint32_t)special_value(grid, block, first, special);
        for (uint32_t i = 1; i < SIM_LANES; i++)
            row[i] = is_own ? (uint32_t)special_value(grid, block, first + i, special) : row[0];
    }
}

static void start_block(sim_grid *grid, sim_block *block) {
    const uint32_t *shape = grid->launch->grid;
    uint64_t index = grid->next_block++;
    block->is_busy = true;
    block->index = index;
    block->at[0] = (uint32_t)(index % shape[0]);
    block->at[1] = (uint32_t)(index / shape[0] % shape[1]);
    block->at[2] = (uint32_t)(index / shape[0] / shape[1]);
    block->live_warps = block->warp_count;
    block->has_met = block->is_relaxed = false;
    block->start_clock = block->barrier_clock = ++block->first->cluster_clock;
    block->met_clock = block->before_clock = block->start_clock;
    block->met_tick = grid->tick;
    block->barrier_tick = grid->tick;
    memset(block->barriers, 0, sizeof block->barriers);
    for (uint32_t w = 0; w < block->warp_count; w++) start_warp(grid, block, &block->warps[w]);
    grid->counters.blocks++;
    grid->counters.warps += block->warp_count;
}

/* The blocks of a cluster start together, when none of those that were in their slots runs. */
static void start_cluster(sim_grid *grid, sim_block *first) {
    uint32_t together = grid->program->cluster_blocks;
    for (uint32_t i = 0; i < together; i++) {
        if (first[i].is_busy) return;
    }
    for (uint32_t i = 0; i < together; i++) start_block(grid, &first[i]);
}

/* Seed 0 gives long turns of one length; any other, turns of every length from 8 up. */
static uint32_t turn_length(sim_grid *grid) {
    if (!grid->settings->seed) return TURN;
    uint64_t random = next_random(grid);
    uint32_t bits = TURN_BITS_LEAST + (uint32_t)(random % (TURN_BITS_MOST - TURN_BITS_LEAST + 1));
    return (1u << bits) + (uint32_t)(random >> 32 & ((1u << bits) - 1));
}

static void find_stuck(sim_grid *grid, sim_block *block, int kind, const char *what) {
    for (uint32_t w = 0; w < block->warp_count; w++) {
        sim_warp *warp = &block->warps[w];
        if (!warp->live || !warp->group_count) continue;
        sim_run x = {.warp = warp, .block = block, .grid = grid};
        const sim_group *group = &warp->groups[0];
        sim_find(&x, &grid->program->insts[group->pc], (uint32_t)__builtin_ctz(group->lanes), kind,
                 "%s", what);
        return;
    }
}

/* One turn for each warp of the block that can run. false: none can, and none ever will. */
static bool run_block(sim_grid *grid, sim_block *block) {
    uint32_t count = block->warp_count;
    uint32_t first = grid->settings->seed ? (uint32_t)(next_random(grid) % count) : 0;
    bool ran = false;
    for (uint32_t k = 0; k < count && !grid->finding.kind; k++) {
        sim_warp *warp = &block->warps[(first + k) % count];
        if (!warp->live || !sim_warp_can_run(warp)) continue;
        ran = true;
        sim_warp_run(grid, block, warp, turn_length(grid));
    }
    return ran;
}

static void check_limits(sim_grid *grid, sim_block *block) {
    const sim_settings *settings = grid->settings;
    if (grid->finding.kind) return;
    if (grid->tick - grid->progress_tick > settings->limit_idle) {
        find_stuck(grid, block, REDTUNE_SIM_HANG, "waits in a loop, and nothing else goes on");
    } else if (grid->counters.lane_instructions > settings->limit_instructions) {
        find_stuck(grid, block, REDTUNE_SIM_HANG, "has run into the limit of instructions");
    }
}

static void run_slots(sim_grid *grid) {
    while (grid->done_blocks < grid->total_blocks && !grid->finding.kind) {
        for (uint32_t k = 0; k < grid->block_count && !grid->finding.kind; k++) {
            uint32_t slot = k; /* in turn, or with a seed whichever comes up */
            if (grid->settings->seed) slot = (uint32_t)(next_random(grid) % grid->block_count);
            sim_block *block = &grid->blocks[slot];
            if (!block->is_busy && grid->next_block < grid->total_blocks) {
                start_cluster(grid, block->first);
            }
            if (!block->is_busy) continue;
            bool ran = run_block(grid, block);
            if (!block->live_warps) {
                block->is_busy = false;
                grid->done_blocks++;
                grid->progress_tick = grid->tick;
            } else if (!ran && !grid->finding.kind && !sim_cluster_can_run(grid, block)) {
                find_stuck(grid, block, REDTUNE_SIM_DEADLOCK,
                           "waits, as all of its block do, for threads that cannot come");
            }
            check_limits(grid, block);
        }
    }
}

bool sim_grid_run(sim_grid *grid) {
    const sim_launch *launch = grid->launch;
    grid->program = launch->program;
    grid->threads = launch->block[0] * launch->block[1] * launch->block[2];
    grid->total_blocks = (uint64_t)launch->grid[0] * launch->grid[1] * launch->grid[2];
    grid->shared_total = grid->program->shared_bytes + launch->dynamic_bytes;
    grid->random = grid->settings->seed;
    grid->tick = 1; /* 0 stands for never */
    grid->counters.launches = 1;
    grid->memory->launch++;
    grid->memory->tagged_pages = 0;
    bool made = make_slots(grid);
    if (made) run_slots(grid);
    free_slots(grid);
    sim_order_free(grid);
    uint32_t resident = grid->block_count;
    if (made) {
        grid->counters.time_ns =
            sim_machine_time_ns(&grid->settings->machine, &grid->counters, resident);
    }
    return made;
}
