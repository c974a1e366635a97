/* Simulated: the simulated GPU as a test sees it: opened, its schedule chosen, its findings read.
 */
#pragma once

#include "gpu/buffer.h"
#include "gpu/context.h"
#include "sim/sim.h"

typedef struct simulated {
    rdt_context *context;
    const rdt_driver *driver;
    CUstream stream;
    void *library;
    size_t (*findings)(void);
    int (*finding)(size_t index, struct redtune_sim_finding *out);
    int (*set)(const char *name, const char *value);
    size_t (*check_leaks)(void);
} simulated;

/* REDTUNE_LIBRARY where libredtune-sim.so is missing. Close it also after a failure. */
redtune_status simulated_open(simulated *out, redtune_error *err);
void simulated_close(simulated *gpu);
