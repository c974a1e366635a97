/* Input: reducing elements that are not on the GPU, of which several GPUs may have parts. */
#pragma once

#include "api/running/plan.h"

/* What one GPU makes of its part of an input. */
typedef struct rdt_input_part {
    unsigned char accumulator[RDT_ACCUMULATOR_BYTES_MAX]; /* an index counts from the part */
    redtune_reading reading;                              /* without a value */
} rdt_input_part;

/* These are of problems whose order is settled (rdt_runtime_order). The first is
 * redtune_reduce_input without its checks. */
redtune_status rdt_input_reduce(redtune *rt, const redtune_problem *problem,
                                const redtune_input *input, redtune_reading *out,
                                redtune_error *err);
/* A call to rt's log, if it has one, with all that it waited for. */
void rdt_input_log(const redtune *rt, const char *call, const redtune_problem *problem,
                   const redtune_reading *reading, double begun_ns);
redtune_status rdt_input_reduce_part(redtune *rt, const redtune_problem *problem,
                                     const redtune_input *input, rdt_input_part *out,
                                     redtune_error *err);
/* redtune_reduce_array of a problem by key, which is resolved. */
redtune_status rdt_keyed_input_reduce(redtune *rt, const redtune_problem *problem,
                                      const redtune_input *input, void *results, size_t bytes,
                                      redtune_reading *out, redtune_error *err);
/* The result of parts that follow each other; input has the parameters. */
redtune_status rdt_input_join_parts(redtune *rt, const redtune_problem *problem,
                                    const redtune_input *input, const rdt_input_part *parts,
                                    uint32_t count, redtune_reading *out, redtune_error *err);
