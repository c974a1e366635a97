/* Meanwhile: configs of a class whose kernels were put into the kernel cache, so that a plan whose
 * own kernel must be compiled runs one of them until it is.
 *
 * They are kept as a struct beside the kernels, under the hash of what a kernel's source depends on
 * but its config: the build, the templates, the class and the architecture. A kernel of a class
 * serves all its extents and any alignment as far as the rules allow its config there. */
#pragma once

#include "api/runtime/runtime.h"

enum { RDT_MEANWHILE_MAX = 8 };

typedef struct rdt_meanwhile {
    int32_t count;
    char config[RDT_MEANWHILE_MAX][RDT_POINT_TEXT_BYTES]; /* the latest first */
} rdt_meanwhile;

/* None where nothing is known, and for an op of a user's file. */
void rdt_meanwhile_find(redtune *rt, const redtune_problem *problem, rdt_yield yield,
                        rdt_meanwhile *out);
/* Notes that the cache has this config's kernel, which needs no verifying. */
void rdt_meanwhile_add(redtune *rt, const redtune_problem *problem, rdt_yield yield,
                       const char *config);
