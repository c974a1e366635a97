/* Rung: the kernels of one step of the ladder, and a whole sum by them. */
#ifndef RDT_API_RUNG_H
#define RDT_API_RUNG_H

#include "api/builder.h"
#include "gpu/buffer.h"

/* Valid when zeroed: empty. */
typedef struct rdt_rung {
    rdt_kernel *first, *again; /* again sums the partial sums of a launch; NULL: there are none */
    rdt_launch first_launch, again_launch;
    rdt_buffer partials, work; /* work is empty where the step needs none */
    CUdeviceptr room[2];       /* of partials: one launch reads the one and writes the other */
} rdt_rung;

/* For sums of up to problem->count elements. problem is resolved. */
redtune_status rdt_rung_open(rdt_builder *builder, const rdt_context *context, int family,
                             const redtune_problem *problem, const rdt_config *config,
                             rdt_rung *out, redtune_error *err);
/* No launch may still run. */
void rdt_rung_close(rdt_rung *rung);

/* Asynchronous: launches until one value is left, which is written to operands.output. */
redtune_status rdt_rung_run(const rdt_rung *rung, rdt_operands operands, CUstream stream,
                            redtune_error *err);
/* How many launches that takes. */
uint64_t rdt_rung_launches(const rdt_rung *rung, uint64_t count);

#endif
