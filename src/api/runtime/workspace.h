/* Workspace: the scratch that launches combine their blocks in. It belongs to the stream, and to
 * the graph where a launch is captured, so that no two launches that may overlap share one. */
#pragma once

#include <pthread.h>
#include "api/runtime/scratch_pool.h"

typedef struct rdt_workspace rdt_workspace;

/* more_bytes: that launches find behind their scratch, zero at first. beside: one that outlives it,
 * with whose captured calls those of this one take turns; NULL: it is the first of its runtime. */
redtune_status rdt_workspace_create(const rdt_context *context, size_t more_bytes,
                                    rdt_workspace *beside, rdt_workspace **out, redtune_error *err);
/* Frees all scratch; graphs that captured some of it must not be replayed any more.
 * lost: the context is gone, and its memory with it. */
void rdt_workspace_destroy(rdt_workspace *workspace, bool lost);

/* Allocates beforehand what the next first calls on streams and in captures take. */
redtune_status rdt_workspace_reserve(rdt_workspace *workspace, redtune_error *err);

/* What a call reads: inputs, parameters, a count, and outputs that it goes on from. */
enum {
    RDT_READ_PARAMETERS = 2,
    RDT_READ_COUNT = 3,
    RDT_READ_MASK = 4,
    RDT_READ_OUTPUTS = 5,
    RDT_READS_MAX = 7,
    RDT_WRITES_MAX = 2
};

/* What a call reads and writes on the GPU, its scratch left out. A span that ends at 0 is none. */
typedef struct rdt_traffic {
    rdt_span read[RDT_READS_MAX];
    rdt_span written[RDT_WRITES_MAX]; /* the outputs */
    int read_count, written_count;    /* the first ones, that are filled in */
} rdt_traffic;

/* A call that is about to be launched. */
typedef struct rdt_call {
    CUstream stream;
    const rdt_traffic *traffic;
    bool two_launches; /* the second of which reads what the first left in scratch */
} rdt_call;

/* The stream's state for a launch. */
typedef struct rdt_turn {
    CUdeviceptr scratch;
    /* The launch before is one that took its turn here, too, and none that may still run then
     * writes what this one reads: its loads are for what nobody writes. Known in captures only. */
    bool chained;
    rdt_scratch_block *captured; /* NULL outside captures */
    pthread_mutex_t *lock;       /* held up to rdt_workspace_end; NULL: none */
} rdt_turn;

/* Before the launches of a call, in the context, which is current. From the second call for a
 * stream on without an allocation, and without a lock where the call is one launch. */
redtune_status rdt_workspace_begin(rdt_workspace *workspace, const rdt_call *call, rdt_turn *turn,
                                   redtune_error *err);
/* After them, whether they went well or not. */
void rdt_workspace_end(rdt_workspace *workspace, const rdt_call *call, const rdt_turn *turn,
                       bool launched);

/* In whichever context. */
redtune_status rdt_workspace_is_capturing(rdt_workspace *workspace, CUstream stream,
                                          bool *capturing, redtune_error *err);
