/* Slab: one piece of scratch, and the store that all of a workspace's slabs belong to. */
#ifndef RDT_API_SLAB_H
#define RDT_API_SLAB_H

#include "gpu/context.h"

/* Device addresses from begin up to end. */
typedef struct rdt_span {
    CUdeviceptr begin, end;
} rdt_span;

enum { RDT_SPANS_MAX = 8 };

/* Its counters and words are zero unless a launch is using it. */
typedef struct rdt_slab {
    CUdeviceptr address;
    cuuint64_t capture; /* that it was taken for; 0: none */
    CUgraphNode last;   /* of its latest launch in that capture; NULL: not known */
    /* What the launches wrote that may still run when the next one starts. */
    rdt_span written[RDT_SPANS_MAX];
    int written_count;
    struct rdt_slab *next_made; /* every slab there is */
    struct rdt_slab *next;      /* on the list of the free, or of the retired */
    struct rdt_store *store;
} rdt_slab;

typedef struct rdt_store rdt_store;

/* In the context, which is current, as for all that follow. */
redtune_status rdt_store_create(const rdt_context *context, rdt_store **out, redtune_error *err);
/* Frees all device memory, unless that is lost with its context. The store itself lives on while
 * graphs hold slabs. */
void rdt_store_destroy(rdt_store *store, bool lost);

/* Makes slabs until so many are free, so that taking one needs no allocation. */
redtune_status rdt_store_reserve(rdt_store *store, int count, redtune_error *err);
/* A free slab, or a new one. Legal while any stream is being captured. */
redtune_status rdt_store_take(rdt_store *store, rdt_slab **out, redtune_error *err);
/* Gives back a slab that no launch uses. */
void rdt_store_give_back(rdt_slab *slab);
/* Gives back a slab of a stream that is gone, whose last launches may still run. */
void rdt_store_retire(rdt_slab *slab);

/* Ties a slab to a graph that is being captured: it is given back when the graph and all that was
 * made of it are gone. On failure it is given back at once. */
redtune_status rdt_store_tie(rdt_slab *slab, CUgraph graph, cuuint64_t capture, redtune_error *err);
/* The slab whose latest launch in the capture is one of the nodes, or, with nodes NULL, any that
 * has one; NULL: there is none. */
rdt_slab *rdt_store_find(rdt_store *store, cuuint64_t capture, const CUgraphNode *nodes,
                         size_t count);

#endif
