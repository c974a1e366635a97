/* Work: the device's work: run when a stream or a graph comes to it, and its share of the clock.
 */
#include "driver/state.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void sim_work_drop(sim_work *work) {
    free(work->params);
    work->params = NULL;
    if (work->function) sim_module_release(work->function->module);
    work->function = NULL;
}

CUresult sim_work_copy(sim_work *to, const sim_work *from) {
    *to = *from;
    if (from->params) {
        size_t bytes = from->function->program.param_bytes;
        to->params = malloc(bytes + 1);
        if (!to->params) {
            to->function = NULL;
            return CUDA_ERROR_OUT_OF_MEMORY;
        }
        memcpy(to->params, from->params, bytes);
    }
    if (to->function) sim_module_retain(to->function->module);
    return CUDA_SUCCESS;
}

/* Where bytes of device memory are. Pinned host memory is one of the device's own; other host
 * memory is not, and a pointer to it is the caller's mistake. */
static sim_alloc *find_bytes(CUdeviceptr address, size_t bytes) {
    return sim_memory_find(&sim_state.memory, address, bytes);
}

CUresult sim_work_check(const sim_work *work) {
    bool copies = work->kind == SIM_WORK_COPY, sets = work->kind == SIM_WORK_MEMSET;
    if ((!copies && !sets) || !work->bytes) return CUDA_SUCCESS;
    bool has_to = sets || !work->to_host, has_from = copies && !work->from_host;
    if (has_to && !find_bytes(work->to, work->bytes)) {
        sim_report_misuse(CUDA_ERROR_INVALID_VALUE,
                          "%s of %zu bytes to 0x%llx, which no "
                          "allocation holds",
                          copies ? "a copy" : "a memset", work->bytes,
                          (unsigned long long)work->to);
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (has_from && !find_bytes(work->from, work->bytes)) {
        sim_report_misuse(CUDA_ERROR_INVALID_VALUE,
                          "a copy of %zu bytes from 0x%llx, which no "
                          "allocation holds",
                          work->bytes, (unsigned long long)work->from);
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (sets && work->to % work->element_bytes) return CUDA_ERROR_INVALID_VALUE;
    return CUDA_SUCCESS;
}

static void touch(sim_alloc *alloc, uint64_t offset, uint64_t bytes) {
    sim_shadow_touch_range(&sim_state.memory, sim_state.config.settings.machine.cache_bytes, alloc,
                           offset, bytes);
}

static CUresult run_copy(const sim_work *work) {
    const sim_machine *machine = &sim_state.config.settings.machine;
    sim_alloc *to = work->to_host ? NULL : find_bytes(work->to, work->bytes);
    sim_alloc *from = work->from_host ? NULL : find_bytes(work->from, work->bytes);
    if ((!to && !work->to_host) || (!from && !work->from_host)) return CUDA_ERROR_INVALID_VALUE;
    uint64_t to_offset = to ? work->to - to->address : 0;
    uint64_t from_offset = from ? work->from - from->address : 0;
    void *target = to ? to->host + to_offset : (unsigned char *)work->to_host;
    const void *source = from ? from->host + from_offset : (const unsigned char *)work->from_host;
    memmove(target, source, work->bytes);
    if (to) touch(to, to_offset, work->bytes);
    if (from) touch(from, from_offset, work->bytes);
    sim_work_advance_clock((double)work->bytes / (to && from ? machine->memory_bytes_per_ns / 2
                                                             : machine->host_bytes_per_ns));
    bool noted = !to || (from ? sim_shadow_copy(to, to_offset, from, from_offset, work->bytes)
                              : sim_shadow_put(to, to_offset, work->bytes));
    return noted ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult run_memset(const sim_work *work) {
    sim_alloc *to = find_bytes(work->to, work->bytes);
    if (!to) return CUDA_ERROR_INVALID_VALUE;
    uint64_t offset = work->to - to->address;
    unsigned char *at = to->host + offset;
    for (size_t i = 0; work->element_bytes > 1 && i < work->bytes; i += work->element_bytes) {
        memcpy(at + i, &work->value, work->element_bytes);
    }
    if (work->element_bytes == 1) memset(at, (int)(work->value & 0xff), work->bytes);
    touch(to, offset, work->bytes);
    double bandwidth = sim_state.config.settings.machine.memory_bytes_per_ns;
    sim_work_advance_clock((double)work->bytes / bandwidth);
    return sim_shadow_put(to, offset, work->bytes) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

/* No call may reach the driver from a host function, so the lock may be open meanwhile. */
static CUresult run_host(const sim_work *work) {
    pthread_mutex_unlock(&sim_state.lock);
    sim_thread.in_callback = true;
    work->host(work->user);
    sim_thread.in_callback = false;
    pthread_mutex_lock(&sim_state.lock);
    return CUDA_SUCCESS;
}

/* In steps that add up exactly, so that an interval is the same however late it begins. */
void sim_work_advance_clock(double ns) {
    const double steps_per_ns = 1024;
    sim_state.now_ns += floor(ns * steps_per_ns + 0.5) / steps_per_ns;
}

CUresult sim_work_run(struct CUctx_st *context, const sim_work *work, double start_ns) {
    CUresult rc = CUDA_SUCCESS;
    if (sim_state.is_hung || context->pending || context->sticky) return CUDA_SUCCESS;
    sim_work_advance_clock(start_ns);
    if (work->kind == SIM_WORK_KERNEL) return sim_launch_run(context, work);
    if (work->kind == SIM_WORK_HOST) return run_host(work);
    if (!work->bytes) return CUDA_SUCCESS;
    if (work->kind == SIM_WORK_COPY) rc = run_copy(work);
    if (work->kind == SIM_WORK_MEMSET) rc = run_memset(work);
    /* Memory that was there when the work was given is gone: hardware would fault. */
    return rc == CUDA_SUCCESS ? rc : sim_context_fail(context, CUDA_ERROR_ILLEGAL_ADDRESS);
}

CUresult sim_work_submit(struct CUstream_st *stream, sim_work *work) {
    const sim_machine *machine = &sim_state.config.settings.machine;
    CUresult rc = sim_work_check(work);
    if (rc != CUDA_SUCCESS) {
        sim_work_drop(work);
        return rc;
    }
    if (stream->capture) return sim_capture_add(stream, work);
    rc = sim_capture_check_stream(stream);
    double start_ns = work->kind == SIM_WORK_KERNEL ? machine->launch_ns : machine->copy_ns;
    if (rc == CUDA_SUCCESS && sim_late_takes(stream, work))
        return sim_late_add(stream, work, start_ns);
    sim_late_run();
    if (rc == CUDA_SUCCESS) rc = sim_work_run(stream->handle.context, work, start_ns);
    sim_work_drop(work);
    return rc;
}
