/* Device: opens redtune on the GPU that the command line names. */
#pragma once

#include "cli/options.h"

/* redtune_open with the options' database and logging. device: NULL for GPU 0. user is the log's.
 */
redtune_status rdt_device_open(const rdt_options *options, const char *device, redtune_log_fn *log,
                               void *user, redtune **out, redtune_error *err);

/* Where err says that there is no GPU, or no driver for one, names the option for a machine without
 * one. Returns err's status. */
redtune_status rdt_device_advise(const char *device, redtune_error *err);
