/* Stream: streams. Work runs when it is submitted, or late, in the order of its stream. */
#include "driver/entry.h"
#include "driver/state.h"

#include <stdlib.h>
#include <unistd.h>

/* The handle of the stream that was destroyed last, as CUDA's driver often does. */
struct CUstream_st *sim_stream_make(struct CUctx_st *context, unsigned int flags) {
    struct CUstream_st *stream = (struct CUstream_st *)sim_state.spare_streams;
    if (stream)
        sim_state.spare_streams = stream->handle.next;
    else
        stream = malloc(sizeof *stream);
    if (!stream) return NULL;
    *stream = (struct CUstream_st){.flags = flags};
    stream->id = ++sim_state.next_id;
    sim_state_handle_put(&stream->handle, SIM_HANDLE_STREAM);
    stream->handle.context = context;
    return stream;
}

void sim_stream_destroy(struct CUstream_st *stream) {
    sim_capture_drop_stream(stream);
    sim_state_handle_drop(&stream->handle);
    stream->handle.next = sim_state.spare_streams;
    sim_state.spare_streams = &stream->handle;
}

void sim_stream_free_spares(void) {
    while (sim_state.spare_streams) {
        sim_handle *spare = sim_state.spare_streams;
        sim_state.spare_streams = spare->next;
        free(spare);
    }
}

struct CUstream_st *sim_stream_find(CUstream stream) {
    struct CUctx_st *context = sim_context_current();
    if (!stream || stream == CU_STREAM_LEGACY) return context->null_stream;
    if (stream == CU_STREAM_PER_THREAD) return context->thread_stream;
    return sim_state_handle_is(stream, SIM_HANDLE_STREAM) ? stream : NULL;
}

/* A launch that hangs holds whoever waits for it, until the simulator is reset. */
CUresult sim_stream_hang(void) {
    enum { WAIT_US = 10000 };
    while (sim_state.is_hung) {
        pthread_mutex_unlock(&sim_state.lock);
        usleep(WAIT_US);
        pthread_mutex_lock(&sim_state.lock);
    }
    return sim_context_current() ? CUDA_SUCCESS : CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

static CUresult create(CUstream *out, unsigned int flags, int priority) {
    if (!out || (flags & ~(unsigned int)CU_STREAM_NON_BLOCKING)) return CUDA_ERROR_INVALID_VALUE;
    struct CUstream_st *stream = sim_stream_make(sim_context_current(), flags);
    if (!stream) return CUDA_ERROR_OUT_OF_MEMORY;
    stream->priority = priority;
    *out = stream;
    return CUDA_SUCCESS;
}

CUresult cuStreamCreate(CUstream *out, unsigned int flags) { SIM_ENTRY(create(out, flags, 0)); }

CUresult cuStreamCreateWithPriority(CUstream *out, unsigned int flags, int priority) {
    SIM_ENTRY(create(out, flags, priority));
}

static CUresult destroy(CUstream stream) {
    struct CUctx_st *context = sim_context_current();
    if (!sim_state_handle_is(stream, SIM_HANDLE_STREAM)) return CUDA_ERROR_INVALID_HANDLE;
    if (stream == context->null_stream || stream == context->thread_stream) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    sim_stream_destroy(stream);
    return CUDA_SUCCESS;
}

CUresult cuStreamDestroy_v2(CUstream stream) { SIM_ENTRY(destroy(stream)); }

/* The gate has seen errors and hangs; what a capturing stream has to say is left. */
static CUresult wait_for(CUstream handle) {
    struct CUstream_st *stream = sim_stream_find(handle);
    return stream ? sim_capture_check_stream(stream) : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuStreamSynchronize(CUstream stream) { SIM_ENTRY(wait_for(stream)); }
CUresult cuStreamQuery(CUstream stream) { SIM_ENTRY(wait_for(stream)); }

static CUresult wait_event(CUstream handle, CUevent event, unsigned int flags) {
    struct CUstream_st *stream = sim_stream_find(handle);
    if (flags & ~1u) return CUDA_ERROR_INVALID_VALUE;
    if (!stream || !sim_state_handle_is(event, SIM_HANDLE_EVENT)) return CUDA_ERROR_INVALID_HANDLE;
    sim_late_run();
    return sim_capture_wait(stream, event);
}

CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned int flags) {
    SIM_ENTRY(wait_event(stream, event, flags));
}

static CUresult get_context(CUstream handle, CUcontext *out) {
    struct CUstream_st *stream = sim_stream_find(handle);
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    if (!stream) return CUDA_ERROR_INVALID_HANDLE;
    *out = stream->handle.context;
    return CUDA_SUCCESS;
}

CUresult cuStreamGetCtx(CUstream stream, CUcontext *out) { SIM_ENTRY(get_context(stream, out)); }

static CUresult get_id(CUstream handle, unsigned long long *out) {
    struct CUstream_st *stream = sim_stream_find(handle);
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    if (!stream) return CUDA_ERROR_INVALID_HANDLE;
    *out = stream->id;
    return CUDA_SUCCESS;
}

CUresult cuStreamGetId(CUstream stream, unsigned long long *out) { SIM_ENTRY(get_id(stream, out)); }
