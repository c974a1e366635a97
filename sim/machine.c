/* Machine: the machine description and the clock: a launch's time as a function of its counters. */
#include "machine.h"

#include "sim.h"

/* Four of the SMs of a data-centre GPU of compute capability 9.0, with their share of its memory
 * bandwidth and cache. */
const sim_machine sim_machine_default = {
    .capability = 90,
    .sm_count = 4,
    .sm_threads = 2048,
    .sm_blocks = 32,
    .sm_registers = 65536,
    .sm_shared_bytes = 228 * 1024,
    .memory_bytes = 4ull << 30,
    .cache_bytes = 2u << 20,
    .clock_ghz = 1.5,
    .issue_per_cycle = 4,
    .memory_bytes_per_ns = 145,
    .cache_bytes_per_ns = 400,
    .memory_ns = 600,
    .cache_ns = 250,
    .barrier_ns = 20,
    .atomic_ns = 4,
    .block_ns = 200,
    .launch_ns = 2500,
    .node_ns = 550,
    .copy_ns = 1500,
    .host_bytes_per_ns = 25,
};

static double most(double a, double b) { return a > b ? a : b; }

double sim_machine_time_ns(const sim_machine *machine, const struct redtune_sim_counters *c,
                           uint32_t resident_blocks) {
    if (!c->blocks || !resident_blocks) return 0;
    double blocks = (double)c->blocks, sms = machine->sm_count;
    double busy_sms = blocks < sms ? blocks : sms;
    uint64_t rounds = (c->blocks + resident_blocks - 1) / resident_blocks;
    double waves = (double)rounds;
    double resident_warps = (double)c->warps / blocks * resident_blocks;

    /* The times of the parts if each worked alone. */
    double shared_turns = (double)(c->shared_wavefronts - c->shared_requests);
    double issues = (double)c->warp_instructions + shared_turns;
    double issue_ns = issues / (machine->issue_per_cycle * machine->clock_ghz * busy_sms);
    double memory_ns = (double)c->memory_transactions * 32 / machine->memory_bytes_per_ns;
    double cache_ns = (double)c->global_transactions * 32 / machine->cache_bytes_per_ns;
    double atomic_ns = (double)c->atomics * machine->atomic_ns;

    /* Waits of warps that run side by side overlap; a warp's own follow each other. */
    double missed = (double)(c->memory_waits - c->cache_waits);
    double waits = missed * machine->memory_ns + (double)c->cache_waits * machine->cache_ns +
                   (double)c->barriers * machine->barrier_ns;
    double wait_ns = most(waits / resident_warps, c->longest_warp_ns);

    double throughput = most(most(issue_ns, memory_ns), most(cache_ns, atomic_ns));
    double starts = waves * machine->block_ns + (blocks / sms) * machine->block_ns / 16;
    return throughput + wait_ns + starts;
}
