/* Capture: stream capture: which streams take part, behind which nodes they stand, what spoils it.
 *
 * A capture has one graph. Each stream in it has tips, the nodes that its next node comes behind.
 * An event that is recorded there takes a copy of the tips; a stream that waits for the event
 * joins the capture and adds them to its own. An illegal call spoils the capture for all of them,
 * and ending it reports that. */
#include "driver/entry.h"
#include "driver/graph.h"

#include <stdlib.h>
#include <string.h>

static CUresult set_tips(struct CUgraphNode_st ***tips, size_t *tip_count,
                         struct CUgraphNode_st *const *to, size_t count) {
    struct CUgraphNode_st **copy = malloc((count + 1) * sizeof(*copy));
    if (!copy) return CUDA_ERROR_OUT_OF_MEMORY;
    if (count) memcpy(copy, to, count * sizeof(*copy));
    free(*tips);
    *tips = copy;
    *tip_count = count;
    return CUDA_SUCCESS;
}

/* Adds nodes that are not among the tips yet. */
static CUresult add_tips(struct CUstream_st *stream, struct CUgraphNode_st *const *more,
                         size_t count) {
    size_t total = stream->tip_count;
    struct CUgraphNode_st **all = malloc((total + count + 1) * sizeof(*all));
    if (!all) return CUDA_ERROR_OUT_OF_MEMORY;
    if (total) memcpy(all, stream->tips, total * sizeof(*all));
    for (size_t i = 0; i < count; i++) {
        size_t k = 0;
        while (k < total && all[k] != more[i]) k++;
        if (k == total) all[total++] = more[i];
    }
    free(stream->tips);
    stream->tips = all;
    stream->tip_count = total;
    return CUDA_SUCCESS;
}

static bool is_open(const sim_capture *capture) {
    return capture && capture->spoilt == CUDA_SUCCESS;
}

