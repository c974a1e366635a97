/* Run: the state of a launch while it runs: a grid of blocks, their warps, and what checks them.
 */
#pragma once

#include "exec/memory.h"
#include "exec/program.h"
#include "machine.h"
#include "sim.h"

typedef enum sim_group_state {
    SIM_GROUP_RUNS,
    SIM_GROUP_SYNCS,   /* waits for other lanes of its warp at a collective */
    SIM_GROUP_BARRIER, /* waits at a barrier of its block */
    SIM_GROUP_CLUSTER  /* waits at the barrier of its cluster */
} sim_group_state;

/* Lanes of one warp that stand at the same instruction. */
typedef struct sim_group {
    uint32_t pc;
    uint32_t lanes;
    uint32_t state; /* sim_group_state */
} sim_group;

/* One bar.warp.sync, for telling which accesses of a warp's lanes it orders. */
typedef struct sim_sync {
    uint32_t clock; /* of the block */
    uint32_t lanes;
    uint64_t tick; /* of the launch */
} sim_sync;

enum { SIM_SYNC_LOG = 64, SIM_BARRIERS = 16 };

enum { SIM_SPIN_KEYS = 4 };

enum { SIM_CLUSTER_BLOCKS = 8 /* at most */ };

typedef struct sim_warp {
    uint64_t *rows;
    uint32_t *predicates;
    uint32_t index; /* in its block */
    uint32_t live;  /* lanes that have not exited */
    uint32_t group_count;
    uint32_t crowded_turns;          /* those that ended with several groups able to run */
    bool at_barrier;                 /* all of its lanes are */
    sim_group groups[SIM_LANES + 2]; /* two more while lanes move between them */
    sim_sync syncs[SIM_SYNC_LOG];    /* a ring: the newest at (sync_count - 1) % SIM_SYNC_LOG */
    uint32_t sync_count;
    uint32_t full_sync_clock; /* of the last one with all live lanes */
    bool load_pending;        /* since the last instruction that waited */
    bool load_missed;         /* and one of the loads went to memory */
    /* The places of the last strong loads, to see one that only repeats; a loop may poll several.
     */
    uint64_t spin_keys[SIM_SPIN_KEYS];
    uint32_t spin_next;
    /* Lanes at the barrier of the cluster: arrived, and not all of the cluster has; all has, and
     * they have not waited yet. */
    uint32_t cluster_arrived;
    uint32_t cluster_released;
    double wait_ns;
} sim_warp;

typedef struct sim_block_barrier {
    uint32_t arrived; /* threads, by whole warps */
    uint32_t pc;      /* of the first warp to arrive */
    uint32_t popc;
    bool all, any;
} sim_block_barrier;

typedef struct sim_shared_tag sim_shared_tag;
typedef struct sim_order_log sim_order_log;

/* A thread's local memory stands in lines of as many bytes as an access may have. A warp has the
 * same line of all its lanes together: they mostly touch the same offset, and so bytes near each
 * other. */
enum { SIM_LINE_BYTES = 32 };

static inline size_t sim_local_lines(const sim_program *program) {
    return (program->local_bytes + SIM_LINE_BYTES - 1) / SIM_LINE_BYTES;
}

/* A slot in which blocks run, one after the other. */
typedef struct sim_block {
    bool is_busy;
    uint32_t slot;
    uint32_t live_warps;
    uint32_t warp_count;
    uint64_t index; /* in the grid */
    uint32_t at[3];
    sim_warp *warps;
    unsigned char *shared;
    sim_shared_tag *tags;    /* per byte of shared */
    unsigned char *local;    /* of each warp sim_local_lines, each line for all of its lanes */
    struct sim_block *first; /* of its cluster; the others follow it, and a block alone is one */
    uint32_t rank;           /* in its cluster */
    uint32_t cluster_clock; /* of the first: counts barriers and syncs of the cluster: when accesses
                               to shared memory happen */
    bool has_met;           /* others of its cluster, so that all of these have started */
    bool is_relaxed;       /* a thread has arrived at the cluster's barrier that releases nothing */
    uint32_t met_clock;    /* when the cluster last met, and the block released what it did */
    uint32_t before_clock; /* when it did the time before */
    uint64_t met_tick;     /* likewise in the launch's ticks */
    uint32_t start_clock;  /* when the block started: what was written before is not its own */
    uint32_t barrier_clock; /* when all of the block last met */
    uint64_t barrier_tick;  /* likewise in the launch's ticks */
    sim_block_barrier barriers[SIM_BARRIERS];
    sim_order_log *order; /* its fences and strong accesses; NULL: none yet */
} sim_block;

