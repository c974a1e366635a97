/* Graph: launches recorded once and replayed as one, and the time that the GPU takes for them. */
#ifndef RDT_GPU_GRAPH_H
#define RDT_GPU_GRAPH_H

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

/* A pair of events. Valid when zeroed. */
typedef struct rdt_timer {
    const rdt_driver *driver;
    CUevent start, stop;
} rdt_timer;

redtune_status rdt_timer_create(const rdt_driver *driver, rdt_timer *out, redtune_error *err);
void rdt_timer_destroy(rdt_timer *timer);
redtune_status rdt_timer_start(const rdt_timer *timer, CUstream stream, redtune_error *err);
redtune_status rdt_timer_stop(const rdt_timer *timer, CUstream stream, redtune_error *err);
/* Waits for the stop. */
redtune_status rdt_timer_read(const rdt_timer *timer, double *elapsed_ns, redtune_error *err);

#endif
