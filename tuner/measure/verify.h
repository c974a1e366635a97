/* Verify: whether a kernel of whole arrays gives the exact result, before it may be timed. */
#pragma once

#include "gpu/kernel.h"
#include "tuner/measure/test_buffers.h"

/* Whether what a kernel left in an output are the expected results, and nothing behind them was
 * written. */
bool rdt_verify_same(const redtune_problem *problem,
                     const unsigned char output[RDT_TEST_BUFFERS_OUTPUT_BYTES],
                     const rdt_answer *expected);
/* REDTUNE_WRONG: says what the op gave over `count` elements, and what it should. which: of the
 * calls, for the message. */
redtune_status rdt_verify_wrong(const redtune_problem *problem, uint64_t count, const char *which,
                                const unsigned char output[RDT_TEST_BUFFERS_OUTPUT_BYTES],
                                const rdt_answer *expected, redtune_error *err);

/* REDTUNE_WRONG unless counters and words of scratch are zero again, which `blocks` blocks may have
 * used. */
redtune_status rdt_verify_scratch(const rdt_test_buffers *buffers, size_t blocks,
                                  redtune_error *err);

/* Runs the kernel at counts around its own boundaries (warp, tile, grid), from aligned and
 * unaligned starts: once for each kernel. REDTUNE_WRONG names the first wrong result;
 * REDTUNE_DEVICE if it does not run. */
redtune_status rdt_verify_edges(const rdt_test_buffers *buffers, const redtune_problem *problem,
                                const rdt_kernel *kernel, const rdt_launch *launch,
                                redtune_error *err);
/* Runs the kernel at the problem's own count, whole and cut at both ends: once for each config. */
redtune_status rdt_verify_count(const rdt_test_buffers *buffers, const redtune_problem *problem,
                                const rdt_kernel *kernel, const rdt_launch *launch,
                                redtune_error *err);
