/* Recording: the file that notes which problems programs ran without a measurement of their own. */
#pragma once

#include "base/log.h"
#include "redtune/tune.h"

enum { RDT_RECORDING_BYTES_MAX = 16 << 20, RDT_RECORDING_PROBLEMS_MAX = 40000 };

/* Valid when zeroed: empty. */
typedef struct rdt_recording {
    redtune_recorded *entry;
    size_t count, capacity;
} rdt_recording;

/* Adds calls of a problem, which is resolved; it may be there already. */
redtune_status rdt_recording_add(rdt_recording *recording, const redtune_recorded *recorded,
                                 redtune_error *err);
/* Joins the calls of each problem, and sorts the problems by what they cost, the most first. */
void rdt_recording_settle(rdt_recording *recording);
void rdt_recording_free(rdt_recording *recording);

/* Adds what the recording has to what the file has, and puts a new file in its place at once, which
 * has at most RDT_RECORDING_PROBLEMS_MAX problems, those that took the most time. Waits up to 5
 * seconds for other programs that do the same. A file that is no recording is left as it is. */
redtune_status rdt_recording_merge(const char *path, const rdt_recording *recording,
                                   redtune_error *err);
