/* Segment lengths: what a table of offsets says of them, and a table for a problem of segments, of
 * which only the number, the average, the median and the greatest length are known. */
#pragma once

#include "model/problem.h"

/* The shape (rdt_problem_segments_shape) of the `count` segments that lie between offsets[count +
 * 1]; of no segments it is zero, and of empty ones the median is 1. Leaves the lengths, sorted, in
 * lengths[count], which may be the offsets. */
rdt_extents rdt_segment_lengths_describe(const uint64_t *offsets, uint64_t count,
                                         uint64_t *lengths);
/* Fills offsets[segments + 1], from 0 on: lengths that do not decrease, in an order drawn from a
 * fixed seed. The greatest is the problem's, half of them have the median or less, and all have
 * about the problem's elements, never more. The same problem has the same table. REDTUNE_MEMORY. */
redtune_status rdt_segment_lengths_fill(const redtune_problem *problem, uint64_t *offsets,
                                        redtune_error *err);
/* Segments of the problem, at least 1. */
uint64_t rdt_segment_lengths_count(const redtune_problem *problem);
