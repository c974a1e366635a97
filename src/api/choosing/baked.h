/* Baked: what redtune bake chose and compiled ahead, in the system's kernel files
 * (build/system_kernels.h).
 *
 * For each class of problems a file has a table of executables under the hash of the class: what
 * won at some extents on some GPU model, and a default of each architecture, which serves any
 * extents. So a plan needs neither Lua nor NVRTC. A table is read by the build of redtune that
 * wrote it. */
#pragma once

#include "api/choosing/executable.h"

/* One of a class. */
typedef struct rdt_baked {
    int32_t arch, ptx;       /* of its kernel */
    int32_t usual;           /* 1: the default of the class on that architecture */
    rdt_facts gpu;           /* that it was chosen for; name "": any of the architecture */
    redtune_problem problem; /* likewise, resolved, config NULL */
    rdt_launch launch;
    redtune_info info;
    redtune_problem measured; /* as in rdt_executable */
    char text[RDT_POINT_TEXT_BYTES];
    char kernel[RDT_HASH_TEXT_BYTES]; /* its key in the file */
} rdt_baked;

/* The key of a class's table. */
void rdt_baked_class(const rdt_need *need, char out[RDT_HASH_TEXT_BYTES]);

/* How much of a choice is to fit. */
typedef enum rdt_baked_fit {
    RDT_BAKED_SAME, /* the problem and the GPU model themselves */
    RDT_BAKED_ANY   /* the nearest winner of the class, else its default */
} rdt_baked_fit;

/* Its kernel is loaded into the current context. Leaves *out alone where there is none, where a
 * configuration is asked for, and, of RDT_BAKED_SAME, where the user has a database. */
redtune_status rdt_baked_find(redtune *rt, const rdt_need *need, rdt_baked_fit fit,
                              rdt_executable **out, redtune_error *err);

/* Where there is no compiler, and nothing of the class is baked: says so by name, with the command
 * that bakes it. Leaves err alone where there is no kernel file. */
void rdt_baked_explain(redtune *rt, const rdt_need *need, redtune_error *err);
