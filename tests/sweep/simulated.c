/* Simulated: the simulated GPU as a test sees it: opened, its schedule chosen, its findings read.
 */
#include "simulated.h"

#include <dlfcn.h>
#include <string.h>
#include "base/fail.h"
#include "gpu/stream.h"

/* The driver is loaded already; this only finds what it has beside the driver's functions. */
static redtune_status bind(simulated *gpu, redtune_error *err) {
    const struct {
        const char *name;
        void *place;
    } wanted[] = {
        {"redtune_sim_findings", &gpu->findings},
        {"redtune_sim_finding", &gpu->finding},
        {"redtune_sim_set", &gpu->set},
        {"redtune_sim_check_leaks", &gpu->check_leaks},
    };
    gpu->library = dlopen(rdt_driver_path(gpu->driver), RTLD_NOW | RTLD_NOLOAD);
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        void *address = gpu->library ? dlsym(gpu->library, wanted[i].name) : NULL;
        if (!address)
            return rdt_fail(err, REDTUNE_LIBRARY, 0, "cannot use %s: it has no %s",
                            rdt_driver_path(gpu->driver), wanted[i].name);
        memcpy(wanted[i].place, &address, sizeof address);
    }
    return REDTUNE_OK;
}

redtune_status simulated_open(simulated *out, redtune_error *err) {
    bool entered;
    *out = (simulated){0};
    redtune_status status = rdt_context_open("sim", &out->context, err);
    if (status) return status;
    out->driver = out->context->driver;
    status = bind(out, err);
    if (!status) status = rdt_context_enter(out->context, &entered, err);
    if (!status) status = rdt_stream_create(out->driver, &out->stream, err);
    return status;
}

void simulated_close(simulated *gpu) {
    if (!gpu->context) return;
    if (gpu->stream) {
        rdt_stream_destroy(gpu->driver, gpu->stream);
        rdt_context_leave(gpu->context, true);
    }
    if (gpu->library) dlclose(gpu->library);
    rdt_context_close(gpu->context);
    *gpu = (simulated){0};
}
