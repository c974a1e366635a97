/* Array: room for one more element, in arrays that grow while they are filled. */
#include "base/array.h"

#include <stdlib.h>
#include <string.h>

redtune_status rdt_array_reserve(void *array, size_t *capacity, size_t count, size_t element_bytes,
                                 redtune_error *err) {
    void *elements;
    size_t grown = *capacity ? *capacity : 64;
    if (count <= *capacity) return REDTUNE_OK;
    while (grown < count) grown *= 2;
    memcpy(&elements, array, sizeof elements); /* a pointer to any type of element */
    elements = realloc(elements, grown * element_bytes);
    if (!elements) return rdt_fail_memory(err, grown * element_bytes);
    memcpy(array, &elements, sizeof elements);
    *capacity = grown;
    return REDTUNE_OK;
}
