/* Segment table: where the segments of a problem lie in the test data: one after the other, by a
 * table of offsets on the GPU and the same in host memory. */
#pragma once

#include "gpu/buffer.h"
#include "gpu/kernel.h"
#include "model/problem.h"

/* Valid when zeroed: of no segments. */
typedef struct rdt_segment_table {
    uint64_t count;    /* of segments */
    uint64_t *offsets; /* count + 1 */
    rdt_buffer buffer; /* the same on the GPU */
} rdt_segment_table;

/* Bytes of the GPU that the table of a resolved problem takes; 0 where it is not of segments. */
uint64_t rdt_segment_table_bytes(const redtune_problem *problem);
/* Makes the table of a problem's lengths (model/segment_lengths.h). Waits. */
redtune_status rdt_segment_table_open(const rdt_driver *driver, CUstream stream,
                                      const redtune_problem *problem, rdt_segment_table *out,
                                      redtune_error *err);
void rdt_segment_table_close(rdt_segment_table *table);
/* What a launch takes for it; of no table zeros. */
rdt_segments rdt_segment_table_launch(const rdt_segment_table *table);
