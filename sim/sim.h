/* Sim: the functions of libredtune-sim.so besides libcuda's entry points: counters, findings,
 * settings. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A program that runs on the simulated driver finds these functions with dlsym in the library
   that it opened. All of them may be called from any thread; none needs a CUDA context. */

/* Counts of one launch, or of all of them together. Zeroed before anything ran. */
struct redtune_sim_counters {
    uint64_t launches;
    uint64_t blocks;
    uint64_t warps;
    uint64_t warp_instructions;  /* a warp's instruction counts once, however few lanes it has */
    uint64_t lane_instructions;  /* over warp_instructions: average active lanes, 32 at best */
    uint64_t branches;           /* by warps */
    uint64_t divergent_branches; /* that lanes of one warp took differently */
    uint64_t global_loads;       /* requests of a warp */
    uint64_t global_stores;
    uint64_t global_transactions; /* of 32 bytes, as few as the requests' addresses allow */
    uint64_t global_bytes;        /* that lanes asked for; at best 32 per transaction */
    uint64_t memory_transactions; /* those of them that the model's L2 cache did not hold */
    uint64_t shared_requests;
    uint64_t shared_wavefronts; /* passes over the 32 banks; over requests: conflicts */
    uint64_t barriers;          /* of blocks, counted once for each warp */
    uint64_t warp_syncs;
    uint64_t shuffles;
    uint64_t atomics; /* by lanes */
    uint64_t fences;
    uint64_t memory_waits;  /* times that a warp needed what it had loaded from memory */
    uint64_t cache_waits;   /* likewise, when the L2 cache held all of it */
    double longest_warp_ns; /* the modelled waits of the warp that waited longest */
    double time_ns;         /* modelled; docs/sim.md has the formula */
};

/* The counters of the last launch that ran; 0: none did, and *out is zeroed. */
int redtune_sim_counters(struct redtune_sim_counters *out);

/* The sums over all launches since the library was loaded or reset; longest_warp_ns: the most. */
void redtune_sim_total_counters(struct redtune_sim_counters *out);

enum redtune_sim_kind {
    REDTUNE_SIM_NONE,
    REDTUNE_SIM_OUT_OF_BOUNDS,
    REDTUNE_SIM_MISALIGNED,
    REDTUNE_SIM_UNINITIALISED,
    REDTUNE_SIM_SHARED_RACE,
    REDTUNE_SIM_GLOBAL_RACE,
    REDTUNE_SIM_DIVERGENT_BARRIER,
    REDTUNE_SIM_DEADLOCK,
    REDTUNE_SIM_BAD_MASK,
    REDTUNE_SIM_HANG,
    REDTUNE_SIM_TRAP,
    REDTUNE_SIM_LEAK,
    REDTUNE_SIM_MISUSE
};

/* A check's finding. Fields that do not apply are 0 or empty. */
struct redtune_sim_finding {
    int kind;       /* enum redtune_sim_kind */
    int cuda_error; /* the CUresult that the driver reports for it */
    char kernel[128];
    uint32_t block[3];
    uint32_t thread[3];
    uint32_t ptx_line;
    char source[256]; /* the file that .loc names: a template, through #line */
    uint32_t source_line;
    char text[512]; /* all of it, as one line to print */
};

/* Findings since the library was loaded or reset, oldest first; at most 256 are kept. */
size_t redtune_sim_findings(void);
/* 0 when there is no finding of that index. */
int redtune_sim_finding(size_t index, struct redtune_sim_finding *out);
void redtune_sim_clear_findings(void);

/* Looks for device memory and modules that live now, outside of primary contexts' own; each
   becomes a finding. Returns how many. The same happens by itself when the library is unloaded. */
size_t redtune_sim_check_leaks(void);

/* Sets one of the variables of docs/sim.md, such as "REDTUNE_SIM_SEED", as the environment would;
   value NULL unsets it. 0: there is no such variable, or the value makes no sense. */
int redtune_sim_set(const char *name, const char *value);

/* How often an entry point was called, by its name with or without _v2; "*": all of them. */
uint64_t redtune_sim_calls(const char *entry_point);

/* Modelled time since the library was loaded or reset. */
double redtune_sim_time_ns(void);

/* Ends every context and forgets counters, findings and counts of calls, and reads the
   environment again. No other thread may be inside the driver. */
void redtune_sim_reset(void);

#ifdef __cplusplus
}
#endif
