/* Device: the GPUs that the command line names, and redtune opened on them. */
#pragma once

#include "cli/options.h"

enum { RDT_DEVICES_MAX = 16, RDT_DEVICE_BYTES = 16 };

typedef struct rdt_device_list {
    size_t count;
    char name[RDT_DEVICES_MAX][RDT_DEVICE_BYTES];
} rdt_device_list;

/* Whether --device names more than one GPU, or all of them. */
bool rdt_device_names_several(const rdt_options *options);
/* "all", or numbers with commas between; REDTUNE_INVALID where one stands twice. */
redtune_status rdt_device_list_all(const char *devices, rdt_device_list *out, redtune_error *err);

/* redtune_open with the options' database and logging. device: NULL for GPU 0. user is the log's.
 */
redtune_status rdt_device_open(const rdt_options *options, const char *device, redtune_log_fn *log,
                               void *user, redtune **out, redtune_error *err);

/* Where err says that there is no GPU, or no driver for one, names the option for a machine without
 * one. Returns err's status. */
redtune_status rdt_device_advise(const char *device, redtune_error *err);
