/* Pointer: whether kernels reach the memory behind a caller's pointer. */
#include "gpu/pointer.h"

static bool ask_attribute(const rdt_context *context, CUpointer_attribute attribute, CUdeviceptr at,
                          void *out) {
    return !context->driver->pointer_get_attribute(out, attribute, at);
}

/* Whether kernels reach all of the process's memory, what malloc gives included. */
static bool reaches_host(const rdt_context *context) {
    int reaches = 0;
    CUresult rc = context->driver->device_get_attribute(
        &reaches, CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS, context->device);
    return !rc && reaches;
}

static redtune_status refuse_out_of_reach(const rdt_context *context, const char *name,
                                          CUdeviceptr at, redtune_error *err) {
    int device = -1;
    if (!ask_attribute(context, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, at, &device) ||
        device == (int)context->device)
        return rdt_fail(err, REDTUNE_INVALID, 0,
                        "cannot reduce: %s %p is memory that kernels in this CUDA context do "
                        "not reach; allocate it in the context that redtune was opened on",
                        name, (void *)(uintptr_t)at);
    return rdt_fail(err, REDTUNE_INVALID, 0,
                    "cannot reduce: %s %p is memory of GPU %d, and redtune was opened on GPU "
                    "%d; copy it there, or enable peer access",
                    name, (void *)(uintptr_t)at, device, (int)context->device);
}

redtune_status rdt_pointer_check(const rdt_context *context, const char *name, CUdeviceptr at,
                                 size_t bytes, redtune_error *err) {
    CUmemorytype type;
    CUdeviceptr reached = at, begin = at;
    size_t size = 0;
    if (!bytes) return REDTUNE_OK;
    if (!ask_attribute(context, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, at, &type)) {
        if (reaches_host(context)) return REDTUNE_OK;
        return rdt_fail(err, REDTUNE_INVALID, 0,
                        "cannot reduce: %s %p is no memory that CUDA knows: a host pointer, or "
                        "device memory that was freed; pass memory of cuMemAlloc or cudaMalloc",
                        name, (void *)(uintptr_t)at);
    }
    if (!ask_attribute(context, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, at, &reached))
        return refuse_out_of_reach(context, name, at, err);
    if (reached != at)
        return rdt_fail(err, REDTUNE_INVALID, 0,
                        "cannot reduce: %s %p is host memory that kernels reach at %p; pass "
                        "that address",
                        name, (void *)(uintptr_t)at, (void *)(uintptr_t)reached);
    /* Memory whose range is not known is taken as it is. */
    if (!ask_attribute(context, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, at, &begin) ||
        !ask_attribute(context, CU_POINTER_ATTRIBUTE_RANGE_SIZE, at, &size))
        return REDTUNE_OK;
    const size_t left = size - (size_t)(at - begin);
    if (bytes <= left) return REDTUNE_OK;
    return rdt_fail(err, REDTUNE_INVALID, 0,
                    "cannot reduce: %s %p has %zu bytes, and its allocation ends after %zu", name,
                    (void *)(uintptr_t)at, bytes, left);
}
