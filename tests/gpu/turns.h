/* Turns: reductions timed in turns on a GPU, cold.
 *
 * A time is that of one call among those of a replayed graph, each on an input of its own, with L2
 * flushed before by reading. What is timed in turns meets the same clocks and the same neighbours,
 * so ratios of such times hold where the times of two runs would not. */
#pragma once

#include "gpu/graph.h"
#include "gpu/timer.h"
#include "subject.h"

enum { TURNS_MAX = 8, TURNS_SAMPLES_MAX = 31, TURNS_PERIOD = 4096 };

/* Sizes of the memory that inputs, and results, are taken from. */
typedef struct turns_sizes {
    size_t pool_bytes, outputs_bytes;
    uint64_t flush_count; /* of 4 bytes, at the pool's end */
} turns_sizes;

typedef struct turns {
    const device *gpu;
    turns_sizes size;
    rdt_buffer pool, outputs;
    rdt_timer timer;
    subject flush;
} turns;

/* One reduction that is timed. */
typedef struct turns_call {
    redtune_problem problem; /* resolved */
    uint64_t offset;         /* elements of the pool before the first one */
    /* Queues it on the GPU's stream; chained: behind another one. */
    redtune_status (*queue)(void *user, CUdeviceptr input, CUdeviceptr output, bool chained,
                            redtune_error *err);
    void *user;
} turns_call;

/* On a simulated device, whose times say nothing, the sizes are small ones instead. The pool is
 * filled with f32. */
redtune_status turns_open(workshop *shop, turns_sizes size, turns *out, redtune_error *err);
void turns_close(turns *self);
/* Fills the pool with elements of that dtype, turns_element of each one's index: whole numbers from
 * -3 to 3. */
redtune_status turns_fill(turns *self, redtune_dtype dtype, redtune_error *err);
static inline int turns_element(uint64_t index) { return (int)(index % TURNS_PERIOD % 7) - 3; }

/* The median of each call's samples, at most TURNS_SAMPLES_MAX. floor_ns is what a call takes at
 * least: it says how many of them a graph has; 0: a guess. */
redtune_status turns_time(turns *self, const turns_call *calls, size_t count, int samples,
                          double floor_ns, double *median_ns, redtune_error *err);

/* A plan that is timed: queue of a turns_call, whose user is this. */
typedef struct turns_plan {
    redtune_plan *plan;
    redtune_problem problem;
    size_t second_at; /* bytes from the first results to the second; 0: there are none */
    CUstream stream;
} turns_plan;

redtune_status turns_run_plan(void *user, CUdeviceptr input, CUdeviceptr output, bool chained,
                              redtune_error *err);
/* Makes the plan for the problem, as it is written, and the call that runs it. plan must live as
 * long as the call, and its plan is destroyed by the caller. */
redtune_status turns_call_plan(const turns *self, redtune *rt, const redtune_problem *problem,
                               turns_plan *plan, turns_call *call, redtune_error *err);
