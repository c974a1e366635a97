/* Ladder run: the kernels of one step of the ladder, and a whole sum by them. */
#pragma once

#include "api/build/builder.h"
#include "gpu/buffer.h"

/* Valid when zeroed: empty. */
typedef struct rdt_ladder_run {
    rdt_kernel *first, *again; /* again sums the partial sums of a launch; NULL: there are none */
    rdt_launch first_launch, again_launch;
    rdt_buffer partials, work; /* work is empty where the step needs none */
    CUdeviceptr room[2];       /* of partials: one launch reads the one and writes the other */
} rdt_ladder_run;

/* For sums of up to problem->count elements. problem is resolved; codegen is the builder's. */
redtune_status rdt_ladder_run_open(rdt_builder *builder, rdt_codegen *codegen,
                                   const rdt_context *context, const redtune_problem *problem,
                                   const rdt_point *point, rdt_ladder_run *out, redtune_error *err);
/* No launch may still run. */
void rdt_ladder_run_close(rdt_ladder_run *ladder_run);

/* Asynchronous: launches until one value is left, which is written to operands.output. */
redtune_status rdt_ladder_run_run(const rdt_ladder_run *ladder_run, rdt_operands operands,
                                  CUstream stream, redtune_error *err);
/* How many launches that takes. */
uint64_t rdt_ladder_run_launches(const rdt_ladder_run *ladder_run, uint64_t count);
