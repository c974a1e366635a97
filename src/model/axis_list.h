/* Axis list: the kept and the reduced axes of an array, joined as far as kernels need it.
 *
 * An axis joins the one inside it where it goes on where that one ends: its step is that one's size
 * times step. What is left may have the form of rows and columns: at most one reduced axis (count,
 * step), and at most two kept ones (outer, inner), the inner one of step 1. Where elements may be
 * combined in any order, the reduced axes are sorted by step first.
 *
 * Joining finds all that there is: an axis that joins no other breaks the run of equal steps, and
 * the form has room for one break, at inner. What it has no room for is left to kernels of any axes
 * (problem_strided.c). */
#pragma once

#include "model/problem.h"

enum { RDT_AXIS_LIST_MAX = 64 };

/* Axes that joined. */
typedef struct rdt_joined_axis {
    uint64_t size, step;
} rdt_joined_axis;

/* Outermost first. */
typedef struct rdt_axis_list {
    size_t count;
    rdt_joined_axis axis[RDT_AXIS_LIST_MAX];
} rdt_axis_list;

/* Empty with both counts 0. */
typedef struct rdt_axis_lists {
    rdt_axis_list kept, reduced;
} rdt_axis_lists;

/* Adds an axis, which is not empty, inside those that are there; of one element it does not matter.
 * false: its step is not positive, which that form has not. */
bool rdt_axis_list_add(rdt_axis_lists *lists, bool reduced, uint64_t size, int64_t step);
/* The extents that the axes come to, with zeros for the usual ones, under the problem's op and
 * order; the lists are used up. false: they are not of that form. */
bool rdt_axis_list_fit(rdt_axis_lists *lists, const redtune_problem *problem, rdt_extents *out);
/* Whether neighbouring results of rows share sectors, in which their own elements do not follow
 * each other, as those of every second column: kernels of any axes read each sector once, where
 * results may be combined in any order. */
bool rdt_axis_list_shares_sectors(const redtune_problem *problem, const rdt_extents *rows);
/* REDTUNE_UNSUPPORTED for an empty axis that is kept. `cannot` is how the message begins. */
redtune_status rdt_axis_list_refuse_empty(const char *cannot, size_t number, redtune_error *err);
