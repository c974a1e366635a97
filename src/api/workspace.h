/* Workspace: the scratch that launches combine their blocks in. It belongs to the stream, and to
 * the graph where a launch is captured, so that no two launches that may overlap share one. */
#ifndef RDT_API_WORKSPACE_H
#define RDT_API_WORKSPACE_H

#include "api/slab.h"

typedef struct rdt_workspace rdt_workspace;

redtune_status rdt_workspace_create(const rdt_context *context, rdt_workspace **out,
                                    redtune_error *err);
/* Frees all scratch; graphs that captured some of it must not be replayed any more. */
void rdt_workspace_destroy(rdt_workspace *workspace);

/* Allocates beforehand what the next first calls on streams and in captures take. */
redtune_status rdt_workspace_reserve(rdt_workspace *workspace, redtune_error *err);

/* What a launch needs to know of its stream. */
typedef struct rdt_turn {
    CUdeviceptr scratch;
    /* The launch before is one that took its turn here, too, and none that may still run then
     * writes what this one reads: its loads are for what nobody writes. Known in captures only. */
    bool chained;
    rdt_slab *captured; /* for rdt_workspace_end; NULL outside captures */
} rdt_turn;

/* Before one launch on the stream, in the context, which is current. Without a lock or an
 * allocation from the second call for a stream on; a captured stream gets scratch for each
 * capture. */
redtune_status rdt_workspace_begin(rdt_workspace *workspace, CUstream stream, rdt_span input,
                                   rdt_turn *turn, redtune_error *err);
/* After the launch. */
void rdt_workspace_end(rdt_workspace *workspace, CUstream stream, rdt_span output,
                       const rdt_turn *turn);

redtune_status rdt_workspace_is_capturing(rdt_workspace *workspace, CUstream stream,
                                          bool *capturing, redtune_error *err);

#endif
