/* State: what one opened redtune holds, shared by the files of the API. */
#ifndef RDT_API_RUNTIME_STATE_H
#define RDT_API_RUNTIME_STATE_H

#include <pthread.h>
#include <stdatomic.h>
#include "api/build/builder.h"
#include "api/records/identity.h"
#include "api/records/select.h"
#include "api/runtime/workspace.h"

enum {
    RDT_REDUCE_OPS = 32, /* bounds of the enumerators, for the table of plans */
    RDT_REDUCE_DTYPES = 16,
    RDT_REDUCE_SIZES = 65, /* 0, then powers of two */
};

/* redtune_reduce's plans for one op, dtype and result, by size class: never replaced. */
typedef struct rdt_shelf {
    _Atomic(redtune_plan *) plan[RDT_REDUCE_SIZES];
} rdt_shelf;

struct redtune {
    rdt_log log;
    rdt_context *context;
    rdt_workspace *workspace;
    rdt_builder *builder;
    rdt_layers layers; /* of databases; the first is the one that a tune writes */
    char *pin;         /* the configuration that REDTUNE_CONFIG asks for; NULL: none */
    bool background;
    bool check;              /* every call's pointers, before it is launched */
    redtune_trust trust;     /* in received rows */
    double verify_s;         /* what verifying one of them may take */
    char machine[64];        /* the label that measurements are stored with */
    char *worker;            /* the program that does it; NULL: this process */
    pthread_mutex_t lock;    /* guards what follows, down to shelves */
    rdt_winners winners;     /* read when a class is first asked for */
    rdt_winners settled;     /* the same of what was measured here alone */
    rdt_rows judged;         /* measured here, and kept nowhere else: the database takes none */
    rdt_identity winners_of; /* the databases that they were read from; "": not known */
    /* Read without a lock, shelves and plans added by compare and exchange. A problem that leaves
     * its result to redtune has a shelf of its own, whose plans are those of the usual result's. */
    _Atomic(rdt_shelf *) shelves[RDT_REDUCE_OPS][RDT_REDUCE_DTYPES][RDT_REDUCE_DTYPES];
};

/* Reads the winners of the problem's class, or the settled ones, unless they are there; the lock is
 * held. */
redtune_status rdt_state_need_winners(redtune *rt, const redtune_problem *problem, bool settled,
                                      redtune_error *err);
/* Forgets the winners that were read: plans made from now on use those of the databases then. */
void rdt_state_forget_winners(redtune *rt);

/* Starts a thread that runs no signal handler of the program's. */
redtune_status rdt_state_start_thread(void *(*run)(void *), void *argument, pthread_t *out,
                                      redtune_error *err);

/* Frees redtune_reduce's plans. */
void rdt_state_clear_shelves(redtune *rt);

#endif
