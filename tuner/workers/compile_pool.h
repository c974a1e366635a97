/* Compile pool: worker processes that compile kernels into the kernel cache before the GPU's worker
 * asks for them. NVRTC holds a lock: threads of one process do not get beyond two compiles at a
 * time. */
#pragma once

#include "base/log.h"
#include "codegen/codegen.h"
#include "tuner/evaluator.h"
#include "tuner/workers/protocol.h"

typedef struct rdt_compile_pool rdt_compile_pool;

/* Options common to the workers of a tune; all of it outlives them. */
typedef struct rdt_worker_options {
    const char *command;      /* workers are started as "<command> worker" */
    const char *kernel_cache; /* path */
    const rdt_log *log;       /* called from any of the tune's threads; may be NULL */
} rdt_worker_options;

/* As many workers as this process may use cores, and never more than there is to do; they are
 * started with the first kernels. A thread of the compile pool's own looks after them. Nothing here
 * fails because of a worker: a kernel that is not made in advance is made when it is needed. Of
 * codegen only the spaces are used, which any thread may. */
redtune_status rdt_compile_pool_open(const rdt_worker_options *options, const rdt_codegen *codegen,
                                     rdt_compile_pool **out, redtune_error *err);
/* Ends the workers at once. compile pool may be NULL. */
void rdt_compile_pool_close(rdt_compile_pool *pool);

/* Has the kernels of a batch made for a GPU with these facts, in the batch's order and before
 * everything that was asked for earlier, or if not soon, behind everything else and with some of
 * the workers kept free; each kernel once however often it is asked for. ptx: its driver takes no
 * cubin. Any thread may call; compile pool may be NULL. */
void rdt_compile_pool_add(rdt_compile_pool *pool, const rdt_facts *facts, bool ptx,
                          const rdt_batch *batch, bool soon);
/* The same for soon, and waits for them, for timeout_ms at most: false if they are not all made by
 * then. true, too, where there is nothing to wait for: no compile pool, or one that has lost its
 * workers.
 */
bool rdt_compile_pool_wait(rdt_compile_pool *pool, const rdt_facts *facts, bool ptx,
                           const rdt_batch *batch, int timeout_ms);
