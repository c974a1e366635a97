/* Graph: graphs, their executable copies and the objects that live as long as they do. */
#include "driver/entry.h"
#include "driver/graph.h"

#include <stdlib.h>
#include <string.h>

struct CUgraph_st *sim_graph_make(struct CUctx_st *context) {
    struct CUgraph_st *graph = calloc(1, sizeof *graph);
    if (!graph) return NULL;
    sim_state_handle_put(&graph->handle, SIM_HANDLE_GRAPH);
    graph->handle.context = context;
    return graph;
}

static void destroy_node(struct CUgraphNode_st *node) {
    sim_work_drop(&node->work);
    sim_state_handle_drop(&node->handle);
    free(node->behind);
    free(node);
}

void sim_graph_destroy(struct CUgraph_st *graph) {
    for (size_t i = 0; i < graph->node_count; i++) destroy_node(graph->nodes[i]);
    sim_state_handle_drop(&graph->handle);
    sim_object_share *shares = graph->shares;
    size_t count = graph->share_count;
    free(graph->nodes);
    free(graph);
    sim_object_drop(shares, count);
}

static bool make_room(struct CUgraph_st *graph) {
    if (graph->node_count < graph->node_room) return true;
    size_t room = graph->node_room ? graph->node_room * 2 : 16;
    struct CUgraphNode_st **nodes = realloc(graph->nodes, room * sizeof(*nodes));
    if (!nodes) return false;
    graph->nodes = nodes;
    graph->node_room = room;
    return true;
}

CUresult sim_graph_add(struct CUgraph_st *graph, struct CUgraphNode_st *const *behind,
                       size_t behind_count, sim_work *work, struct CUgraphNode_st **out) {
    struct CUgraphNode_st *node = calloc(1, sizeof *node);
    if (node) node->behind = malloc((behind_count + 1) * sizeof(*node->behind));
    if (!node || !node->behind || !make_room(graph)) {
        if (node) free(node->behind);
        free(node);
        sim_work_drop(work);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    if (behind_count) memcpy(node->behind, behind, behind_count * sizeof(*behind));
    node->behind_count = behind_count;
    for (size_t i = 0; i < behind_count; i++) {
        if (node->level <= behind[i]->level) node->level = behind[i]->level + 1;
    }
    node->graph = graph;
    node->work = *work;
    node->handle.context = graph->handle.context;
    sim_state_handle_put(&node->handle, SIM_HANDLE_NODE);
    graph->nodes[graph->node_count++] = node;
    *out = node;
    return CUDA_SUCCESS;
}

static CUresult create(CUgraph *out, unsigned int flags) {
    if (!out || flags) return CUDA_ERROR_INVALID_VALUE;
    struct CUgraph_st *graph = sim_graph_make(sim_context_current());
    if (!graph) return CUDA_ERROR_OUT_OF_MEMORY;
    *out = graph;
    return CUDA_SUCCESS;
}

CUresult cuGraphCreate(CUgraph *out, unsigned int flags) { SIM_ENTRY(create(out, flags)); }

static CUresult destroy(CUgraph graph) {
    if (!sim_state_handle_is(graph, SIM_HANDLE_GRAPH)) return CUDA_ERROR_INVALID_VALUE;
    if (graph->is_captured_into) return CUDA_ERROR_INVALID_VALUE;
    sim_graph_destroy(graph);
    return CUDA_SUCCESS;
}

CUresult cuGraphDestroy(CUgraph graph) { SIM_ENTRY(destroy(graph)); }

/* Takes over the work whether it goes well or not. */
static CUresult add_node(CUgraphNode *out, CUgraph graph, const CUgraphNode *behind, size_t count,
                         sim_work *work) {
    CUresult rc = CUDA_SUCCESS;
    if (!out || (count && !behind))
        rc = CUDA_ERROR_INVALID_VALUE;
    else if (!sim_state_handle_is(graph, SIM_HANDLE_GRAPH))
        rc = CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < count && rc == CUDA_SUCCESS; i++) {
        bool own = sim_state_handle_is(behind[i], SIM_HANDLE_NODE) && behind[i]->graph == graph;
        if (!own) rc = CUDA_ERROR_INVALID_VALUE;
    }
    if (rc == CUDA_SUCCESS) rc = sim_work_check(work);
    if (rc == CUDA_SUCCESS) return sim_graph_add(graph, behind, count, work, out);
    sim_work_drop(work);
    return rc;
}

