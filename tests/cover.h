/* Cover: a set of kernels in which every pair of values of two parameters stands together at least
 * once, op and dtype counting as parameters. It is computed from the declared space, so that it
 * grows with it. */
#pragma once

#include "codegen/codegen.h"

typedef struct cover_point {
    redtune_problem problem; /* resolved */
    rdt_point point;
} cover_point;

/* Which pairs are covered. No launch parameter is paired with op or dtype: it does not enter the
 * kernel. */
typedef enum cover_scope {
    COVER_KERNELS,  /* all but op with dtype, of which there are too many to compile often */
    COVER_PROBLEMS, /* op with dtype, too */
} cover_scope;

/* Of whole arrays of 2^20 elements. *points is freed by the caller. The same space gives the same
 * set. Pairs that no allowed point has are left out: those for which none was found in some
 * thousand tries. */
redtune_status cover_pairs(rdt_codegen *codegen, int family, const rdt_facts *facts,
                           cover_scope scope, cover_point **points, size_t *count,
                           redtune_error *err);
/* Likewise, of problems with the extents of `like`. */
redtune_status cover_pairs_like(rdt_codegen *codegen, const redtune_problem *like, int family,
                                const rdt_facts *facts, cover_scope scope, cover_point **points,
                                size_t *count, redtune_error *err);
