/* Device: opens redtune on the GPU that the command line names. */
#include "cli/device.h"

#include <stdio.h>
#include <string.h>
#include "cli/message.h"

redtune_status rdt_device_advise(const char *device, redtune_error *err) {
    enum { NO_DEVICE = 100 }; /* CUDA_ERROR_NO_DEVICE */
    bool no_gpu =
        err->status == REDTUNE_LIBRARY || (err->status == REDTUNE_DEVICE && err->code == NO_DEVICE);
    size_t length = strlen(err->message);
    if (no_gpu && (!device || strcmp(device, "sim")))
        snprintf(err->message + length, sizeof err->message - length,
                 "; or use the simulated GPU: --device sim");
    return err->status;
}

redtune_status rdt_device_open(const rdt_options *options, const char *device, redtune_log_fn *log,
                               void *user, redtune **out, redtune_error *err) {
    const redtune_options open = {
        .device = device ? device : "0",
        .database = options->database,
        .machine = options->machine,
        .log = log,
        .log_user = user,
        .log_level = rdt_message_log_level(options->quiet, options->verbose),
    };
    redtune_status status = redtune_open(&open, out, err);
    return status ? rdt_device_advise(device, err) : REDTUNE_OK;
}
