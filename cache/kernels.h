/* Kernels: the kernel cache, a local and disposable SQLite file of compiled kernels. */
#ifndef RDT_CACHE_KERNELS_H
#define RDT_CACHE_KERNELS_H

#include <stdbool.h>
#include "base/text.h"

typedef struct rdt_kernels rdt_kernels;

/* Opens or creates the cache. The caller treats any failure as "no cache". */
redtune_status rdt_kernels_open(const char *path, rdt_kernels **out, redtune_error *err);
void rdt_kernels_close(rdt_kernels *kernels);

/* Finds a kernel by its key, a hash's text. A miss, and any damage, is REDTUNE_OK with *data NULL;
 * else *data is freed by the caller. The content's hash is checked. */
redtune_status rdt_kernels_find(rdt_kernels *kernels, const char *key, void **data, size_t *bytes,
                                bool *ptx, redtune_error *err);
/* Stores a kernel, replacing one of the same key; drops the least recently used ones beyond the
 * cache's size (256 MiB). */
redtune_status rdt_kernels_put(rdt_kernels *kernels, const char *key, const void *data,
                               size_t bytes, bool ptx, redtune_error *err);
/* Stored kernels and their bytes. */
redtune_status rdt_kernels_census(rdt_kernels *kernels, int64_t *count, int64_t *bytes,
                                  redtune_error *err);

#endif
