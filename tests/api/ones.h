/* Ones: GPU 0 with an array of ones in its memory, whose sums are the counts. */
#ifndef RDT_TESTS_ONES_H
#define RDT_TESTS_ONES_H

#include "gpu/buffer.h"
#include "gpu/context.h"
#include "redtune/redtune.h"

typedef struct ones {
    rdt_context *context; /* current in the thread that opened it */
    CUstream stream;
    rdt_buffer input, result;
} ones;

/* As many ones of f32. The thread that opens it closes it, whether or not it did open. */
redtune_status ones_open(ones *self, size_t count, redtune_error *err);
void ones_close(ones *self);

/* Only enqueues the plan, on the first count ones. */
redtune_status ones_run(const ones *self, redtune_plan *plan, uint64_t count, redtune_error *err);
/* What the plan says that they sum to; -1 where it fails. */
float ones_sum(const ones *self, redtune_plan *plan, uint64_t count, redtune_error *err);

#endif
