/* Near: what was best on problems like the one at hand, as a start for its search. */
#ifndef RDT_TUNER_NEAR_H
#define RDT_TUNER_NEAR_H

#include "tuner/search.h"

/* The most promising first; some may be no points, or given twice. Valid when zeroed: empty. */
typedef struct rdt_near_list {
    rdt_config *config;
    size_t count;
} rdt_near_list;

/* out starts zeroed. */
redtune_status rdt_near_collect(const rdt_search *search, rdt_near_list *out, redtune_error *err);
void rdt_near_free(rdt_near_list *list);

#endif
