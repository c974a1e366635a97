/* Output: a result that goes to a file, whole or not at all, or to stdout. */
#pragma once

#include "redtune/redtune.h"

/* Writes to path; NULL or "-" is stdout. A regular file is replaced by one that is whole, and stays
 * as it is on failure; a device or a pipe is written to. */
redtune_status rdt_output_put(const char *path, const void *data, size_t bytes, redtune_error *err);
