/* Local: the lab of this process: its GPU memory, its kernels and its timer. */
#ifndef RDT_TUNER_LOCAL_H
#define RDT_TUNER_LOCAL_H

#include "gpu/nvml.h"
#include "tuner/bank.h"
#include "tuner/lab.h"

typedef struct rdt_local rdt_local;

/* What a local lab works with; all of it outlives the lab. */
typedef struct rdt_local_parts {
    const rdt_context *context; /* current whenever the lab is used */
    rdt_codegen *codegen;
    rdt_make_kernel_fn *make;
    void *user;            /* for make */
    rdt_nvml *nvml;        /* may be NULL */
    uint64_t memory_bytes; /* of the GPU that it may take at most; 0: what measuring well takes */
    /* Told which candidate of a batch is at hand, before each of its steps. NULL: nobody. */
    void (*at)(void *user, size_t candidate);
    void *at_user;
} rdt_local_parts;

/* A lab for problems like `largest`, which is resolved, of up to its count. It takes GPU memory on
 * its first use only. */
redtune_status rdt_local_create(const rdt_local_parts *parts, const redtune_problem *largest,
                                rdt_local **out, redtune_error *err);
/* local may be NULL. */
void rdt_local_destroy(rdt_local *local);
/* The lab is good for as long as local is. */
rdt_lab rdt_local_lab(rdt_local *local);

#endif
