/* Shape grid: the shapes of a plane that are tuned when the caller names none. */
#pragma once

#include <stdbool.h>
#include "base/fail.h"
#include "redtune/redtune.h"

/* A shape: elements of a result, and results. */
typedef struct rdt_shape {
    uint64_t count, results;
} rdt_shape;

enum { RDT_SHAPE_GRID_MAX = 128 };

/* Fills in the shapes for elements of element_bytes, on a simulated GPU or a real one; of rows, or
 * else of columns. Returns the number of shapes. */
size_t rdt_shape_grid_make(size_t element_bytes, bool rows, bool simulated,
                           rdt_shape out[RDT_SHAPE_GRID_MAX]);
