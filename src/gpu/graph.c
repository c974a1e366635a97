/* Graph: launches recorded once and replayed as one, and the time that the GPU takes for them. */
#include "gpu/graph.h"

#include <stdlib.h>

struct rdt_graph {
    const rdt_driver *driver;
    CUgraphExec exec;
};

redtune_status rdt_graph_begin(const rdt_driver *driver, CUstream stream, redtune_error *err) {
    CUresult rc = driver->stream_begin_capture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
    return rdt_driver_check(driver, rc, err, "record a graph");
}

void rdt_graph_abandon(const rdt_driver *driver, CUstream stream) {
    CUgraph graph = NULL;
    driver->stream_end_capture(stream, &graph);
    if (graph) driver->graph_destroy(graph);
}

redtune_status rdt_graph_end(const rdt_driver *driver, CUstream stream, rdt_graph **out,
                             redtune_error *err) {
    CUgraph recorded = NULL;
    CUresult rc = driver->stream_end_capture(stream, &recorded);
    redtune_status status = rdt_driver_check(driver, rc, err, "record a graph");
    if (status) return status;
    rdt_graph *graph = calloc(1, sizeof *graph);
    if (graph) {
        graph->driver = driver;
        rc = driver->graph_instantiate(&graph->exec, recorded, 0);
        status = rdt_driver_check(driver, rc, err, "make a recorded graph ready");
    } else {
        status = rdt_fail_memory(err, sizeof *graph);
    }
    driver->graph_destroy(recorded);
    if (status)
        rdt_graph_destroy(graph);
    else
        *out = graph;
    return status;
}

void rdt_graph_destroy(rdt_graph *graph) {
    if (!graph) return;
    if (graph->exec) graph->driver->graph_exec_destroy(graph->exec);
    free(graph);
}

redtune_status rdt_graph_replay(const rdt_graph *graph, CUstream stream, redtune_error *err) {
    return rdt_driver_check(graph->driver, graph->driver->graph_launch(graph->exec, stream), err,
                            "replay a graph");
}
