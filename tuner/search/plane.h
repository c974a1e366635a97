/* Plane: the shapes of a class of rows, columns or segments: how far apart they are, and which is
 * beside which. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include "model/problem.h"

/* Where one shape lies from another: by count (elements of a result) or by results, whichever
 * differs by more. Here: hardly any differs, only steps and alignment. */
typedef enum rdt_side {
    RDT_SIDE_HERE,
    RDT_SIDE_LESS_COUNT,
    RDT_SIDE_LESS_RESULTS,
    RDT_SIDE_MORE_COUNT,
    RDT_SIDE_MORE_RESULTS,
    RDT_SIDE_COUNT
} rdt_side;

/* One of the extents that a plane has lines along. */
typedef enum rdt_axis { RDT_AXIS_COUNT, RDT_AXIS_OUTER, RDT_AXIS_INNER, RDT_AXES } rdt_axis;

/* Whether the problem is a shape: one that has more extents than its count. */
bool rdt_plane_has(const redtune_problem *problem);

rdt_side rdt_plane_side(const redtune_problem *here, const redtune_problem *there);
/* In doublings, along the extent that differs most. */
double rdt_plane_distance(const redtune_problem *a, const redtune_problem *b);

/* The nearest shapes to one, side by side; NULL: none is near. Starts zeroed. */
typedef struct rdt_beside {
    const redtune_problem *side[RDT_SIDE_COUNT];
} rdt_beside;

/* Puts `there` where it is nearer than what stands there. Of two as near the first stays. */
void rdt_plane_add(rdt_beside *beside, const redtune_problem *here, const redtune_problem *there);

/* The order in which a tune goes through shapes, as indices that the caller frees: by the bytes of
 * the input, and then by count. So a shape has neighbours with less of either when its turn comes.
 */
redtune_status rdt_plane_order(const redtune_problem *problems, size_t count, size_t **out,
                               redtune_error *err);

/* The index of the next shape up from problem i on the line along the axis: all else is equal, and
 * the alignment. -1: none, or further away than a factor of 16. */
long rdt_plane_next(const redtune_problem *problems, size_t count, size_t i, rdt_axis axis);
/* The shape in the middle of two that are on a line along the axis, on a log scale, of the same
 * alignment; of two counts an eighth beyond. false: there is none between them. */
bool rdt_plane_middle(const redtune_problem *low, const redtune_problem *high, rdt_axis axis,
                      redtune_problem *out);
