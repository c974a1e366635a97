/* History: what the tuning database has of one problem class on this GPU with these templates. */
#ifndef RDT_API_RECORDS_HISTORY_H
#define RDT_API_RECORDS_HISTORY_H

#include "cache/tuning.h"
#include "model/trials.h"

/* Reads the rows of the problem's class and cache state that were measured here, on this GPU model
 * with templates of this hash, by count and then by age. The problem's count does not matter. */
redtune_status rdt_history_read(rdt_tuning *tuning, const rdt_facts *gpu, const char *templates,
                                const redtune_problem *problem, rdt_cache_state cache,
                                rdt_trials *out, redtune_error *err);

#endif
