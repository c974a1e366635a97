/* Measure: the time of one call of a kernel, from events around replayed graphs. */
#ifndef RDT_TUNER_MEASURE_H
#define RDT_TUNER_MEASURE_H

#include "tuner/bank.h"

/* A kernel recorded so that it can be timed again and again. The graph holds enough calls to make
 * the timed interval long against the timer's resolution: each on another part of the dense pool,
 * so that none finds its input in L2, or all on the same part, so that all do. */
typedef struct rdt_measurement {
    const rdt_rig *rig;
    const rdt_bank *bank; /* flushes */
    rdt_cache_state cache;
    rdt_graph *graph;
    int calls;
} rdt_measurement;

/* The problem, and in which state the cache should be. */
typedef struct rdt_measured {
    const redtune_problem *problem;
    rdt_cache_state cache;
    const rdt_kernel *const *copies; /* of the kernel: the calls take turns through them */
    int copy_count;
    const rdt_launch *launch;
    int variant; /* from 0: inputs and scratch lie elsewhere, as far as there is room */
} rdt_measured;

redtune_status rdt_measurement_open(const rdt_rig *rig, const rdt_bank *bank, rdt_measured what,
                                    rdt_measurement **out, redtune_error *err);
void rdt_measurement_close(rdt_measurement *measurement);
/* Flushes L2, or fills it with the input, and replays the graph: ns per call. */
redtune_status rdt_measurement_sample(const rdt_measurement *measurement, double *sample_ns,
                                      redtune_error *err);

#endif
