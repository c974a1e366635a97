/* Test mask: the mask beside the test data of problems along any axes. Element n of it is always
 * the same, wherever a problem begins; it repeats with a prime period, which is none of theirs.
 * About two of three elements are there, and somewhere many in a row are not. */
#pragma once

#include "gpu/buffer.h"
#include "model/problem.h"

enum { RDT_TEST_MASK_PERIOD = 4099 };

/* Valid when zeroed: no mask. */
typedef struct rdt_test_mask {
    bool bits;
    rdt_buffer buffer;
} rdt_test_mask;

redtune_status rdt_test_mask_open(const rdt_driver *driver, CUstream stream, redtune_mask mask,
                                  uint64_t elements, rdt_test_mask *out, redtune_error *err);
void rdt_test_mask_close(rdt_test_mask *mask);
/* Whether element n is there. */
bool rdt_test_mask_has(uint64_t n);
/* Where it is, as kernels take it: an address, or the number of a bit. */
uint64_t rdt_test_mask_place(const rdt_test_mask *mask, uint64_t n);
