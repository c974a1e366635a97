/* Graph: launches recorded once and replayed as one. */
#pragma once

#include "gpu/driver.h"

typedef struct rdt_graph rdt_graph;

/* Between begin and end, launches on the stream are recorded instead of run. A failed launch in
 * between: call rdt_graph_abandon. */
redtune_status rdt_graph_begin(const rdt_driver *driver, CUstream stream, redtune_error *err);
redtune_status rdt_graph_end(const rdt_driver *driver, CUstream stream, rdt_graph **out,
                             redtune_error *err);
void rdt_graph_abandon(const rdt_driver *driver, CUstream stream);
void rdt_graph_destroy(rdt_graph *graph);
redtune_status rdt_graph_replay(const rdt_graph *graph, CUstream stream, redtune_error *err);
