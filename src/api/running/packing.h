/* Packing: the arrays of a list that have gaps, as each of its runs copies them side by side. */
#pragma once

#include "api/running/plan.h"
#include "gpu/buffer.h"
#include "redtune/list.h"

/* An array with gaps. */
typedef struct rdt_copy {
    size_t array; /* its number in the list */
    uint64_t count;
    redtune_problem problem; /* which leaves each element as a result, resolved */
    redtune_plan *plan;      /* of it, in the table of plans */
    CUdeviceptr from;        /* the element whose indices are 0 */
    rdt_span span;           /* from its first to its last element in memory */
    uint64_t offset;         /* where it goes in the room, in bytes */
} rdt_copy;

/* Zeroed: nothing to copy. */
typedef struct rdt_packing {
    rdt_copy *copies;
    size_t count, capacity;
    uint64_t bytes; /* of the room */
    rdt_buffer room;
} rdt_packing;

/* Whether the view's elements lie side by side, in row-major order; without elements they do. */
bool rdt_packing_is_packed(const redtune_view *view);
/* Checks what a view says of its sizes and steps; how many elements it has. */
redtune_status rdt_packing_check(const redtune_view *view, uint64_t *count, redtune_error *err);
/* Adds array number `array`, a view that was checked and has gaps. Makes the plan that copies it.
 */
redtune_status rdt_packing_add(rdt_packing *self, redtune *rt, redtune_dtype dtype,
                               const redtune_view *view, size_t array, redtune_error *err);
/* Adds the copies of another one. */
redtune_status rdt_packing_add_all(rdt_packing *self, const rdt_packing *of, redtune_error *err);
/* Takes the memory that they need. The context is current, here and below. */
redtune_status rdt_packing_make_room(rdt_packing *self, const rdt_driver *driver,
                                     redtune_error *err);
/* Launches the copies: one for each array. */
redtune_status rdt_packing_run(const rdt_packing *self, CUstream stream, redtune_error *err);
void rdt_packing_clear(rdt_packing *self);
