/* Remote: an evaluator whose work is done by a worker process, so that a candidate that faults,
 * spoils the GPU's state or does not end costs that process and not the tune. */
#pragma once

#include "tuner/workers/supervisor.h"

typedef struct rdt_remote rdt_remote;

/* Starts the worker of a device, named as in redtune_options; it is not waited for. The system ends
 * the worker when the thread ends that started it, here or after it was lost. */
redtune_status rdt_remote_open(const rdt_worker_pool *workers, const char *device, rdt_remote **out,
                               redtune_error *err);
/* Ends the worker at once. Nobody may use the remote any more; it may be NULL. */
void rdt_remote_close(rdt_remote *remote);
/* The worker's description of itself and its GPU; waits for it. To be called before there are
 * evaluators. */
redtune_status rdt_remote_ready(rdt_remote *remote, rdt_ready *out, redtune_error *err);

/* The evaluator of a job, below RDT_JOBS_MAX, for the problems of the domain; good until the next
 * call for that job. Each job may be a thread's own: the worker answers one request at a time.
 * Where the worker is lost, another takes its place and goes on behind the candidate that was named
 * last, which has its verdict; those that were being timed with it are timed again, each alone.
 * REDTUNE_INTERRUPTED if stop said so, and the failure of a worker that does not start again: then
 * the GPU is lost. */
rdt_evaluator rdt_remote_evaluator(rdt_remote *remote, unsigned job, const rdt_domain *domain);
