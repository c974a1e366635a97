/* Verify keyed: whether a kernel by key gives the exact results at small problems, before it may be
 * timed. */
#pragma once

#include "gpu/kernel.h"
#include "tuner/measure/test_buffers.h"

/* Runs the kernel over the dense pool, by few keys and as many as the problem has, of every spread,
 * some out of range, around its own boundaries, from aligned and unaligned starts: once for each
 * kernel. Fails as rdt_verify_shapes_edges does. */
redtune_status rdt_verify_keyed_edges(const rdt_test_buffers *buffers,
                                      const redtune_problem *problem, const rdt_kernel *kernel,
                                      const rdt_launch *launch, redtune_error *err);
