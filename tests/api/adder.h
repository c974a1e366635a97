/* Adder: a GPU with an array of ones in its memory, and what a plan makes of them: their count. */
#pragma once

#include "gpu/device.h"

typedef struct adder {
    device gpu;
    rdt_buffer input, result;
} adder;

/* With as many f32. The thread that opens it closes it, whether or not it did open. */
redtune_status adder_open(adder *self, size_t count, redtune_error *err);
void adder_close(adder *self);

/* Only enqueues the plan, on the first count ones. */
redtune_status adder_run(const adder *self, redtune_plan *plan, uint64_t count, redtune_error *err);
/* What the plan says that they sum to; -1 where it fails. */
float adder_sum(const adder *self, redtune_plan *plan, uint64_t count, redtune_error *err);
