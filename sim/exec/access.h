/* Access: one access of a warp to memory, from its lanes' addresses to their bytes. */
#pragma once

#include "exec/run.h"

typedef struct sim_access {
    uint64_t address[SIM_LANES];  /* as the instruction forms it */
    unsigned char *at[SIM_LANES]; /* where the bytes are */
    uint32_t bytes;               /* per lane: a power of two */
    bool writes;
    bool is_atomic;
} sim_access;

/* The lanes' addresses are written next: half a kilobyte that need not be cleared first. */
static inline void sim_access_begin(sim_access *access, uint32_t bytes, bool writes) {
    access->bytes = bytes;
    access->writes = writes;
    access->is_atomic = false;
}

/* Finds the bytes of every lane given, checks that it may touch them, remembers that it did and
 * counts the transactions. false: the launch is over. */
bool sim_access_reach(sim_run *x, const sim_inst *in, uint32_t lanes, sim_access *access);
