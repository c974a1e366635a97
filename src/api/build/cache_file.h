/* Cache file: where the processes of a tune find kernels: the user's cache or a temporary one. */
#pragma once

#include <stdbool.h>
#include "base/log.h"

typedef struct rdt_cache_file {
    char path[4096]; /* "": there is no place for one */
    bool temporary;
} rdt_cache_file;

/* A user's cache that cannot be written is replaced by a file in $TMPDIR, with a line in the log.
 */
void rdt_cache_file_open(const rdt_log *log, rdt_cache_file *out);
/* Deletes what was temporary. */
void rdt_cache_file_close(rdt_cache_file *file);
