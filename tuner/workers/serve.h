/* Serve: what a worker process does once it is set up: it answers requests one after another. */
#pragma once

#include "tuner/evaluator.h"
#include "tuner/workers/protocol.h"

/* Every function gets user first. */
typedef struct rdt_serving {
    rdt_wire *wire;
    void *user;
    /* Gives an evaluator for the problems of the domain, which is good until the next call for
     * the same job; before each step it calls at(at_user, i) for the candidate i of a
     * batch. */
    redtune_status (*open_evaluator)(void *user, unsigned job, const rdt_domain *domain,
                                     void (*at)(void *at_user, size_t i), void *at_user,
                                     rdt_evaluator *out, redtune_error *err);
    /* Puts a kernel into the kernel cache. */
    redtune_status (*make_image)(void *user, const rdt_compile_job *job, redtune_error *err);
} rdt_serving;

/* Answers until the other end is closed, which is REDTUNE_OK, or the GPU's state is spoilt
 * (REDTUNE_DEVICE): then nothing must be closed in an orderly way, for that could hang. */
redtune_status rdt_serve(const rdt_serving *serving, redtune_error *err);
