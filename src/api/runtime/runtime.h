/* Runtime: what one opened redtune holds, shared by the files of the API. */
#pragma once

#include <pthread.h>
#include "api/build/builder.h"
#include "api/records/identity.h"
#include "api/records/select.h"
#include "api/runtime/call_log.h"
#include "api/runtime/plan_table.h"
#include "api/runtime/recorder.h"
#include "api/runtime/workspace.h"

/* A table of 2^40 bytes is beyond any GPU's memory. */
enum { RDT_TABLE_POWERS = 40 };

struct redtune {
    rdt_log log;
    rdt_context *context;
    rdt_workspace *workspace;
    _Atomic(rdt_workspace *) tables[RDT_TABLE_POWERS]; /* tables.h; NULL: not made yet */
    _Atomic(rdt_kernel *) packer;                      /* packer.h; NULL: not made yet */
    rdt_builder *builder;
    rdt_layers layers;   /* of databases; the first is the one that a tune writes */
    char *pin;           /* the configuration that REDTUNE_CONFIG asks for; NULL: none */
    redtune_order order; /* of problems that say none; free or fixed */
    bool background;
    bool check;               /* every call's pointers, before it is launched */
    redtune_trust trust;      /* in imported rows */
    double verify_s;          /* what verifying one of them may take */
    char machine[64];         /* the label that measurements are stored with */
    char *worker;             /* the program that does it; NULL: this process */
    rdt_recorder *recorder;   /* NULL: nothing is recorded */
    rdt_call_log *calls;      /* NULL: calls are not logged */
    pthread_mutex_t lock;     /* guards what follows, down to plans */
    rdt_winners winners;      /* read when a class is first asked for */
    rdt_winners winners_here; /* of what was measured here alone */
    rdt_rows verified;        /* measured here, and kept nowhere else: the database takes none */
    rdt_identity winners_of;  /* the databases that they were read from; "": not known */
    rdt_plan_table plans;     /* redtune_reduce's */
};

/* The index of the environment variable's value among the names, which end with NULL; where it is
 * not set or empty, *out stays as it is. known: the names as a message lists them. */
redtune_status rdt_runtime_read_choice(const char *variable, const char *const *names,
                                       const char *known, int *out, redtune_error *err);
/* The trust of $REDTUNE_TRUST, else the chosen one. */
redtune_status rdt_runtime_find_trust(redtune_trust chosen, redtune_trust *out, redtune_error *err);

/* The problem of a caller of rt with its order as rt has it, free or fixed: the caller's own, or in
 * room. Every public function that reduces calls it once, before anything else sees the problem. */
const redtune_problem *rdt_runtime_set_order(const redtune *rt, const redtune_problem *problem,
                                             redtune_problem *room);
static inline const redtune_problem *
rdt_runtime_order(const redtune *rt, const redtune_problem *problem, redtune_problem *room) {
    if (__builtin_expect(rt->order == REDTUNE_ORDER_FREE, 1)) return problem;
    return rdt_runtime_set_order(rt, problem, room);
}
/* rdt_problem_resolve of such a problem: what only options.order refuses says so. */
redtune_status rdt_runtime_resolve(const redtune *rt, const redtune_problem *problem,
                                   redtune_problem *out, redtune_error *err);
/* Adds to the message of an unsupported problem of fixed order that rt makes all of them so, if it
 * does; returns the status. */
redtune_status rdt_runtime_name_order(const redtune *rt, const redtune_problem *problem,
                                      redtune_status status, redtune_error *err);

/* Chooses among all winners, or among those measured here alone; the lock is held, and the row of
 * the choice lives as long. */
redtune_status rdt_runtime_select(redtune *rt, rdt_codegen *codegen, const redtune_problem *problem,
                                  bool here_only, rdt_choice *out, redtune_error *err);
/* Forgets the winners that were read: plans made from now on use those of the databases then. */
void rdt_runtime_forget_winners(redtune *rt);

/* Starts a thread that runs no signal handler of the program's. */
redtune_status rdt_runtime_start_thread(void *(*run)(void *), void *argument, pthread_t *out,
                                        redtune_error *err);
