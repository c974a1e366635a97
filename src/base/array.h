/* Array: room for one more element, in arrays that grow while they are filled. */
#pragma once

#include "base/fail.h"

/* Makes an array long enough for count elements, at least doubling it, so that filling one takes
 * time in proportion to its length. An array that is NULL has capacity 0. On failure both stay as
 * they are. */
#define RDT_ARRAY_RESERVE(array, capacity, count, err)                                             \
    rdt_array_reserve(&(array), &(capacity), (count), sizeof *(array), (err))
redtune_status rdt_array_reserve(void *array, size_t *capacity, size_t count, size_t element_bytes,
                                 redtune_error *err);
