/* Key table: the keys beside the test data of a problem by key, and the tables that its runs take.
 *
 * Row i of a pool always has the same key, wherever a problem begins. The keys repeat with an odd
 * period, which no period of the elements divides. */
#pragma once

#include "tuner/measure/test_buffers.h"

enum { RDT_KEY_TABLE_SIZES = 64 };

/* Valid when zeroed: no keys. */
typedef struct rdt_key_table {
    uint64_t *keys; /* of a period; UINT64_MAX: one that is out of range */
    uint64_t period;
    uint64_t width; /* of the rows that have a key each; else 1 */
    rdt_buffer buffer;
    rdt_buffer room[RDT_KEY_TABLE_SIZES]; /* scratch of 2^i bytes, as far as runs needed it */
} rdt_key_table;

/* Draws the keys of a pool of so many elements with the problem's spread, always the same; strays:
 * some are out of range. */
redtune_status rdt_key_table_open(const rdt_test_buffers *buffers, const redtune_problem *problem,
                                  uint64_t elements, bool strays, rdt_key_table *out,
                                  redtune_error *err);
void rdt_key_table_close(rdt_key_table *table);

/* The key of row i. */
uint64_t rdt_key_table_key(const rdt_key_table *table, uint64_t i);
/* The row that a problem which begins with that element of the pool has first. */
static inline uint64_t rdt_key_table_row(const rdt_key_table *table, uint64_t first) {
    return first / table->width;
}
/* What a launch takes of the problem from that element on. */
rdt_keyed rdt_key_table_launch(const rdt_key_table *table, const redtune_problem *problem,
                               uint64_t first);
/* Gives scratch with room for the launch's tables: the same for launches that take as much. */
redtune_status rdt_key_table_scratch(rdt_key_table *table, const rdt_test_buffers *buffers,
                                     const redtune_problem *problem, const rdt_launch *launch,
                                     CUdeviceptr *out, redtune_error *err);
