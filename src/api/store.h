/* Store: where the processes of a tune meet: the user's kernel cache, or one for the tune only. */
#ifndef RDT_API_STORE_H
#define RDT_API_STORE_H

#include <stdbool.h>
#include "base/log.h"

typedef struct rdt_store {
    char path[4096]; /* "": there is no place for one */
    bool temporary;
} rdt_store;

/* A user's cache that cannot be written is replaced by a file in $TMPDIR, with a line in the log.
 */
void rdt_store_open(const rdt_log *log, rdt_store *out);
/* Deletes what was temporary. */
void rdt_store_close(rdt_store *store);

#endif
