/* Buffer: the entry points of memory: allocating, copying and setting it. */
#include "driver/entry.h"
#include "driver/state.h"

#include <stdlib.h>

static CUresult allocate(CUdeviceptr *out, size_t bytes, sim_owner owner) {
    const sim_config *config = &sim_state.config;
    if (!out || !bytes) return CUDA_ERROR_INVALID_VALUE;
    uint64_t room = config->settings.machine.memory_bytes - sim_state.memory.used_bytes;
    if (config->alloc_max_bytes && bytes > config->alloc_max_bytes) return CUDA_ERROR_OUT_OF_MEMORY;
    if (owner == SIM_OWNER_DEVICE && bytes > room) return CUDA_ERROR_OUT_OF_MEMORY;
    sim_alloc *alloc = sim_memory_get(&sim_state.memory, bytes, owner);
    if (!alloc) return CUDA_ERROR_OUT_OF_MEMORY;
    alloc->context = sim_context_current();
    *out = alloc->address;
    return CUDA_SUCCESS;
}

CUresult cuMemAlloc_v2(CUdeviceptr *out, size_t bytes) {
    SIM_ENTRY(allocate(out, bytes, SIM_OWNER_DEVICE));
}

static CUresult allocate_async(CUdeviceptr *out, size_t bytes, CUstream handle) {
    struct CUstream_st *stream = sim_stream_find(handle);
    if (!stream) return CUDA_ERROR_INVALID_HANDLE;
    if (stream->capture) return CUDA_ERROR_NOT_SUPPORTED;
    return allocate(out, bytes, SIM_OWNER_DEVICE);
}

CUresult cuMemAllocAsync(CUdeviceptr *out, size_t bytes, CUstream stream) {
    SIM_ENTRY(allocate_async(out, bytes, stream));
}

static CUresult release(CUdeviceptr address, sim_owner owner) {
    if (!address) return CUDA_SUCCESS;
    sim_alloc *alloc = sim_memory_at(&sim_state.memory, address);
    if (!alloc || alloc->owner != owner) return CUDA_ERROR_INVALID_VALUE;
    sim_memory_free(&sim_state.memory, alloc);
    return CUDA_SUCCESS;
}

CUresult cuMemFree_v2(CUdeviceptr address) { SIM_ENTRY(release(address, SIM_OWNER_DEVICE)); }

static CUresult release_async(CUdeviceptr address, CUstream handle) {
    struct CUstream_st *stream = sim_stream_find(handle);
    if (!stream) return CUDA_ERROR_INVALID_HANDLE;
    if (stream->capture) return CUDA_ERROR_NOT_SUPPORTED;
    sim_late_run();
    return release(address, SIM_OWNER_DEVICE);
}

CUresult cuMemFreeAsync(CUdeviceptr address, CUstream stream) {
    SIM_ENTRY(release_async(address, stream));
}

static CUresult allocate_host(void **out, size_t bytes) {
    CUdeviceptr address = 0;
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    CUresult rc = allocate(&address, bytes, SIM_OWNER_HOST);
    if (rc == CUDA_SUCCESS) *out = (void *)(uintptr_t)address;
    return rc;
}

CUresult cuMemHostAlloc(void **out, size_t bytes, unsigned int flags) {
    (void)flags;
    SIM_ENTRY(allocate_host(out, bytes));
}

CUresult cuMemAllocHost_v2(void **out, size_t bytes) { SIM_ENTRY(allocate_host(out, bytes)); }

CUresult cuMemFreeHost(void *host) {
    SIM_ENTRY(host ? release((CUdeviceptr)(uintptr_t)host, SIM_OWNER_HOST)
                   : CUDA_ERROR_INVALID_VALUE);
}

static CUresult get_info(size_t *free_bytes, size_t *total_bytes) {
    if (!free_bytes || !total_bytes) return CUDA_ERROR_INVALID_VALUE;
    *total_bytes = sim_state.config.settings.machine.memory_bytes;
    *free_bytes = *total_bytes - sim_state.memory.used_bytes;
    return CUDA_SUCCESS;
}

CUresult cuMemGetInfo_v2(size_t *free_bytes, size_t *total_bytes) {
    SIM_ENTRY(get_info(free_bytes, total_bytes));
}

