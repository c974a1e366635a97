/* Event: events: marks on the modelled clock. */
#include "driver/entry.h"
#include "driver/state.h"

#include <stdlib.h>

static const double NS_PER_MS = 1e6;

void sim_event_destroy(struct CUevent_st *event) {
    sim_capture_drop_event(event);
    sim_state_handle_drop(&event->handle);
    free(event);
}

static CUresult create(CUevent *out, unsigned int flags) {
    if (!out || (flags & ~7u)) return CUDA_ERROR_INVALID_VALUE;
    struct CUevent_st *event = calloc(1, sizeof *event);
    if (!event) return CUDA_ERROR_OUT_OF_MEMORY;
    event->flags = flags;
    event->handle.context = sim_context_current();
    sim_state_handle_put(&event->handle, SIM_HANDLE_EVENT);
    *out = event;
    return CUDA_SUCCESS;
}

CUresult cuEventCreate(CUevent *out, unsigned int flags) { SIM_ENTRY(create(out, flags)); }

static CUresult record(CUevent event, CUstream handle) {
    struct CUstream_st *stream = sim_stream_find(handle);
    if (!stream || !sim_state_handle_is(event, SIM_HANDLE_EVENT)) return CUDA_ERROR_INVALID_HANDLE;
    if (stream->capture) return sim_capture_record(stream, event);
    CUresult rc = sim_capture_check_stream(stream);
    if (rc != CUDA_SUCCESS) return rc;
    sim_late_run();
    sim_capture_drop_event(event);
    event->is_recorded = true;
    event->time_ns = sim_state.now_ns;
    return CUDA_SUCCESS;
}

CUresult cuEventRecord(CUevent event, CUstream stream) { SIM_ENTRY(record(event, stream)); }

static CUresult wait_for(CUevent event) {
    if (!sim_state_handle_is(event, SIM_HANDLE_EVENT)) return CUDA_ERROR_INVALID_HANDLE;
    return event->capture ? CUDA_ERROR_CAPTURED_EVENT : CUDA_SUCCESS;
}

CUresult cuEventSynchronize(CUevent event) { SIM_ENTRY(wait_for(event)); }
CUresult cuEventQuery(CUevent event) { SIM_ENTRY(wait_for(event)); }

static CUresult get_elapsed(float *out, CUevent start, CUevent end) {
    bool known =
        sim_state_handle_is(start, SIM_HANDLE_EVENT) && sim_state_handle_is(end, SIM_HANDLE_EVENT);
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    if (!known || !start->is_recorded || !end->is_recorded) return CUDA_ERROR_INVALID_HANDLE;
    if (start->capture || end->capture) return CUDA_ERROR_CAPTURED_EVENT;
    if ((start->flags | end->flags) & CU_EVENT_DISABLE_TIMING) return CUDA_ERROR_INVALID_HANDLE;
    *out = (float)((end->time_ns - start->time_ns) / NS_PER_MS);
    return CUDA_SUCCESS;
}

CUresult cuEventElapsedTime(float *out, CUevent start, CUevent end) {
    SIM_ENTRY(get_elapsed(out, start, end));
}

CUresult cuEventElapsedTime_v2(float *out, CUevent start, CUevent end) {
    SIM_ENTRY(get_elapsed(out, start, end));
}

static CUresult destroy(CUevent event) {
    if (!sim_state_handle_is(event, SIM_HANDLE_EVENT)) return CUDA_ERROR_INVALID_HANDLE;
    sim_event_destroy(event);
    return CUDA_SUCCESS;
}

CUresult cuEventDestroy_v2(CUevent event) { SIM_ENTRY(destroy(event)); }
