/* Packing: arrays that have gaps, copied side by side. */
#pragma once

#include "api/runtime/runtime.h"
#include "gpu/buffer.h"
#include "redtune/list.h"

/* An array of a list with gaps. */
typedef struct rdt_copy {
    size_t array; /* its number in the list */
    uint64_t count;
    rdt_packed packed; /* to: how far into the room, until the table is made */
    rdt_span span;     /* from its first to its last element in memory */
} rdt_copy;

/* Those of a list, which each of its runs copies by one launch. Zeroed: nothing to copy. */
typedef struct rdt_packing {
    redtune *rt;
    const rdt_kernel *kernel;
    rdt_copy *copies;
    size_t count, capacity;
    uint64_t bytes;  /* of the copies in the room; behind them is the table */
    uint64_t pieces; /* of all */
    rdt_buffer room;
} rdt_packing;

/* Whether the view's elements lie side by side, in row-major order; without elements they do. */
bool rdt_packing_is_packed(const redtune_view *view);
/* Checks what a view says of its sizes and steps; how many elements it has. */
redtune_status rdt_packing_check(const redtune_view *view, uint64_t *count, redtune_error *err);
/* Adds array number `array`, a view of `count` elements that was checked and has gaps. */
redtune_status rdt_packing_add(rdt_packing *self, size_t bytes, const redtune_view *view,
                               uint64_t count, size_t array, redtune_error *err);
/* Adds the copies of another one. */
redtune_status rdt_packing_add_all(rdt_packing *self, const rdt_packing *of, redtune_error *err);
/* Takes the memory and the kernel that they need. The context is current, here and below. */
redtune_status rdt_packing_make_room(rdt_packing *self, redtune *rt, redtune_error *err);
/* Writes the table. */
redtune_status rdt_packing_upload(const rdt_packing *self, CUstream stream, redtune_error *err);
/* Launches the copies. */
redtune_status rdt_packing_run(const rdt_packing *self, CUstream stream, redtune_error *err);
void rdt_packing_clear(rdt_packing *self);
