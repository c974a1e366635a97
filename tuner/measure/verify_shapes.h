/* Verify shapes: whether a kernel of rows or columns gives the exact results, before it may be
 * timed. */
#pragma once

#include "gpu/kernel.h"
#include "tuner/measure/answers.h"

/* Runs the kernel at small shapes around its own boundaries (vector, warp, tile, strip), from
 * aligned and unaligned starts, packed and with gaps: once for each kernel. REDTUNE_WRONG names the
 * first wrong result; REDTUNE_DEVICE if it does not run. */
redtune_status rdt_verify_shapes_edges(const rdt_test_buffers *buffers,
                                       const redtune_problem *problem, const rdt_kernel *kernel,
                                       const rdt_launch *launch, redtune_error *err);
/* Runs the kernel at the extents of the answers' problem, from an aligned start and an unaligned
 * one, where elements that decide are planted at the boundaries: once for each config. */
redtune_status rdt_verify_shapes_extents(rdt_answers *answers, const rdt_kernel *kernel,
                                         const rdt_launch *launch, redtune_error *err);
