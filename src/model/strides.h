/* Strides: any axes of a resolved problem of the layout "strided", as a kernel takes them. */
#pragma once

#include "model/problem.h"

/* Axes are flipped and sorted so that x is read forwards and the innermost axis has its least step,
 * and joined again; the reduced ones of an op that looks for an index, and in fixed order, stay as
 * they are, since elements are counted along them. */
void rdt_strides_set(rdt_strides *out, const redtune_problem *problem);

/* How the innermost axes lie, by which kernels of such problems are chosen. */
typedef struct rdt_lanes {
    uint32_t vec;    /* elements that one load may take along it */
    uint64_t run;    /* its size */
    uint64_t step;   /* of x, whichever way it goes */
    uint64_t beside; /* likewise of y or the mask; 0 without one */
    uint32_t axes;   /* how many such axes there are */
} rdt_lanes;
typedef struct rdt_strides_lanes {
    rdt_lanes reduced, kept;
} rdt_strides_lanes;
rdt_strides_lanes rdt_strides_lanes_of(const redtune_problem *problem);
/* Whether what is the fastest for one may be so for the other: their innermost axes lie alike. */
bool rdt_strides_alike(const redtune_problem *a, const redtune_problem *b);

/* Where the array's elements are, from the one with indices 0: the first of them, 0 or less, and
 * how many it is to the last one, itself included; 0: there is none. */
typedef struct rdt_reach {
    int64_t first;
    uint64_t elements;
} rdt_reach;
rdt_reach rdt_strides_reach(const redtune_problem *problem, redtune_array array);
/* Where element e of result r is, from the one with indices 0; both are counted row-major along the
 * problem's axes as they are given. */
int64_t rdt_strides_place(const redtune_problem *problem, redtune_array array, uint64_t r,
                          uint64_t e);