static CUresult get_pointer_attribute(void *data, CUpointer_attribute attribute, CUdeviceptr at) {
    const sim_alloc *alloc = sim_memory_find(&sim_state.memory, at, 0);
    if (!data) return CUDA_ERROR_INVALID_VALUE;
    if (!alloc) return CUDA_ERROR_INVALID_VALUE;
    bool is_host = alloc->owner == SIM_OWNER_HOST;
    const struct CUctx_st *context = alloc->context;
    switch ((int)attribute) { /* CUDA has others */
    case CU_POINTER_ATTRIBUTE_CONTEXT: *(const void **)data = context; break;
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        *(CUmemorytype *)data = is_host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
        break;
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER: /* no device reaches the memory of another */
        if (!is_host && sim_context_current() && sim_context_current()->device != context->device)
            return CUDA_ERROR_INVALID_VALUE;
        *(CUdeviceptr *)data = at;
        break;
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
        if (!is_host) return CUDA_ERROR_INVALID_VALUE;
        *(void **)data = (void *)(uintptr_t)at;
        break;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL: *(int *)data = context->device; break;
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR: *(CUdeviceptr *)data = alloc->address; break;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE: *(size_t *)data = alloc->size_bytes; break;
    case CU_POINTER_ATTRIBUTE_IS_MANAGED: *(unsigned int *)data = 0; break;
    default: return CUDA_ERROR_NOT_SUPPORTED;
    }
    return CUDA_SUCCESS;
}

CUresult cuPointerGetAttribute(void *data, CUpointer_attribute attribute, CUdeviceptr at) {
    SIM_ENTRY(get_pointer_attribute(data, attribute, at));
}

/* Copies and memsets that wait run as others do; the gate has seen earlier errors already. */
static CUresult submit(sim_work work, CUstream handle) {
    struct CUstream_st *stream = sim_stream_find(handle);
    if (!stream) return CUDA_ERROR_INVALID_HANDLE;
    return sim_work_submit(stream, &work);
}

static sim_work to_device(CUdeviceptr to, const void *from, size_t bytes) {
    return (sim_work){.kind = SIM_WORK_COPY, .to = to, .from_host = from, .bytes = bytes};
}

static sim_work to_host(void *to, CUdeviceptr from, size_t bytes) {
    return (sim_work){.kind = SIM_WORK_COPY, .to_host = to, .from = from, .bytes = bytes};
}

static sim_work on_device(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
    return (sim_work){.kind = SIM_WORK_COPY, .to = to, .from = from, .bytes = bytes};
}

static sim_work set(CUdeviceptr to, uint32_t value, uint32_t element_bytes, size_t count) {
    return (sim_work){.kind = SIM_WORK_MEMSET,
                      .to = to,
                      .value = value,
                      .element_bytes = element_bytes,
                      .bytes = count * element_bytes};
}

CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t bytes) {
    SIM_ENTRY(submit(to_device(to, from, bytes), NULL));
}

CUresult cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t bytes) {
    SIM_ENTRY(submit(to_host(to, from, bytes), NULL));
}

CUresult cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
    SIM_ENTRY(submit(on_device(to, from, bytes), NULL));
}

CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t bytes, CUstream stream) {
    SIM_ENTRY(submit(to_device(to, from, bytes), stream));
}

CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t bytes, CUstream stream) {
    SIM_ENTRY(submit(to_host(to, from, bytes), stream));
}

CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
    SIM_ENTRY(submit(on_device(to, from, bytes), stream));
}

CUresult cuMemsetD8_v2(CUdeviceptr to, unsigned char value, size_t count) {
    SIM_ENTRY(submit(set(to, value, 1, count), NULL));
}

CUresult cuMemsetD32_v2(CUdeviceptr to, unsigned int value, size_t count) {
    SIM_ENTRY(submit(set(to, value, 4, count), NULL));
}

CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t count, CUstream stream) {
    SIM_ENTRY(submit(set(to, value, 1, count), stream));
}

CUresult cuMemsetD32Async(CUdeviceptr to, unsigned int value, size_t count, CUstream stream) {
    SIM_ENTRY(submit(set(to, value, 4, count), stream));
}
