/* Segments: runs whose elements are where tables on the GPU say. */
#pragma once

#include "api/running/plan.h"
#include "redtune/list.h"

enum { RDT_SEGMENTS_TABLES = 3 };

/* A run: its operands as a launch takes them, and the memory that the host knows it to use. */
typedef struct rdt_segments_run {
    rdt_operands operands;
    rdt_span table[RDT_SEGMENTS_TABLES]; /* one that is not given ends at 0 */
    rdt_traffic traffic;
} rdt_segments_run;

/* Checks what the caller of a plan gives, and takes it; REDTUNE_INVALID for a plan of other arrays.
 */
redtune_status rdt_segments_take(rdt_segments_run *self, const redtune_plan *plan,
                                 const redtune_segments *given, redtune_error *err);
/* The plan that runs tables of that form on the stream: this one, or plan->scattered. */
redtune_status rdt_segments_plan(redtune_plan *plan, const rdt_segments *tables, CUstream stream,
                                 redtune_plan **out, redtune_error *err);
uint64_t rdt_segments_results(const rdt_segments_run *self, const redtune_plan *plan);
/* For REDTUNE_CHECK. The context is current. */
redtune_status rdt_segments_check_pointers(const rdt_context *context, const rdt_segments_run *self,
                                           redtune_error *err);
/* What a recording notes of a run. */
rdt_extents rdt_segments_shape(const redtune_plan *plan, const redtune_segments *segments);
