/* Segment lengths: a table of offsets for a problem of segments, of which only the number, the
 * average, the median and the greatest length are known. */
#pragma once

#include "model/problem.h"

/* Fills offsets[segments + 1], from 0 on: lengths that do not decrease, in an order drawn from a
 * fixed seed. The greatest is the problem's, half of them have the median or less, and all have
 * about the problem's elements, never more. The same problem has the same table. REDTUNE_MEMORY. */
redtune_status rdt_segment_lengths_fill(const redtune_problem *problem, uint64_t *offsets,
                                        redtune_error *err);
/* Segments of the problem, at least 1. */
uint64_t rdt_segment_lengths_count(const redtune_problem *problem);
