/* State: what one opened redtune holds, shared by the files of the API. */
#ifndef RDT_API_STATE_H
#define RDT_API_STATE_H

#include <pthread.h>
#include <stdatomic.h>
#include "api/builder.h"
#include "api/select.h"
#include "api/workspace.h"

enum {
    RDT_REDUCE_OPS = 32, /* bounds of the enumerators, for the table of plans */
    RDT_REDUCE_DTYPES = 16,
    RDT_REDUCE_SIZES = 65, /* 0, then powers of two */
};

struct redtune {
    rdt_log log;
    rdt_context *context;
    rdt_workspace *workspace;
    rdt_builder *builder;
    char *database;       /* path */
    pthread_mutex_t lock; /* guards winners, and the making of plans for the table */
    rdt_winners winners;
    /* redtune_reduce's plans: read without the lock, added under it, never replaced. */
    _Atomic(redtune_plan *) plans[RDT_REDUCE_OPS][RDT_REDUCE_DTYPES][RDT_REDUCE_SIZES];
};

struct redtune_plan {
    redtune *rt;
    rdt_kernel *kernel;
    rdt_launch launch;
    size_t input_bytes, result_bytes; /* of one element */
    uint64_t count_max;
    redtune_info info;
};

/* Reads the winners again; plans made from now on use them. */
redtune_status rdt_state_read_winners(redtune *rt, redtune_error *err);

#endif
