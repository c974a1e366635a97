/* Context: contexts: primary and other, the stack of each thread, and errors that stay. */
#include "driver/entry.h"
#include "driver/state.h"

#include <stdlib.h>
#include <string.h>

/* Another thread may have ended the context meanwhile. */
struct CUctx_st *sim_context_current(void) {
    struct CUctx_st *top = sim_thread.depth ? sim_thread.stack[sim_thread.depth - 1] : NULL;
    return sim_state_handle_is(top, SIM_HANDLE_CONTEXT) ? top : NULL;
}

CUresult sim_context_fail(struct CUctx_st *context, CUresult error) {
    if (!context->pending) context->pending = error;
    return CUDA_SUCCESS; /* the launch itself went well: the error is found later */
}

static struct CUctx_st *make_context(CUdevice device, bool is_primary) {
    struct CUctx_st *context = calloc(1, sizeof *context);
    if (!context) return NULL;
    context->device = device;
    context->is_primary = is_primary;
    context->id = ++sim_state.next_id;
    context->null_stream = sim_stream_make(context, CU_STREAM_DEFAULT);
    context->thread_stream = sim_stream_make(context, CU_STREAM_DEFAULT);
    if (!context->null_stream || !context->thread_stream) {
        if (context->null_stream) sim_stream_destroy(context->null_stream);
        if (context->thread_stream) sim_stream_destroy(context->thread_stream);
        free(context);
        return NULL;
    }
    sim_state_handle_put(&context->handle, SIM_HANDLE_CONTEXT);
    context->handle.context = context;
    return context;
}

static void destroy_handle(sim_handle *handle) {
    switch (handle->kind) {
    case SIM_HANDLE_MODULE: sim_module_unload((struct CUmod_st *)handle); break;
    case SIM_HANDLE_STREAM: sim_stream_destroy((struct CUstream_st *)handle); break;
    case SIM_HANDLE_EVENT: sim_event_destroy((struct CUevent_st *)handle); break;
    case SIM_HANDLE_GRAPH: sim_graph_destroy((struct CUgraph_st *)handle); break;
    case SIM_HANDLE_EXEC: sim_graph_exec_destroy((struct CUgraphExec_st *)handle); break;
    case SIM_HANDLE_CONTEXT:
    case SIM_HANDLE_FUNCTION:
    case SIM_HANDLE_NODE:
    case SIM_HANDLE_USER_OBJECT: break; /* functions go with their module, nodes with their graph */
    }
}

/* Graphs first: they hold on to modules. */
static void destroy_all(struct CUctx_st *context, sim_handle_kind kind) {
    sim_handle *handle = sim_state.handles;
    while (handle) {
        if (handle->kind == kind && handle->context == context) {
            destroy_handle(handle);
            handle = sim_state.handles; /* more than one may be gone */
        } else {
            handle = handle->next;
        }
    }
}

static void free_memory(struct CUctx_st *context) {
    for (uint32_t i = sim_state.memory.count; i-- > 0;) {
        sim_alloc *alloc = sim_state.memory.allocs[i];
        if (alloc->context == context) sim_memory_free(&sim_state.memory, alloc);
    }
}

static void destroy_context(struct CUctx_st *context) {
    sim_late_run();
    static const sim_handle_kind order[] = {SIM_HANDLE_EXEC, SIM_HANDLE_EVENT, SIM_HANDLE_STREAM,
                                            SIM_HANDLE_GRAPH, SIM_HANDLE_MODULE};
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) destroy_all(context, order[i]);
    free_memory(context);
    for (uint32_t i = 0; i < SIM_DEVICES_MAX; i++) {
        if (sim_state.primary[i] == context) sim_state.primary[i] = NULL;
    }
    for (uint32_t i = 0; i < sim_thread.depth; i++) {
        if (sim_thread.stack[i] != context) continue;
        memmove(&sim_thread.stack[i], &sim_thread.stack[i + 1],
                (sim_thread.depth - i - 1) * sizeof *sim_thread.stack);
        sim_thread.depth--;
        i--;
    }
    sim_state_handle_drop(&context->handle);
    free(context);
}

void sim_context_end_all(void) {
    sim_handle *handle = sim_state.handles;
    while (handle) {
        if (handle->kind == SIM_HANDLE_CONTEXT) {
            destroy_context((struct CUctx_st *)handle);
            handle = sim_state.handles;
        } else {
            handle = handle->next;
        }
    }
    sim_object_destroy_all();
    sim_stream_free_spares();
}

static CUresult push(struct CUctx_st *context) {
    if (sim_thread.depth == SIM_STACK_MAX) return CUDA_ERROR_INVALID_CONTEXT;
    sim_thread.stack[sim_thread.depth++] = context;
    return CUDA_SUCCESS;
}

static CUresult retain(CUcontext *out, CUdevice device) {
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    if (device < 0 || device >= sim_state.config.device_count) return CUDA_ERROR_INVALID_DEVICE;
    struct CUctx_st **primary = &sim_state.primary[device];
    if (!*primary) *primary = make_context(device, true);
    if (!*primary) return CUDA_ERROR_OUT_OF_MEMORY;
    (*primary)->retained++;
    *out = *primary;
    return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *out, CUdevice device) {
    SIM_ENTRY(retain(out, device));
}

