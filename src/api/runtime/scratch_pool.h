/* Scratch pool: a block of scratch, and the pool that all of a workspace's blocks belong to. */
#pragma once

#include "gpu/context.h"

/* Device addresses from begin up to end. */
typedef struct rdt_span {
    CUdeviceptr begin, end;
} rdt_span;

/* Spans that touch do not overlap, and empty ones overlap nothing. */
static inline bool rdt_scratch_pool_overlap(const rdt_span *a, const rdt_span *b) {
    return a->begin < b->end && b->begin < a->end && a->begin < a->end && b->begin < b->end;
}

enum { RDT_SPANS_MAX = 8 };

/* Its counters and words are zero unless a launch is using it. */
typedef struct rdt_scratch_block {
    CUdeviceptr address;
    cuuint64_t capture; /* that it was taken for; 0: none */
    CUgraphNode last;   /* of its latest launch in that capture; NULL: not known */
    /* Outputs of launches that may still run when the next one starts. */
    rdt_span written[RDT_SPANS_MAX];
    int written_count;
    struct rdt_scratch_block *next_made; /* every scratch block there is */
    struct rdt_scratch_block *next;      /* on the list of the free, or of the retired */
    struct rdt_scratch_pool *pool;
} rdt_scratch_block;

typedef struct rdt_scratch_pool rdt_scratch_pool;

/* In the context, which is current, as for all that follow. more_bytes: of each block, behind
 * RDT_SCRATCH_BYTES. */
redtune_status rdt_scratch_pool_create(const rdt_context *context, size_t more_bytes,
                                       rdt_scratch_pool **out, redtune_error *err);
/* Frees all device memory, unless that is lost with its context. The pool itself lives on while
 * graphs hold scratch blocks. */
void rdt_scratch_pool_destroy(rdt_scratch_pool *pool, bool lost);

/* Makes scratch blocks until `count` are free, so that taking one needs no allocation. */
redtune_status rdt_scratch_pool_reserve(rdt_scratch_pool *pool, int count, redtune_error *err);
/* A free scratch block, or a new one. Legal while any stream is being captured. */
redtune_status rdt_scratch_pool_take(rdt_scratch_pool *pool, rdt_scratch_block **out,
                                     redtune_error *err);
/* Gives back a scratch block that no launch uses. */
void rdt_scratch_pool_give_back(rdt_scratch_block *block);
/* Gives back a scratch block of a stream that is gone, whose last launches may still run. */
void rdt_scratch_pool_retire(rdt_scratch_block *block);

/* Ties a scratch block to a graph that is being captured: it is given back when the graph and all
 * that was made of it are gone. On failure it is given back at once. */
redtune_status rdt_scratch_pool_tie(rdt_scratch_block *block, CUgraph graph, cuuint64_t capture,
                                    redtune_error *err);
/* The scratch block whose latest launch in the capture is one of the nodes, or, with nodes NULL,
 * any that has one; NULL: not found. */
rdt_scratch_block *rdt_scratch_pool_find(rdt_scratch_pool *pool, cuuint64_t capture,
                                         const CUgraphNode *nodes, size_t count);
