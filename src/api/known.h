/* Known: what the tuning database has of one problem class on this GPU with these templates. */
#ifndef RDT_API_KNOWN_H
#define RDT_API_KNOWN_H

#include "cache/tuning.h"

/* By count, and then by age. Valid when zeroed: empty. */
typedef struct rdt_known {
    rdt_trial *trial;
    size_t count, capacity;
} rdt_known;

/* Reads the rows of the problem's class and cache state that were measured on this GPU model with
 * templates of this hash. The problem's count does not matter. */
redtune_status rdt_known_read(rdt_tuning *tuning, const rdt_facts *gpu, const char *templates,
                              const redtune_problem *problem, rdt_cache_state cache, rdt_known *out,
                              redtune_error *err);
void rdt_known_free(rdt_known *known);

/* Those of a count: *first and how many follow. */
size_t rdt_known_at(const rdt_known *known, uint64_t count, const rdt_trial **first);

#endif
