/* Trace: ranges in the timeline of an attached profiler, through NVTX. */
#include "base/trace.h"

#ifdef RDT_NVTX
#include <nvtx3/nvToolsExt.h>

void rdt_trace_start(void) { nvtxInitialize(NULL); }

void rdt_trace_push(const char *name) { nvtxRangePushA(name); }

void rdt_trace_pop(void) { nvtxRangePop(); }
#else
void rdt_trace_start(void) {}

void rdt_trace_push(const char *name) { (void)name; }

void rdt_trace_pop(void) {}
#endif
