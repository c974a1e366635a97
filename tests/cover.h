/* Cover: a set of kernels in which every pair of parameter values, op and dtype included, stands
 * together at least once (pairs that no allowed config has left out). It is computed from the
 * declared space, so that it grows with it. */
#ifndef RDT_TESTS_COVER_H
#define RDT_TESTS_COVER_H

#include "codegen/codegen.h"

typedef struct cover_point {
    redtune_problem problem; /* resolved; count is 2^20 */
    rdt_config config;
} cover_point;

/* *points is freed by the caller. The same space gives the same set. */
redtune_status cover_pairs(rdt_codegen *codegen, int family, const rdt_facts *facts,
                           cover_point **points, size_t *count, redtune_error *err);

#endif
