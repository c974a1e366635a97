/* Open file: opens what the user names to be read, and waits for nothing that may never come. */
#pragma once

#include "redtune/redtune.h"

/* Opens a file, a device or a pipe. A named pipe is read once something comes; one to which nobody
 * writes for 5 seconds is refused. Records a bare reason, without the path. */
redtune_status rdt_open_file_read(const char *path, int *file, redtune_error *err);
/* Opens a regular file and refuses what else has the path; *file is -1 where nothing has it. */
redtune_status rdt_open_file_regular(const char *path, int *file, redtune_error *err);