static CUresult end_primary(CUdevice device, bool at_once) {
    if (device < 0 || device >= sim_state.config.device_count) return CUDA_ERROR_INVALID_DEVICE;
    struct CUctx_st *primary = sim_state.primary[device];
    if (!primary) return at_once ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
    if (!at_once && --primary->retained) return CUDA_SUCCESS;
    if (!primary->sticky && !primary->pending) sim_report_leaks(primary);
    destroy_context(primary);
    return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) { SIM_ENTRY(end_primary(device, false)); }
CUresult cuDevicePrimaryCtxReset_v2(CUdevice device) { SIM_ENTRY(end_primary(device, true)); }

static CUresult get_state(CUdevice device, unsigned int *flags, int *active) {
    if (!flags || !active) return CUDA_ERROR_INVALID_VALUE;
    if (device < 0 || device >= sim_state.config.device_count) return CUDA_ERROR_INVALID_DEVICE;
    *flags = 0;
    *active = sim_state.primary[device] != NULL;
    return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned int *flags, int *active) {
    SIM_ENTRY(get_state(device, flags, active));
}

static CUresult create(CUcontext *out, CUdevice device) {
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    if (device < 0 || device >= sim_state.config.device_count) return CUDA_ERROR_INVALID_DEVICE;
    struct CUctx_st *context = make_context(device, false);
    if (!context) return CUDA_ERROR_OUT_OF_MEMORY;
    *out = context;
    return push(context);
}

CUresult cuCtxCreate_v2(CUcontext *out, unsigned int flags, CUdevice device) {
    (void)flags;
    SIM_ENTRY(create(out, device));
}

CUresult cuCtxCreate_v4(CUcontext *out, CUctxCreateParams *params, unsigned int flags,
                        CUdevice device) {
    (void)params, (void)flags;
    SIM_ENTRY(create(out, device));
}

static CUresult destroy(CUcontext context) {
    if (!sim_state_handle_is(context, SIM_HANDLE_CONTEXT)) return CUDA_ERROR_INVALID_CONTEXT;
    if (context->is_primary) return CUDA_ERROR_INVALID_CONTEXT;
    if (!context->sticky && !context->pending) sim_report_leaks(context);
    destroy_context(context);
    return CUDA_SUCCESS;
}

CUresult cuCtxDestroy_v2(CUcontext context) { SIM_ENTRY(destroy(context)); }

static CUresult get_current(CUcontext *out) {
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    *out = sim_context_current();
    return CUDA_SUCCESS;
}

CUresult cuCtxGetCurrent(CUcontext *out) { SIM_ENTRY(get_current(out)); }

static CUresult set_current(CUcontext context) {
    if (context && !sim_state_handle_is(context, SIM_HANDLE_CONTEXT))
        return CUDA_ERROR_INVALID_CONTEXT;
    if (sim_thread.depth) sim_thread.depth--;
    return context ? push(context) : CUDA_SUCCESS;
}

CUresult cuCtxSetCurrent(CUcontext context) { SIM_ENTRY(set_current(context)); }

static CUresult push_current(CUcontext context) {
    if (!sim_state_handle_is(context, SIM_HANDLE_CONTEXT)) return CUDA_ERROR_INVALID_CONTEXT;
    return push(context);
}

CUresult cuCtxPushCurrent_v2(CUcontext context) { SIM_ENTRY(push_current(context)); }

static CUresult pop_current(CUcontext *out) {
    if (!sim_thread.depth) return CUDA_ERROR_INVALID_CONTEXT;
    struct CUctx_st *context = sim_thread.stack[--sim_thread.depth];
    if (out) *out = context;
    return CUDA_SUCCESS;
}

CUresult cuCtxPopCurrent_v2(CUcontext *out) { SIM_ENTRY(pop_current(out)); }

static CUresult get_device(CUdevice *out) {
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    if (!sim_context_current()) return CUDA_ERROR_INVALID_CONTEXT;
    *out = sim_context_current()->device;
    return CUDA_SUCCESS;
}

CUresult cuCtxGetDevice(CUdevice *out) { SIM_ENTRY(get_device(out)); }

static CUresult enable_peer_access(CUcontext peer, unsigned int flags) {
    if (flags) return CUDA_ERROR_INVALID_VALUE;
    if (!sim_state_handle_is(peer, SIM_HANDLE_CONTEXT)) return CUDA_ERROR_INVALID_CONTEXT;
    return peer->device == sim_context_current()->device ? CUDA_ERROR_INVALID_DEVICE : CUDA_SUCCESS;
}

CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned int flags) {
    SIM_ENTRY(enable_peer_access(peer, flags));
}

static CUresult get_id(CUcontext context, unsigned long long *out) {
    if (!context) context = sim_context_current();
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    if (!sim_state_handle_is(context, SIM_HANDLE_CONTEXT)) return CUDA_ERROR_INVALID_CONTEXT;
    *out = context->id;
    return CUDA_SUCCESS;
}

CUresult cuCtxGetId(CUcontext context, unsigned long long *out) { SIM_ENTRY(get_id(context, out)); }

/* All work has run: what is left to do is to see the errors, at the gate. */
CUresult cuCtxSynchronize(void) { SIM_ENTRY(CUDA_SUCCESS); }
