/* Kernels: the kernel cache, a local and disposable SQLite file of compiled kernels.
 *
 * Any number of processes may use one file at once; within a process one thread at a time uses a
 * handle, and a child of fork() opens its own. Losing the file costs time only. */
#pragma once

#include <stdbool.h>
#include "base/log.h"
#include "base/text.h"

typedef struct rdt_kernels rdt_kernels;

/* Opens or creates the cache, which its user alone may write: one that is another's is refused, and
 * one that others could have written begins anew, with a line in the log (cache/private.h). log may
 * be NULL. The caller treats any failure as "no cache". The file's content is not looked at before
 * the first use, so this is quick and succeeds on a damaged one. */
redtune_status rdt_kernels_open(const char *path, const rdt_log *log, rdt_kernels **out,
                                redtune_error *err);
/* Opens a kernel file of the system's or of redtune's package, for reading only: nothing is written
 * whatever happens. REDTUNE_FILE for one that others than root, the user and the owner of
 * libredtune could have written, or put in its place. */
redtune_status rdt_kernels_open_system(const char *path, rdt_kernels **out, redtune_error *err);
/* A file in memory, which has no limit, and its bytes once it is filled; freed by the caller. */
redtune_status rdt_kernels_open_blank(rdt_kernels **out, redtune_error *err);
redtune_status rdt_kernels_write_file(rdt_kernels *kernels, void **data, size_t *bytes,
                                      redtune_error *err);
/* Whether a find met content that is not what was put. */
bool rdt_kernels_is_damaged(const rdt_kernels *kernels);
/* Why it cannot be written, if so. */
redtune_status rdt_kernels_check_writable(const rdt_kernels *kernels, redtune_error *err);
/* kernels may be NULL. */
void rdt_kernels_close(rdt_kernels *kernels);

/* Finds a kernel by its key, a hash's text. A miss, and any damage, is REDTUNE_OK with *data NULL;
 * else *data, with a NUL beyond its bytes, is freed by the caller. The content's hash is checked.
 * Fails only for want of memory. */
redtune_status rdt_kernels_find(rdt_kernels *kernels, const char *key, void **data, size_t *bytes,
                                bool *ptx, redtune_error *err);
/* Stores a kernel, replacing one of the same key; drops the least recently used ones beyond the
 * cache's size (256 MiB of file; a larger kernel is not stored). A use counts to within an hour. A
 * damaged file, or one that is no kernel cache, is emptied first. */
redtune_status rdt_kernels_put(rdt_kernels *kernels, const char *key, const void *data,
                               size_t bytes, bool ptx, redtune_error *err);
/* Stored kernels and their bytes; none for a damaged file. */
redtune_status rdt_kernels_census(rdt_kernels *kernels, int64_t *count, int64_t *bytes,
                                  redtune_error *err);
/* Bounds the file at another size than 256 MiB, from the next put on. */
void rdt_kernels_limit(rdt_kernels *kernels, int64_t bytes);
