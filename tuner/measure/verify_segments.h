/* Verify segments: whether a kernel of segments gives the exact results, before it may be timed. */
#pragma once

#include "gpu/kernel.h"
#include "tuner/measure/test_buffers.h"

/* Runs the kernel on small tables of all kinds of lengths, in each form that a run may give them:
 * once for each kernel. REDTUNE_WRONG names the first wrong result; REDTUNE_DEVICE if it does not
 * run. */
redtune_status rdt_verify_segments_edges(const rdt_test_buffers *buffers,
                                         const redtune_problem *problem, const rdt_kernel *kernel,
                                         const rdt_launch *launch, redtune_error *err);
