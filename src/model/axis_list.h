/* Axis list: the kept and the reduced axes of an array, joined as far as kernels need it.
 *
 * An axis joins the one inside it where it goes on where that one ends: its step is that one's size
 * times step. What is left must have the form that kernels take: at most one reduced axis (count,
 * step), and at most two kept ones (outer, inner), the inner one of step 1. Where elements may be
 * combined in any order, the reduced axes are sorted by step first.
 *
 * Joining finds all that there is: an axis that joins no other breaks the run of equal steps, and
 * the form has room for one break, at inner. What it has no room for is refused here, and left to
 * kernels of any axes (problem_strided.c) where there are such. */
#pragma once

#include "model/problem.h"

enum { RDT_AXIS_LIST_MAX = 64 };
/* How a message ends where no kernel takes the array. */
#define RDT_AXIS_LIST_COPY_IT "copy the array to a packed one with the reduced axes last"

/* Axes that joined, whose outermost and innermost have these numbers. */
typedef struct rdt_joined_axis {
    uint64_t size, step;
    size_t outermost, innermost;
} rdt_joined_axis;

/* Outermost first. */
typedef struct rdt_axis_list {
    size_t count;
    rdt_joined_axis axis[RDT_AXIS_LIST_MAX];
} rdt_axis_list;

/* `cannot` is how messages begin, `step` the caller's word for one, and `lacking` what messages say
 * of a problem that has no kernels of any axes (rdt_problem_strided_lacking). */
typedef struct rdt_axis_lists {
    const char *cannot, *step, *lacking;
    rdt_axis_list kept, reduced;
} rdt_axis_lists;

void rdt_axis_list_begin(rdt_axis_lists *lists, const char *cannot, const char *step);
/* Adds an axis, which is not empty, inside those that are there; of one element it does not matter.
 * REDTUNE_UNSUPPORTED for a step that is not positive. */
redtune_status rdt_axis_list_add(rdt_axis_lists *lists, bool reduced, size_t number, uint64_t size,
                                 int64_t step, redtune_error *err);
/* The extents that the axes come to, with zeros for the usual ones, under the problem's op and
 * order; the lists are used up. REDTUNE_UNSUPPORTED for what no kernel takes. */
redtune_status rdt_axis_list_fit(rdt_axis_lists *lists, const redtune_problem *problem,
                                 rdt_extents *out, redtune_error *err);
/* REDTUNE_UNSUPPORTED for an empty axis that is kept. */
redtune_status rdt_axis_list_refuse_empty(const rdt_axis_lists *lists, size_t number,
                                          redtune_error *err);