/* How a grid is launched. */
typedef struct sim_launch {
    const sim_program *program;
    uint32_t grid[3];
    uint32_t block[3];
    uint32_t dynamic_bytes;
    const unsigned char *params;
} sim_launch;

/* A launch's settings, which the driver fills in. */
typedef struct sim_settings {
    sim_machine machine;
    uint64_t seed;
    uint32_t checks;             /* bits 1 << enum redtune_sim_kind */
    uint64_t limit_instructions; /* of lanes; a launch beyond it hangs */
    uint64_t limit_idle;         /* instructions of warps without any progress */
} sim_settings;

typedef struct sim_grid {
    const sim_launch *launch;
    const sim_program *program;
    const sim_settings *settings;
    sim_memory *memory;
    struct redtune_sim_counters counters;
    struct redtune_sim_finding finding; /* kind REDTUNE_SIM_NONE: none, the launch goes on */
    sim_block *blocks;                  /* resident ones */
    uint32_t block_count;               /* slots */
    uint32_t threads;                   /* of a block */
    uint32_t shared_total;              /* bytes of a block's shared memory, with the gaps */
    uint64_t total_blocks;
    uint64_t next_block;
    uint64_t done_blocks;
    uint64_t random;
    uint64_t tick;             /* counts instructions of warps */
    uint64_t progress_tick;    /* of the last thing that was no mere waiting */
    double start_ns;           /* the device's clock at the launch */
    unsigned char *last_store; /* to global memory, for a fault to spoil; NULL: none */
    uint32_t last_store_bytes;
    sim_order_log **orders; /* per block of the grid; NULL: none has fenced yet */
} sim_grid;

/* One warp while it runs. */
typedef struct sim_run {
    uint64_t *rows[2]; /* the warp's registers, the program's constants */
    uint32_t *predicates;
    sim_warp *warp;
    sim_block *block;
    sim_grid *grid;
    sim_memory *memory;
    struct redtune_sim_counters *counters;
    uint32_t budget; /* instructions left of this turn */
    bool stops;      /* the launch is over: there is a finding */
} sim_run;

/* Runs a whole launch. grid's launch, settings, memory and start_ns are set, the rest zeroed.
 * false: no memory for it; otherwise grid->finding and grid->counters say how it went. */
bool sim_grid_run(sim_grid *grid);

/* How many blocks of the program an SM holds at once; 0: not even one. */
uint32_t sim_grid_blocks_per_sm(const sim_machine *machine, const sim_program *program,
                                uint32_t threads, uint32_t dynamic_bytes);

/* A group of the warp has come to one of the instructions of its cluster's barrier. */
void sim_cluster_come(sim_run *x, sim_group *group, const sim_inst *in);
/* Opens the barrier of the block's cluster if all threads that live have arrived. */
void sim_cluster_open(sim_grid *grid, sim_block *block);
/* Whether any warp of the block's cluster can run. */
bool sim_cluster_can_run(const sim_grid *grid, const sim_block *block);

/* Runs one warp for a while. */
void sim_warp_run(sim_grid *grid, sim_block *block, sim_warp *warp, uint32_t budget);

/* Remembers that the lanes met: what they did to memory before comes before what follows. */
void sim_warp_log_sync(sim_run *x, uint32_t lanes);

/* A group of the warp has come to the barrier at pc. */
void sim_block_barrier_arrive(sim_run *x, const sim_inst *in, uint32_t pc);
void sim_block_warp_left(sim_grid *grid, sim_block *block);

bool sim_warp_can_run(const sim_warp *warp);

/* Records what lane of the warp did at the instruction, unless its check is off, and stops the
 * launch. true: it stops. */
bool sim_find(sim_run *x, const sim_inst *in, uint32_t lane, int kind, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

static inline bool sim_find_checks(const sim_grid *grid, int kind) {
    return grid->settings->checks >> kind & 1;
}
int sim_find_error(int kind);
