/* Local: the evaluator of this process: its GPU memory, its kernels and its timer. */
#pragma once

#include "gpu/nvml.h"
#include "tuner/measure/kernel_set.h"
#include "tuner/evaluator.h"

typedef struct rdt_local rdt_local;

/* A local evaluator's parts; all of them outlive it. */
typedef struct rdt_local_parts {
    const rdt_context *context; /* current whenever the evaluator is used */
    rdt_maker maker;
    rdt_nvml *nvml;        /* may be NULL */
    uint64_t memory_bytes; /* of the GPU that it may take at most; 0: what measuring well takes */
    /* Gets the batch's current candidate before each of its steps. May be NULL. */
    void (*at)(void *user, size_t candidate);
    void *at_user;
} rdt_local_parts;

/* An evaluator for the problems of the domain, which is good for as long as *local is. A larger
 * problem widens the domain: all that was made for it is made anew. It takes GPU
 * memory on its first use only, and the place of the one in *local, which may be NULL: the test
 * data of two classes might not fit the GPU's memory. */
redtune_status rdt_local_replace(rdt_local **local, const rdt_local_parts *parts,
                                 const rdt_domain *domain, rdt_evaluator *out, redtune_error *err);
/* local may be NULL. */
void rdt_local_destroy(rdt_local *local);
