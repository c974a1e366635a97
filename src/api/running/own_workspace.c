/* Own workspace: scratch of the caller's, in memory of its own or of the caller's. */
#include <stdlib.h>
#include "api/running/plan.h"

enum { WORKSPACE_ALIGNMENT = 256 };

size_t redtune_workspace_bytes(void) { return RDT_SCRATCH_BYTES; }

static redtune_status set_up(redtune_workspace *workspace, CUstream stream, redtune_error *err) {
    const rdt_driver *driver = workspace->rt->context->driver;
    bool capturing = false;
    redtune_status status =
        rdt_workspace_is_capturing(workspace->rt->workspace, stream, &capturing, err);
    if (status) return status;
    if (capturing)
        return rdt_fail(err, REDTUNE_INVALID, 0,
                        "cannot create a workspace while its stream is captured: create it before");
    CUstreamCaptureMode mode = rdt_context_relax(workspace->rt->context);
    CUresult rc = CUDA_SUCCESS;
    if (workspace->owned) rc = driver->mem_alloc(&workspace->address, workspace->bytes);
    if (!rc) rc = driver->memset_d8_async(workspace->address, 0, RDT_SCRATCH_BYTES, stream);
    if (rc && workspace->owned && workspace->address) driver->mem_free(workspace->address);
    rdt_context_restore(workspace->rt->context, mode);
    return rdt_driver_check(driver, rc, err, "set up a workspace of %zu bytes", workspace->bytes);
}

redtune_status redtune_workspace_create(redtune *rt, void *d_memory, size_t bytes,
                                        struct CUstream_st *stream, redtune_workspace **out,
                                        redtune_error *err) {
    if (!rt || !out)
        return rdt_fail(err, REDTUNE_INVALID, 0, "cannot create a workspace: %s is NULL",
                        rt ? "out" : "rt");
    if (d_memory && bytes < RDT_SCRATCH_BYTES)
        return rdt_fail(err, REDTUNE_INVALID, 0,
                        "cannot create a workspace of %zu bytes: it takes %zu, as "
                        "redtune_workspace_bytes says",
                        bytes, (size_t)RDT_SCRATCH_BYTES);
    if ((uintptr_t)d_memory % WORKSPACE_ALIGNMENT)
        return rdt_fail(err, REDTUNE_INVALID, 0,
                        "cannot create a workspace at %p: it must be aligned to %d bytes", d_memory,
                        WORKSPACE_ALIGNMENT);
    redtune_workspace *workspace = calloc(1, sizeof *workspace);
    if (!workspace) return rdt_fail_memory(err, sizeof *workspace);
    if (bytes < RDT_SCRATCH_BYTES) bytes = RDT_SCRATCH_BYTES;
    *workspace = (redtune_workspace){rt, (CUdeviceptr)(uintptr_t)d_memory, bytes, !d_memory};
    bool entered = false;
    redtune_status status = rdt_context_enter(rt->context, &entered, err);
    if (!status) {
        status = set_up(workspace, stream, err);
        rdt_context_leave(rt->context, entered);
    }
    if (status)
        free(workspace);
    else
        *out = workspace;
    return status;
}

void redtune_workspace_destroy(redtune_workspace *workspace) {
    if (!workspace) return;
    const rdt_context *context = workspace->rt->context;
    bool entered = false;
    if (workspace->owned && !rdt_context_enter(context, &entered, NULL)) {
        CUstreamCaptureMode mode = rdt_context_relax(context);
        context->driver->mem_free(workspace->address);
        rdt_context_restore(context, mode);
        rdt_context_leave(context, entered);
    }
    free(workspace);
}
