/* Context: the CUDA context that one redtune works in, and the facts of its device. */
#pragma once

#include "gpu/driver.h"
#include "model/facts.h"

typedef struct rdt_context {
    rdt_driver *driver; /* owned */
    CUcontext handle;
    CUdevice device;
    char name[16]; /* of the device, as in redtune_options */
    bool retained; /* the device's primary context, which closing releases */
    rdt_facts facts;
} rdt_context;

/* name as in redtune_options.device. */
redtune_status rdt_context_open(const char *name, rdt_context **out, redtune_error *err);
void rdt_context_close(rdt_context *context);

/* Makes the context current for calls that need one. *entered tells leave what to undo: nothing
 * where the context was current already, so that the caller's own state is never disturbed. */
redtune_status rdt_context_enter(const rdt_context *context, bool *entered, redtune_error *err);
void rdt_context_leave(const rdt_context *context, bool entered);

/* Device memory that nobody uses. */
redtune_status rdt_context_free_bytes(const rdt_context *context, uint64_t *bytes,
                                      redtune_error *err);

/* Says to the driver that what this thread does until restore touches no stream that is being
 * captured, by whatever thread; else allocating and loading would end such captures. */
CUstreamCaptureMode rdt_context_relax(const rdt_context *context);
void rdt_context_restore(const rdt_context *context, CUstreamCaptureMode mode);

/* The device of a name such as "0"; of "sim" the simulated driver's first. */
redtune_status rdt_context_find_device(const rdt_driver *driver, const char *name, CUdevice *out,
                                       redtune_error *err);
redtune_status rdt_context_device_facts(const rdt_driver *driver, CUdevice device, rdt_facts *out,
                                        redtune_error *err);
