/* Gaps: the memory between results that do not lie side by side, which no kernel may write to. */
#pragma once

#include "gpu/buffer.h"
#include "model/problem.h"

/* Whether there is another byte than the poison (test_buffers.h) in a gap, in a copy of `count`
 * places of an output from number `first` on, counted from the first result in memory. */
bool rdt_gaps_are_written(const redtune_problem *problem, int output, uint64_t first,
                          const unsigned char *copy, uint64_t count);
/* REDTUNE_WRONG if gaps of the outputs, of which the first result in memory is at that address, are
 * written: all of them, or of many results those at both ends. */
redtune_status rdt_gaps_check(const redtune_problem *problem, const rdt_driver *driver,
                              CUdeviceptr output, CUstream stream, redtune_error *err);
