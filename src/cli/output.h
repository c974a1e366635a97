/* Output: a result that goes to a file, whole or not at all, or to stdout. */
#pragma once

#include "redtune/redtune.h"

/* Writes to path; NULL or "-" is stdout. A regular file is replaced by one that is whole, and stays
 * as it is on failure. What else is written to: a device such as /dev/null, a pipe, and what the
 * process was given open, as /dev/stdout, /dev/fd/N and >(...) name it. Disks and sockets are
 * refused, and so is a named pipe that nobody reads for 5 seconds. */
redtune_status rdt_output_put(const char *path, const void *data, size_t bytes, redtune_error *err);
