/* Machine: the machine that the clock models: a few figures, all of them in docs/sim.md. */
#pragma once

#include <stdint.h>

typedef struct sim_machine {
    uint32_t capability; /* 90 for 9.0 */
    uint32_t sm_count;
    uint32_t sm_threads; /* resident at once */
    uint32_t sm_blocks;
    uint32_t sm_registers;
    uint32_t sm_shared_bytes;
    uint64_t memory_bytes;
    uint64_t cache_bytes; /* L2 */
    double clock_ghz;
    double issue_per_cycle; /* instructions of warps, per SM */
    double memory_bytes_per_ns;
    double cache_bytes_per_ns;
    double memory_ns; /* latencies */
    double cache_ns;
    double barrier_ns;
    double atomic_ns;
    double block_ns;          /* to start a block on its SM */
    double launch_ns;         /* of a launch through a stream */
    double node_ns;           /* of a graph's node */
    double copy_ns;           /* of a copy or memset, besides its bytes */
    double host_bytes_per_ns; /* between host and device */
} sim_machine;

extern const sim_machine sim_machine_default;

/* The modelled time of a launch, less what it costs to start it. */
struct redtune_sim_counters;
double sim_machine_time_ns(const sim_machine *machine, const struct redtune_sim_counters *counters,
                           uint32_t resident_blocks);
