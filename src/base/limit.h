/* Limit: writing beyond the limit on the size of files (ulimit -f, RLIMIT_FSIZE) is an error of
 * that call, EFBIG, and not the signal that ends the program.
 *
 *     rdt_limit limit;
 *     rdt_limit_enter(&limit);
 *     ... what may write ...
 *     bool met = rdt_limit_leave(&limit);
 *
 * The signal comes to the thread that writes. It is blocked in that thread, and what has come is
 * taken back before it is let in again: what the program has set for SIGXFSZ stays untouched. */
#pragma once

#include <stdbool.h>

typedef struct rdt_limit {
    bool blocked; /* the program has the signal blocked itself */
    bool pending; /* ... and one waits for it */
} rdt_limit;

void rdt_limit_enter(rdt_limit *limit);
/* Whether the limit was met. Leaves errno as it is. */
bool rdt_limit_leave(rdt_limit *limit);