static CUresult add_kernel(CUgraphNode *out, CUgraph graph, const CUgraphNode *behind, size_t count,
                           const CUDA_KERNEL_NODE_PARAMS_v2 *params) {
    sim_work work;
    if (!params) return CUDA_ERROR_INVALID_VALUE;
    CUresult rc = sim_launch_make(params, &work);
    return rc == CUDA_SUCCESS ? add_node(out, graph, behind, count, &work) : rc;
}

CUresult cuGraphAddKernelNode_v2(CUgraphNode *out, CUgraph graph, const CUgraphNode *behind,
                                 size_t count, const CUDA_KERNEL_NODE_PARAMS_v2 *params) {
    SIM_ENTRY(add_kernel(out, graph, behind, count, params));
}

static CUresult add_memset(CUgraphNode *out, CUgraph graph, const CUgraphNode *behind, size_t count,
                           const CUDA_MEMSET_NODE_PARAMS *params) {
    if (!params || params->height != 1) return CUDA_ERROR_INVALID_VALUE;
    unsigned int size = params->elementSize;
    if (size != 1 && size != 2 && size != 4) return CUDA_ERROR_INVALID_VALUE;
    sim_work work = {.kind = SIM_WORK_MEMSET,
                     .to = params->dst,
                     .value = params->value,
                     .element_bytes = size,
                     .bytes = params->width * size};
    return add_node(out, graph, behind, count, &work);
}

CUresult cuGraphAddMemsetNode(CUgraphNode *out, CUgraph graph, const CUgraphNode *behind,
                              size_t count, const CUDA_MEMSET_NODE_PARAMS *params,
                              CUcontext context) {
    (void)context;
    SIM_ENTRY(add_memset(out, graph, behind, count, params));
}

static CUresult add_empty(CUgraphNode *out, CUgraph graph, const CUgraphNode *behind,
                          size_t count) {
    sim_work work = {.kind = SIM_WORK_EMPTY};
    return add_node(out, graph, behind, count, &work);
}

CUresult cuGraphAddEmptyNode(CUgraphNode *out, CUgraph graph, const CUgraphNode *behind,
                             size_t count) {
    SIM_ENTRY(add_empty(out, graph, behind, count));
}

static CUresult get_nodes(CUgraph graph, CUgraphNode *nodes, size_t *count) {
    if (!count || !sim_state_handle_is(graph, SIM_HANDLE_GRAPH)) return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; nodes && i < *count; i++) {
        nodes[i] = i < graph->node_count ? graph->nodes[i] : NULL;
    }
    if (!nodes || *count > graph->node_count) *count = graph->node_count;
    return CUDA_SUCCESS;
}

CUresult cuGraphGetNodes(CUgraph graph, CUgraphNode *nodes, size_t *count) {
    SIM_ENTRY(get_nodes(graph, nodes, count));
}

static CUresult get_dependencies(CUgraphNode node, CUgraphNode *out, CUgraphEdgeData *edges,
                                 size_t *count) {
    if (!count || !sim_state_handle_is(node, SIM_HANDLE_NODE)) return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; out && i < *count; i++) {
        out[i] = i < node->behind_count ? node->behind[i] : NULL;
        if (edges) memset(&edges[i], 0, sizeof edges[i]); /* no edge carries any data */
    }
    if (!out || *count > node->behind_count) *count = node->behind_count;
    return CUDA_SUCCESS;
}

CUresult cuGraphNodeGetDependencies(CUgraphNode node, CUgraphNode *out, size_t *count) {
    SIM_ENTRY(get_dependencies(node, out, NULL, count));
}

CUresult cuGraphNodeGetDependencies_v2(CUgraphNode node, CUgraphNode *out, CUgraphEdgeData *edges,
                                       size_t *count) {
    SIM_ENTRY(get_dependencies(node, out, edges, count));
}

void sim_graph_exec_destroy(struct CUgraphExec_st *exec) {
    for (size_t i = 0; i < exec->work_count; i++) sim_work_drop(&exec->works[i]);
    sim_state_handle_drop(&exec->handle);
    sim_object_share *shares = exec->shares;
    size_t count = exec->share_count;
    free(exec->works);
    free(exec);
    sim_object_drop(shares, count);
}

/* The nodes in the order in which they are run: level by level, in each the newest first. It is one
 * that the dependencies allow, and seldom that of the calls. */
static struct CUgraphNode_st **order_nodes(const struct CUgraph_st *graph) {
    size_t count = graph->node_count, *next = calloc(count + 2, sizeof *next);
    struct CUgraphNode_st **ordered = malloc((count + 1) * sizeof(*ordered));
    for (size_t i = 0; next && i < count; i++) next[graph->nodes[i]->level + 1]++;
    for (size_t i = 0; next && i < count; i++) next[i + 1] += next[i];
    for (size_t i = count; next && ordered && i-- > 0;) {
        ordered[next[graph->nodes[i]->level]++] = graph->nodes[i];
    }
    if (!next) {
        free(ordered);
        ordered = NULL;
    }
    free(next);
    return ordered;
}

