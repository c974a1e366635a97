/* Context: the CUDA context that one redtune works in, and the facts of its device. */
#include "gpu/context.h"

#include <stdlib.h>
#include <stdio.h>
#include <string.h>

redtune_status rdt_context_device_facts(const rdt_driver *driver, CUdevice device, rdt_facts *out,
                                        redtune_error *err) {
    rdt_facts facts = {.driver_version = driver->version};
    int l2_bytes = 0;
    size_t memory_bytes = 0;
    const struct {
        CUdevice_attribute attribute;
        int *value;
    } wanted[] = {
        {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, &facts.major},
        {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, &facts.minor},
        {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, &facts.sm_count},
        {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, &facts.threads_per_sm},
        {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, &facts.threads_per_block},
        {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, &facts.shared_bytes_per_block},
        {CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, &l2_bytes},
        {CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, &facts.bus_bits},
        {CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, &facts.memory_khz},
    };
    CUresult rc = driver->device_get_name(facts.name, sizeof facts.name, device);
    if (!rc) rc = driver->device_total_mem(&memory_bytes, device);
    for (size_t i = 0; !rc && i < sizeof wanted / sizeof *wanted; i++)
        rc = driver->device_get_attribute(wanted[i].value, wanted[i].attribute, device);
    redtune_status status =
        rdt_driver_check(driver, rc, err, "read the attributes of GPU %d", device);
    if (status) return status;
    facts.memory_bytes = memory_bytes;
    facts.l2_bytes = (uint64_t)l2_bytes;
    *out = facts;
    return REDTUNE_OK;
}

redtune_status rdt_context_find_device(const rdt_driver *driver, const char *name, CUdevice *out,
                                       redtune_error *err) {
    int count = 0;
    redtune_status status =
        rdt_driver_check(driver, driver->device_get_count(&count), err, "count the GPUs");
    if (status) return status;
    int64_t index = 0;
    bool number = rdt_driver_is_simulated(name) || rdt_text_to_int64(name, strlen(name), &index);
    if (!number || index < 0 || index >= count) {
        char range[40];
        snprintf(range, sizeof range, count == 1 ? "use 0" : "use 0 to %d", count - 1);
        return rdt_fail(err, REDTUNE_INVALID, 0, "cannot use device '%.40s': there %s %d GPU%s; %s",
                        name, count == 1 ? "is" : "are", count, count == 1 ? "" : "s",
                        count ? range : "check nvidia-smi");
    }
    return rdt_driver_check(driver, driver->device_get(out, (int)index), err, "find GPU %s", name);
}

static redtune_status adopt_current(rdt_context *context, redtune_error *err) {
    const rdt_driver *driver = context->driver;
    redtune_status status = rdt_driver_check(driver, driver->ctx_get_current(&context->handle), err,
                                             "ask for the current CUDA context");
    if (status) return status;
    if (!context->handle)
        return rdt_fail(err, REDTUNE_INVALID, 0,
                        "cannot open redtune: no CUDA context is current on this thread; make one "
                        "(cudaSetDevice, cuCtxSetCurrent) or name a device in the options");
    return rdt_driver_check(driver, driver->ctx_get_device(&context->device), err,
                            "ask for the current device");
}

redtune_status rdt_context_open(const char *name, rdt_context **out, redtune_error *err) {
    rdt_context *context = calloc(1, sizeof *context);
    if (!context) return rdt_fail_memory(err, sizeof *context);
    redtune_status status = rdt_driver_open(rdt_driver_is_simulated(name), &context->driver, err);
    if (status) goto done;
    if (name) {
        status = rdt_context_find_device(context->driver, name, &context->device, err);
        if (status) goto done;
        CUresult rc = context->driver->primary_retain(&context->handle, context->device);
        status = rdt_driver_check(context->driver, rc, err, "open a context on GPU %s", name);
        rdt_text_copy(context->name, sizeof context->name, name);
        context->retained = !status;
    } else {
        status = adopt_current(context, err);
        snprintf(context->name, sizeof context->name, "%d", (int)context->device);
    }
    if (status) goto done;
    status = rdt_context_device_facts(context->driver, context->device, &context->facts, err);
    if (status) goto done;
    *out = context;
    context = NULL;
done:
    rdt_context_close(context);
    return status;
}

void rdt_context_close(rdt_context *context) {
    if (!context) return;
    if (context->retained) context->driver->primary_release(context->device);
    rdt_driver_close(context->driver);
    free(context);
}

redtune_status rdt_context_enter(const rdt_context *context, bool *entered, redtune_error *err) {
    CUcontext current = NULL;
    *entered = false;
    CUresult rc = context->driver->ctx_get_current(&current);
    if (!rc && current == context->handle) return REDTUNE_OK;
    rc = context->driver->ctx_push(context->handle);
    if (rc) return rdt_driver_check(context->driver, rc, err, "enter the CUDA context");
    *entered = true;
    return REDTUNE_OK;
}

void rdt_context_leave(const rdt_context *context, bool entered) {
    CUcontext popped;
    if (entered) context->driver->ctx_pop(&popped);
}

redtune_status rdt_context_free_bytes(const rdt_context *context, uint64_t *bytes,
                                      redtune_error *err) {
    size_t free_bytes = 0, total_bytes = 0;
    CUresult rc = context->driver->mem_get_info(&free_bytes, &total_bytes);
    if (rc) return rdt_driver_check(context->driver, rc, err, "ask for free device memory");
    *bytes = free_bytes;
    return REDTUNE_OK;
}

CUstreamCaptureMode rdt_context_relax(const rdt_context *context) {
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    context->driver->exchange_capture_mode(&mode);
    return mode;
}

void rdt_context_restore(const rdt_context *context, CUstreamCaptureMode mode) {
    context->driver->exchange_capture_mode(&mode);
}
