/* Recheck session: an evaluator in which configs are tried again that were measured before, in this
 * process or in a worker's. */
#pragma once

#include "api/runtime/runtime.h"
#include "api/build/cache_file.h"
#include "tuner/measure/local.h"
#include "tuner/search/recheck.h"
#include "tuner/workers/remote.h"

/* Its options, and the current evaluator. */
typedef struct rdt_recheck_session {
    redtune *rt;
    rdt_codegen *codegen;  /* borrowed for as long as it is open */
    const char *worker;    /* NULL: this process, whose context is current */
    double step_s;         /* in a worker, for one step of a config */
    uint64_t memory_bytes; /* of the GPU's memory, in this process; 0: what measuring well takes */
    rdt_evaluator evaluator;
    size_t at;     /* the current candidate, in this process */
    double made_s; /* seconds that went into making kernels in this process */
    rdt_ready ready;
    rdt_local *local;
    rdt_remote *remote;
    rdt_cache_file cache_file;
    rdt_worker_options options;
    rdt_worker_pool workers;
} rdt_recheck_session;

/* The members down to memory_bytes are set, the others zero. Starts the worker, if there is one. On
 * failure, too, it is closed by the caller. */
redtune_status rdt_recheck_session_open(rdt_recheck_session *self, redtune_error *err);
void rdt_recheck_session_close(rdt_recheck_session *self);

/* Sets the evaluator to one for the problems of the domain, in place of the one before. */
redtune_status rdt_recheck_session_furnish(rdt_recheck_session *self, const rdt_domain *domain,
                                           redtune_error *err);
/* Rechecks one config there, as far as it goes in limit_s (0: no limit) beside the making
 * of kernels. */
redtune_status rdt_recheck_session_recheck(rdt_recheck_session *self,
                                           const redtune_problem *problem, rdt_cache_state cache,
                                           const rdt_point *point, double limit_s,
                                           rdt_rechecked *out, redtune_error *err);
/* Seconds since any moment, without those that went into making kernels. */
double rdt_recheck_session_clock_s(const rdt_recheck_session *self);

/* The origin of its measurements. */
redtune_status rdt_recheck_session_origin(const rdt_recheck_session *self, rdt_origin *out,
                                          redtune_error *err);
