// Segments: many reductions at once, of parts of one array.
#pragma once

#include "call.h"
#include "redtune/list.h"

void segments_run(redtune *rt, const reduction &what, const redtune_segments &segments,
                  CUstream_st *stream);
// How many segments there are and what their lengths are like: their average, and what is said of
// the longest (0: nothing).
void segments_say_lengths(redtune_problem &problem, uint64_t elements, uint64_t segments,
                          uint64_t longest);
void segments_add(nb::module_ &module);
