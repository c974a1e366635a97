/* Proving: a lab in which configs are tried again that were measured before, in this process or in
 * a worker's. */
#ifndef RDT_API_PROVING_H
#define RDT_API_PROVING_H

#include "api/state.h"
#include "api/cache_file.h"
#include "tuner/local.h"
#include "tuner/recheck.h"
#include "tuner/remote.h"

/* What it is opened with, and the lab at hand. */
typedef struct rdt_proving {
    redtune *rt;
    rdt_codegen *codegen;  /* borrowed for as long as it is open */
    const char *worker;    /* NULL: this process, whose context is current */
    double step_s;         /* in a worker, for one step of a config */
    uint64_t memory_bytes; /* of the GPU's memory, in this process; 0: what measuring well takes */
    rdt_lab lab;
    size_t at;     /* the candidate at hand, in this process */
    double made_s; /* seconds that went into making kernels in this process */
    rdt_ready ready;
    rdt_local *local;
    rdt_remote *remote;
    rdt_cache_file cache_file;
    rdt_workplace workplace;
    rdt_workforce workforce;
} rdt_proving;

/* The members down to memory_bytes are set, the others zero. Starts the worker, if there is one. On
 * failure, too, it is closed by the caller. */
redtune_status rdt_proving_open(rdt_proving *self, redtune_error *err);
void rdt_proving_close(rdt_proving *self);

/* Sets the lab to one for problems like this one of up to its count, in place of the one before. */
redtune_status rdt_proving_furnish(rdt_proving *self, const redtune_problem *largest,
                                   redtune_error *err);
/* Rechecks one config there, as far as it goes in so many seconds (0: no limit) beside the making
 * of kernels. */
redtune_status rdt_proving_recheck(rdt_proving *self, const redtune_problem *problem,
                                   rdt_cache_state cache, int family, const rdt_config *config,
                                   double limit_s, rdt_rechecked *out, redtune_error *err);
/* Seconds since any moment, without those that went into making kernels. */
double rdt_proving_clock_s(const rdt_proving *self);

/* What measurements made there are made with. */
redtune_status rdt_proving_origin(const rdt_proving *self, rdt_origin *out, redtune_error *err);

#endif
