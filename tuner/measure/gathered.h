/* Gathered: the elements of a sample's results along any axes, or by key, one result's behind the
 * other's, as the judge takes them. */
#pragma once

#include "tuner/measure/key_table.h"
#include "tuner/measure/sample.h"
#include "tuner/measure/test_buffers.h"

/* Elements that a sample along any axes has in all, unless those of so few results are more. */
enum { RDT_GATHERED_MAX = 1 << 20, RDT_GATHERED_RESULTS_LEAST = 3 };

/* Valid when zeroed: nothing is gathered. */
typedef struct rdt_gathered {
    const rdt_sample *sample;
    uint64_t first; /* the lowest element of the input, in the pool */
    rdt_buffer elements[RDT_OP_INPUTS_MAX];
    rdt_judged judged;
    /* By key: where each result's elements begin, and what rows they are of, from the first on.
     * With a mask: of those that are there, and their numbers. */
    uint64_t *begin, *row;
} rdt_gathered;

/* Bytes of the GPU that they take at most. */
uint64_t rdt_gathered_bytes(const redtune_problem *problem);
/* Elements from the lowest one of an input or of the mask to the one with indices 0. */
uint64_t rdt_gathered_lead(const redtune_problem *problem, redtune_array array);
/* Copies them out of a pool whose elements repeat, and makes their nodes. */
redtune_status rdt_gathered_open(const rdt_test_buffers *buffers, const rdt_pool *pool,
                                 const rdt_sample *sample, uint64_t first, rdt_gathered *out,
                                 redtune_error *err);
/* The same by key. */
redtune_status rdt_gathered_open_keyed(const rdt_test_buffers *buffers, const rdt_pool *pool,
                                       const rdt_key_table *keys, const rdt_sample *sample,
                                       uint64_t first, rdt_gathered *out, redtune_error *err);
void rdt_gathered_close(rdt_gathered *gathered);
/* The number of element e among those of the sample's result i that are there; -1: it is not. */
int64_t rdt_gathered_number(const rdt_gathered *gathered, size_t i, uint64_t e);
/* Asks for the sample's result of that number in it. */
rdt_question rdt_gathered_question(const rdt_gathered *gathered, size_t i);