/* The captures that a call which none allows would spoil, as the calling thread's mode has it. */
CUresult sim_capture_check_unsafe(void) {
    CUresult rc = CUDA_SUCCESS;
    if (sim_thread.mode == CU_STREAM_CAPTURE_MODE_RELAXED || !sim_state.captures) return rc;
    for (sim_handle *handle = sim_state.handles; handle; handle = handle->next) {
        if (handle->kind != SIM_HANDLE_STREAM) continue;
        sim_capture *capture = ((struct CUstream_st *)handle)->capture;
        if (!is_open(capture)) continue;
        bool own = capture->thread == &sim_thread;
        bool global = sim_thread.mode == CU_STREAM_CAPTURE_MODE_GLOBAL &&
                      capture->mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
        bool local = own && capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED;
        if (!global && !local) continue;
        capture->spoilt = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
        rc = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
    return rc;
}

/* A stream that captures cannot be waited for; the legacy stream waits for all that block. */
CUresult sim_capture_check_stream(struct CUstream_st *stream) {
    if (stream->capture) {
        stream->capture->spoilt = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
    if (stream != stream->handle.context->null_stream || !sim_state.captures) return CUDA_SUCCESS;
    for (sim_handle *handle = sim_state.handles; handle; handle = handle->next) {
        struct CUstream_st *other = (struct CUstream_st *)handle;
        if (handle->kind != SIM_HANDLE_STREAM || !is_open(other->capture)) continue;
        if (handle->context != stream->handle.context) continue;
        if (other->flags & CU_STREAM_NON_BLOCKING) continue;
        other->capture->spoilt = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
        return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    }
    return CUDA_SUCCESS;
}

CUresult sim_capture_add(struct CUstream_st *stream, sim_work *work) {
    sim_capture *capture = stream->capture;
    struct CUgraphNode_st *node = NULL;
    if (!is_open(capture)) {
        sim_work_drop(work);
        return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    }
    CUresult rc = sim_graph_add(capture->graph, stream->tips, stream->tip_count, work, &node);
    return rc == CUDA_SUCCESS ? set_tips(&stream->tips, &stream->tip_count, &node, 1) : rc;
}

CUresult sim_capture_record(struct CUstream_st *stream, struct CUevent_st *event) {
    if (!is_open(stream->capture)) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    event->capture = stream->capture;
    event->is_recorded = false;
    return set_tips(&event->tips, &event->tip_count, stream->tips, stream->tip_count);
}

CUresult sim_capture_wait(struct CUstream_st *stream, struct CUevent_st *event) {
    if (!event->capture) {
        if (!stream->capture) return CUDA_SUCCESS;
        stream->capture->spoilt = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
        return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
    }
    if (!is_open(event->capture)) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    if (stream->capture && stream->capture != event->capture) {
        stream->capture->spoilt = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
        event->capture->spoilt = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
        return CUDA_ERROR_STREAM_CAPTURE_MERGE;
    }
    if (!stream->capture) {
        if (stream == stream->handle.context->null_stream) {
            return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
        }
        stream->capture = event->capture;
        stream->capture->streams++;
    }
    return add_tips(stream, event->tips, event->tip_count);
}

void sim_capture_drop_event(struct CUevent_st *event) {
    free(event->tips);
    event->tips = NULL;
    event->tip_count = 0;
    event->capture = NULL;
}

static void leave(struct CUstream_st *stream) {
    stream->capture = NULL;
    free(stream->tips);
    stream->tips = NULL;
    stream->tip_count = 0;
}

/* Ends the capture for all that take part. The graph is the caller's afterwards. */
static void end_capture(sim_capture *capture) {
    for (sim_handle *handle = sim_state.handles; handle; handle = handle->next) {
        if (handle->kind == SIM_HANDLE_STREAM) {
            struct CUstream_st *stream = (struct CUstream_st *)handle;
            if (stream->capture == capture) leave(stream);
        } else if (handle->kind == SIM_HANDLE_EVENT) {
            struct CUevent_st *event = (struct CUevent_st *)handle;
            if (event->capture == capture) sim_capture_drop_event(event);
        }
    }
    capture->graph->is_captured_into = false;
    sim_state.captures--;
    free(capture);
}

void sim_capture_drop_stream(struct CUstream_st *stream) {
    sim_capture *capture = stream->capture;
    if (!capture) return;
    if (capture->origin == stream) {
        struct CUgraph_st *graph = capture->graph;
        end_capture(capture);
        sim_graph_destroy(graph);
    } else {
        capture->spoilt = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
        capture->streams--;
        leave(stream);
    }
}

static CUresult begin(CUstream handle, CUstreamCaptureMode mode) {
    struct CUstream_st *stream = sim_stream_find(handle);
    if (!stream) return CUDA_ERROR_INVALID_HANDLE;
    if (mode > CU_STREAM_CAPTURE_MODE_RELAXED) return CUDA_ERROR_INVALID_VALUE;
    if (stream->capture) return CUDA_ERROR_ILLEGAL_STATE;
    if (stream == stream->handle.context->null_stream) {
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
    sim_capture *capture = calloc(1, sizeof *capture);
    struct CUgraph_st *graph = capture ? sim_graph_make(stream->handle.context) : NULL;
    if (!graph) {
        free(capture);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    graph->is_captured_into = true;
    *capture =
        (sim_capture){++sim_state.next_id, graph, stream, mode, &sim_thread, CUDA_SUCCESS, 1};
    stream->capture = capture;
    sim_state.captures++;
    return CUDA_SUCCESS;
}

CUresult cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode) {
    SIM_ENTRY(begin(stream, mode));
}

/* Every node of the other streams must lie behind a tip of the origin's by now. */
static bool is_joined(const sim_capture *capture) {
    const struct CUgraph_st *graph = capture->graph;
    if (capture->streams == 1) return true;
    for (size_t i = 0; i < graph->node_count; i++) {
        const struct CUgraphNode_st *node = graph->nodes[i];
        bool reached = false;
        for (size_t t = 0; t < capture->origin->tip_count; t++) {
            reached |= capture->origin->tips[t] == node;
        }
        for (size_t k = i + 1; k < graph->node_count && !reached; k++) {
            for (size_t b = 0; b < graph->nodes[k]->behind_count; b++) {
                reached |= graph->nodes[k]->behind[b] == node;
            }
        }
        if (!reached) return false;
    }
    return true;
}

static CUresult end(CUstream handle, CUgraph *out) {
    struct CUstream_st *stream = sim_stream_find(handle);
    if (!stream) return CUDA_ERROR_INVALID_HANDLE;
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    sim_capture *capture = stream->capture;
    *out = NULL;
    if (!capture) return CUDA_ERROR_ILLEGAL_STATE;
    if (capture->origin != stream) {
        capture->spoilt = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
        return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
    }
    if (capture->thread != &sim_thread && capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED) {
        return CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
    }
    CUresult rc = capture->spoilt;
    if (rc == CUDA_SUCCESS && !is_joined(capture)) rc = CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
    struct CUgraph_st *graph = capture->graph;
    end_capture(capture);
    if (rc == CUDA_SUCCESS)
        *out = graph;
    else
        sim_graph_destroy(graph);
    return rc;
}

CUresult cuStreamEndCapture(CUstream stream, CUgraph *out) { SIM_ENTRY(end(stream, out)); }

static CUstreamCaptureStatus status_of(const struct CUstream_st *stream) {
    if (!stream->capture) return CU_STREAM_CAPTURE_STATUS_NONE;
    return is_open(stream->capture) ? CU_STREAM_CAPTURE_STATUS_ACTIVE
                                    : CU_STREAM_CAPTURE_STATUS_INVALIDATED;
}

/* Asking about the legacy stream while a stream that blocks it captures has no answer. */
static CUresult check_asked(struct CUstream_st *stream) {
    if (!stream) return CUDA_ERROR_INVALID_HANDLE;
    if (stream != stream->handle.context->null_stream) return CUDA_SUCCESS;
    return sim_capture_check_stream(stream);
}

static CUresult is_capturing(CUstream handle, CUstreamCaptureStatus *out) {
    struct CUstream_st *stream = sim_stream_find(handle);
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    CUresult rc = check_asked(stream);
    if (rc == CUDA_SUCCESS) *out = status_of(stream);
    return rc;
}

CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus *out) {
    SIM_ENTRY(is_capturing(stream, out));
}

static CUresult get_info(CUstream handle, CUstreamCaptureStatus *status, cuuint64_t *id,
                         CUgraph *graph, const CUgraphNode **tips, size_t *tip_count) {
    struct CUstream_st *stream = sim_stream_find(handle);
    if (!status) return CUDA_ERROR_INVALID_VALUE;
    CUresult rc = check_asked(stream);
    if (rc != CUDA_SUCCESS) return rc;
    *status = status_of(stream);
    if (*status != CU_STREAM_CAPTURE_STATUS_ACTIVE) return CUDA_SUCCESS;
    if (id) *id = stream->capture->id;
    if (graph) *graph = stream->capture->graph;
    if (tips) *tips = stream->tips;
    if (tip_count) *tip_count = stream->tip_count;
    return CUDA_SUCCESS;
}

CUresult cuStreamGetCaptureInfo_v2(CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id,
                                   CUgraph *graph, const CUgraphNode **tips, size_t *tip_count) {
    SIM_ENTRY(get_info(stream, status, id, graph, tips, tip_count));
}

CUresult cuStreamGetCaptureInfo_v3(CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id,
                                   CUgraph *graph, const CUgraphNode **tips,
                                   const CUgraphEdgeData **edges, size_t *tip_count) {
    if (edges) *edges = NULL; /* no edge carries any data */
    SIM_ENTRY(get_info(stream, status, id, graph, tips, tip_count));
}

static CUresult update(CUstream handle, CUgraphNode *nodes, size_t count, unsigned int flags) {
    struct CUstream_st *stream = sim_stream_find(handle);
    if (!stream) return CUDA_ERROR_INVALID_HANDLE;
    if (!stream->capture) return CUDA_ERROR_ILLEGAL_STATE;
    if (!is_open(stream->capture)) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    if ((count && !nodes) || flags > CU_STREAM_SET_CAPTURE_DEPENDENCIES) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    for (size_t i = 0; i < count; i++) {
        bool own = sim_state_handle_is(nodes[i], SIM_HANDLE_NODE) &&
                   nodes[i]->graph == stream->capture->graph;
        if (!own) return CUDA_ERROR_INVALID_VALUE;
    }
    return flags == CU_STREAM_SET_CAPTURE_DEPENDENCIES
               ? set_tips(&stream->tips, &stream->tip_count, nodes, count)
               : add_tips(stream, nodes, count);
}

CUresult cuStreamUpdateCaptureDependencies(CUstream stream, CUgraphNode *nodes, size_t count,
                                           unsigned int flags) {
    SIM_ENTRY(update(stream, nodes, count, flags));
}

CUresult cuStreamUpdateCaptureDependencies_v2(CUstream stream, CUgraphNode *nodes,
                                              const CUgraphEdgeData *edges, size_t count,
                                              unsigned int flags) {
    (void)edges;
    SIM_ENTRY(update(stream, nodes, count, flags));
}

static CUresult exchange_mode(CUstreamCaptureMode *mode) {
    if (!mode || *mode > CU_STREAM_CAPTURE_MODE_RELAXED) return CUDA_ERROR_INVALID_VALUE;
    CUstreamCaptureMode before = sim_thread.mode;
    sim_thread.mode = *mode;
    *mode = before;
    return CUDA_SUCCESS;
}

CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode) {
    SIM_ENTRY(exchange_mode(mode));
}
