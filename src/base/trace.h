/* Trace: ranges in the timeline of an attached profiler, through NVTX. Nothing where redtune was
 * built without NVTX's headers; next to nothing where no profiler is attached. */
#pragma once

/* Finds the profiler, once per process, so that the first range need not. */
void rdt_trace_start(void);
void rdt_trace_push(const char *name);
void rdt_trace_pop(void);
