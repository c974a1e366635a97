/* Graph: graphs and captures, as graph.c and capture.c share them. */
#pragma once

#include "driver/state.h"

struct CUgraphNode_st {
    sim_handle handle;
    struct CUgraph_st *graph;
    sim_work work;
    struct CUgraphNode_st **behind; /* the nodes that it depends on, all of them older */
    size_t behind_count;
    size_t level; /* one more than the highest of those */
};

struct CUuserObject_st {
    sim_handle handle;
    void *ptr;
    CUhostFn destroy;
    unsigned int references;
};

/* A graph's or its executable copies' share in a user object. */
typedef struct sim_object_share {
    struct CUuserObject_st *object;
    unsigned int count;
} sim_object_share;

/* Nodes stand in the order of their making, which no dependency goes against. */
struct CUgraph_st {
    sim_handle handle;
    struct CUgraphNode_st **nodes;
    size_t node_count, node_room;
    sim_object_share *shares;
    size_t share_count;
    bool is_captured_into;
};

struct CUgraphExec_st {
    sim_handle handle;
    sim_work *works;
    size_t work_count;
    sim_object_share *shares;
    size_t share_count;
};

typedef struct sim_capture {
    unsigned long long id;
    struct CUgraph_st *graph;
    struct CUstream_st *origin;
    CUstreamCaptureMode mode;
    const sim_caller *thread; /* that began it */
    CUresult spoilt;          /* CUDA_SUCCESS: it goes on */
    uint32_t streams;         /* that take part */
} sim_capture;

CUresult sim_object_copy(sim_object_share **out, size_t *out_count, const sim_object_share *from,
                         size_t count);
void sim_object_drop(sim_object_share *shares, size_t count);

CUresult sim_launch_make(const CUDA_KERNEL_NODE_PARAMS_v2 *from, sim_work *out);
