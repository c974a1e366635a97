/* Call log: a line of JSON for each call that launches, in the file that REDTUNE_TRACE names
 * (docs/api.md).
 *
 * A line is one write to a file that is opened to append, so that threads and processes may share
 * it. What cannot be written ends the log, with a warning, and no call. */
#pragma once

#include <stdbool.h>
#include "base/clock.h"
#include "base/log.h"
#include "redtune/redtune.h"

typedef struct rdt_call_log rdt_call_log;

/* Opens the file, or makes it; *out is NULL, which logs nothing, for "" and /dev/null. REDTUNE_FILE
 * for what is no regular file. log outlives it. */
redtune_status rdt_call_log_open(const char *path, const rdt_log *log, rdt_call_log **out,
                                 redtune_error *err);
void rdt_call_log_close(rdt_call_log *self); /* NULL: none */

/* When a call begins, in ns; 0: nothing is logged. */
static inline double rdt_call_log_begin(const rdt_call_log *self) {
    return __builtin_expect(self != NULL, 0) ? rdt_clock_ns() : 0;
}
/* A call of that name has taken ns on the host. problem is resolved; info says what ran. */
void rdt_call_log_write(rdt_call_log *self, const char *call, const redtune_problem *problem,
                        const redtune_info *info, double ns);
