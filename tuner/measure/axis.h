/* Axis: what results should be whose elements lie a step apart in a pool.
 *
 * A pool repeats with a prime period p. So the elements 0, step, 2 * step, ... of it, each modulo
 * p, are all of a period, in another order, and the elements of any result are neighbours in that
 * order: the judge, which has nodes of neighbours, answers for columns as quickly as for rows. */
#pragma once

#include "tuner/measure/test_buffers.h"

/* Valid when zeroed. */
typedef struct rdt_axis {
    const rdt_pool *pool;
    size_t element_bytes;
    uint64_t stride;  /* the step, modulo the period */
    uint64_t inverse; /* of the stride, modulo the period */
    /* A period of each input in that order; empty where the pool itself has it, and of one input.
     */
    rdt_buffer ordered[RDT_OP_INPUTS_MAX];
    rdt_judged judged; /* likewise */
} rdt_axis;

/* Bytes of the GPU that one takes at most. */
size_t rdt_axis_bytes(const redtune_problem *problem);
/* The pool's period is prime. */
redtune_status rdt_axis_open(const rdt_test_buffers *buffers, const rdt_pool *pool, uint64_t step,
                             rdt_axis *out, redtune_error *err);
void rdt_axis_close(rdt_axis *axis);

/* What is the result over count elements, a step apart, the first of which is the pool's number
 * `first`? */
rdt_question rdt_axis_question(const rdt_axis *axis, uint64_t first, uint64_t count);
