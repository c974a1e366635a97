/* Supervisor: the worker process of one GPU, started, greeted and heard, and started again where it
 * is lost. */
#pragma once

#include "tuner/workers/compile_pool.h"
#include "tuner/workers/protocol.h"
#include "tuner/workers/process.h"

/* Options common to the GPUs' workers of a tune; all of it outlives them. */
typedef struct rdt_worker_pool {
    const rdt_worker_options *options;
    rdt_compile_pool *pool;   /* makes kernels in advance; may be NULL */
    double limit_s;           /* for one step of a candidate: compiling, a check, a sample */
    bool (*stop)(void *user); /* asked many times a second: whether to give up; NULL: never */
    void *user;
} rdt_worker_pool;

/* Zeroed except worker pool and device: no worker yet. process is ended by its owner. */
typedef struct rdt_supervisor {
    const rdt_worker_pool *workers;
    char device[16]; /* as in redtune_options */
    rdt_process process;
    bool is_ready;
    rdt_ready ready; /* of the worker that was last ready */
} rdt_supervisor;

/* Starts a worker; it is not waited for. */
redtune_status rdt_supervisor_start(rdt_supervisor *self, redtune_error *err);
/* Waits for the worker, and starts one where none runs, or where it ends before it can say
 * anything. REDTUNE_INTERRUPTED if stop said so. */
redtune_status rdt_supervisor_need(rdt_supervisor *self, redtune_error *err);

/* The next event of a worker. */
typedef enum rdt_event {
    RDT_EVENT_FRAME,
    RDT_EVENT_SILENCE, /* nothing for as long as it may take */
    RDT_EVENT_END,     /* the process has ended, or sends what is no frame */
    RDT_EVENT_STOP,    /* nobody waits for it any more */
} rdt_event;

/* Waits for the next frame. Log lines are passed on. */
rdt_event rdt_supervisor_hear(rdt_supervisor *self, double limit_s, rdt_frame *out);

/* Whether the tune is to stop. */
bool rdt_supervisor_stops(const rdt_supervisor *self);
