/* Shard: which part of a tune this process does, as it is told or as its launcher numbers it. */
#pragma once

#include <stdbool.h>
#include "redtune/redtune.h"

/* Valid when zeroed: the whole tune. */
typedef struct rdt_shard {
    unsigned index, count;
    const char *launcher; /* whose numbers these are, such as "Open MPI"; NULL: they were given */
    bool has_local_rank;
    unsigned local_rank; /* among the launcher's processes on this machine */
} rdt_shard;

/* "0/4", "auto", or "auto/4" where the launcher numbers its tasks without counting them.
 * REDTUNE_INVALID for anything else, or where no launcher numbers this process. */
redtune_status rdt_shard_read(const char *text, rdt_shard *out, redtune_error *err);
