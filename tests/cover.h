/* Cover: a set of kernels in which every pair of values of two parameters stands together at least
 * once, op and dtype counting as parameters. It is computed from the declared space, so that it
 * grows with it. */
#pragma once

#include "codegen/codegen.h"

/* Which pairs are covered. No launch parameter is paired with op or dtype: it does not enter the
 * kernel. */
typedef enum cover_scope {
    COVER_KERNELS,  /* all but op with dtype, of which there are too many to compile often */
    COVER_PROBLEMS, /* op with dtype, too */
} cover_scope;

typedef struct cover_point {
    redtune_problem problem; /* resolved */
    rdt_point point;
    cover_scope scope; /* those of COVER_KERNELS cover its pairs alone, and come first */
} cover_point;

/* Of what the set is. */
typedef struct cover_set {
    redtune_problem like; /* has the extents; count 0: whole arrays of 2^20 elements */
    int family;
    cover_scope scope;
    int op_count; /* the first so many of the table; 0: all that are compiled in */
} cover_set;

/* *points is freed by the caller. The same space gives the same set. Pairs that no allowed point
 * has are left out: those for which none was found in some thousand tries. */
redtune_status cover_pairs(rdt_codegen *codegen, const rdt_facts *facts, const cover_set *set,
                           cover_point **points, size_t *count, redtune_error *err);
