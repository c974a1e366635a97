/* Segment table: where the segments of a problem lie in the test data. */
#include "tuner/measure/segment_table.h"

#include <stdlib.h>
#include "model/segment_lengths.h"

static size_t table_bytes(uint64_t count) { return (count + 1) * sizeof(uint64_t); }

uint64_t rdt_segment_table_bytes(const redtune_problem *problem) {
    return problem->segmented ? table_bytes(rdt_segment_lengths_count(problem)) : 0;
}

redtune_status rdt_segment_table_open(const rdt_driver *driver, CUstream stream,
                                      const redtune_problem *problem, rdt_segment_table *out,
                                      redtune_error *err) {
    rdt_segment_table table = {.count = rdt_segment_lengths_count(problem)};
    const size_t bytes = table_bytes(table.count);
    table.offsets = malloc(bytes);
    if (!table.offsets) return rdt_fail_memory(err, bytes);
    redtune_status status = rdt_segment_lengths_fill(problem, table.offsets, err);
    if (!status)
        status = rdt_buffer_create_with(driver, table.offsets, bytes, stream, &table.buffer, err);
    if (status)
        rdt_segment_table_close(&table);
    else
        *out = table;
    return status;
}

void rdt_segment_table_close(rdt_segment_table *table) {
    rdt_buffer_destroy(&table->buffer);
    free(table->offsets);
    *table = (rdt_segment_table){.count = 0};
}

rdt_segments rdt_segment_table_launch(const rdt_segment_table *table) {
    return (rdt_segments){.begin = table->buffer.address, .count = table->count, .wide = 1};
}