static CUresult instantiate(CUgraphExec *out, CUgraph graph) {
    if (!out || !sim_state_handle_is(graph, SIM_HANDLE_GRAPH)) return CUDA_ERROR_INVALID_VALUE;
    if (graph->is_captured_into) return CUDA_ERROR_ILLEGAL_STATE;
    struct CUgraphExec_st *exec = calloc(1, sizeof *exec);
    if (!exec) return CUDA_ERROR_OUT_OF_MEMORY;
    exec->handle.context = graph->handle.context;
    sim_state_handle_put(&exec->handle, SIM_HANDLE_EXEC);
    exec->works = calloc(graph->node_count + 1, sizeof *exec->works);
    struct CUgraphNode_st **nodes = order_nodes(graph);
    CUresult rc = exec->works && nodes ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    for (size_t i = 0; i < graph->node_count && rc == CUDA_SUCCESS; i++) {
        rc = sim_work_copy(&exec->works[i], &nodes[i]->work);
        if (rc == CUDA_SUCCESS) exec->work_count++;
    }
    free(nodes);
    if (rc == CUDA_SUCCESS) {
        rc = sim_object_copy(&exec->shares, &exec->share_count, graph->shares, graph->share_count);
    }
    if (rc == CUDA_SUCCESS)
        *out = exec;
    else
        sim_graph_exec_destroy(exec);
    return rc;
}

CUresult cuGraphInstantiateWithFlags(CUgraphExec *out, CUgraph graph, unsigned long long flags) {
    (void)flags;
    SIM_ENTRY(instantiate(out, graph));
}

static CUresult upload(CUgraphExec exec, CUstream stream) {
    if (!sim_state_handle_is(exec, SIM_HANDLE_EXEC)) return CUDA_ERROR_INVALID_VALUE;
    return sim_stream_find(stream) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuGraphUpload(CUgraphExec exec, CUstream stream) { SIM_ENTRY(upload(exec, stream)); }

static CUresult add_late(const struct CUstream_st *stream, const sim_work *from) {
    sim_work work;
    CUresult rc = sim_work_copy(&work, from);
    return rc == CUDA_SUCCESS
               ? sim_late_add(stream, &work, sim_state.config.settings.machine.node_ns)
               : rc;
}

static CUresult launch(CUgraphExec exec, CUstream handle) {
    const sim_machine *machine = &sim_state.config.settings.machine;
    struct CUstream_st *stream = sim_stream_find(handle);
    CUresult rc = CUDA_SUCCESS;
    if (!sim_state_handle_is(exec, SIM_HANDLE_EXEC)) return CUDA_ERROR_INVALID_VALUE;
    if (!stream) return CUDA_ERROR_INVALID_HANDLE;
    if (stream->capture) return CUDA_ERROR_NOT_SUPPORTED; /* graphs inside graphs */
    rc = sim_capture_check_stream(stream);
    bool late = true;
    for (size_t i = 0; i < exec->work_count; i++) late &= sim_late_takes(stream, &exec->works[i]);
    if (!late) sim_late_run();
    if (rc == CUDA_SUCCESS) sim_work_advance_clock(machine->launch_ns);
    for (size_t i = 0; i < exec->work_count && rc == CUDA_SUCCESS; i++) {
        const struct CUfunc_st *function = exec->works[i].function;
        if (function && function->module->is_unloaded) {
            sim_report_misuse(CUDA_ERROR_ILLEGAL_ADDRESS,
                              "a graph launches '%.100s', whose "
                              "module was unloaded",
                              function->program.name);
            return sim_context_fail(stream->handle.context, CUDA_ERROR_ILLEGAL_ADDRESS);
        }
        rc = late ? add_late(stream, &exec->works[i])
                  : sim_work_run(stream->handle.context, &exec->works[i], machine->node_ns);
    }
    return rc;
}

CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream) { SIM_ENTRY(launch(exec, stream)); }

static CUresult destroy_exec(CUgraphExec exec) {
    if (!sim_state_handle_is(exec, SIM_HANDLE_EXEC)) return CUDA_ERROR_INVALID_VALUE;
    sim_graph_exec_destroy(exec);
    return CUDA_SUCCESS;
}

CUresult cuGraphExecDestroy(CUgraphExec exec) { SIM_ENTRY(destroy_exec(exec)); }
