/* Serve: what a worker process does once it is set up: it answers requests one after another. */
#ifndef RDT_TUNER_SERVE_H
#define RDT_TUNER_SERVE_H

#include "tuner/local.h"
#include "tuner/message.h"

typedef struct rdt_serving {
    rdt_wire *wire;
    const rdt_local_parts *parts; /* their context is NULL in a worker that only compiles */
    /* Puts a kernel into the kernel cache; gets the parts' user. */
    redtune_status (*make_image)(void *user, const rdt_order *order, redtune_error *err);
} rdt_serving;

/* Answers until the other end is closed, which is REDTUNE_OK, or the GPU's state is spoilt
 * (REDTUNE_DEVICE): then nothing must be closed in an orderly way, for that could hang. */
redtune_status rdt_serve(const rdt_serving *serving, redtune_error *err);

#endif
