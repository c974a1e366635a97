/* Device: the GPUs that the command line names, and redtune opened on them. */
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

bool rdt_device_names_several(const rdt_options *options) {
    return options->device && (!strcmp(options->device, "all") || strchr(options->device, ','));
}

redtune_status rdt_device_list_all(const char *devices, rdt_device_list *out, redtune_error *err) {
    rdt_device_list list = {.count = 0};
    int all = 0;
    if (!strcmp(devices, "all")) {
        redtune_status status = redtune_device_count(&all, err);
        if (status) return rdt_device_advise(devices, err);
        for (; list.count < (size_t)all && list.count < RDT_DEVICES_MAX; list.count++)
            snprintf(list.name[list.count], RDT_DEVICE_BYTES, "%zu", list.count);
    }
    while (!all && *devices && list.count < RDT_DEVICES_MAX) {
        const size_t length = strcspn(devices, ",");
        snprintf(list.name[list.count++], RDT_DEVICE_BYTES, "%.*s", (int)length, devices);
        devices += length + (devices[length] == ',');
    }
    for (size_t i = 0; i < list.count; i++)
        for (size_t k = 0; k < i; k++)
            if (!strcmp(list.name[i], list.name[k]))
                return rdt_message_set(err, REDTUNE_INVALID, 0,
                                       "cannot use GPU %s twice: name each once", list.name[i]);
    *out = list;
    return REDTUNE_OK;
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
