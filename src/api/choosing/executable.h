/* Executable: a configuration chosen for a problem, its kernel loaded: what a plan runs. */
#pragma once

#include "api/choosing/admission.h"

typedef struct rdt_executable {
    rdt_kernel *kernel;
    rdt_launch launch;
    redtune_info info;
    /* Others of its key in the plan table that have measurements of their very own. */
    rdt_extents own[RDT_PLAN_OWN_MAX];
    size_t own_count;
    redtune_problem measured;        /* at which the config won; dtype 0: none */
    char text[RDT_POINT_TEXT_BYTES]; /* "block:block=256,vec=4,..." */
} rdt_executable;

/* What an executable is wanted for. */
typedef struct rdt_need {
    const redtune_problem *problem; /* resolved */
    rdt_yield yield;                /* what its launch leaves */
    bool scattered; /* for the segments that another executable of the problem leaves */
} rdt_need;

/* The context is current in each of these.
 *
 * That of the cached plan, if there is one and its kernel is in the cache: needs neither Lua nor
 * NVRTC. Else leaves *out alone. any_nvrtc: also one that another NVRTC compiled. */
redtune_status rdt_executable_find(redtune *rt, const rdt_need *need, bool any_nvrtc,
                                   rdt_executable **out, redtune_error *err);
/* Chooses by what the problem was admitted by, or takes the configuration that is asked for.
 * at_once: where the kernel would have to be compiled and the default's need not, or another one of
 * the class, gives that, with info.pending set. */
redtune_status rdt_executable_create(redtune *rt, const rdt_need *need,
                                     const rdt_admission *admission, bool at_once,
                                     rdt_executable **out, redtune_error *err);
/* Says what was chosen for the problem: info, measured and text. */
void rdt_executable_describe(rdt_executable *executable, const rdt_spaces *spaces,
                             const redtune_problem *problem, const rdt_choice *choice);
/* executable may be NULL. No launch may still run. */
void rdt_executable_destroy(redtune *rt, rdt_executable *executable);
