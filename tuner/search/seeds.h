/* Seeds: the best configs of problems like this one, as a start for its search. */
#ifndef RDT_TUNER_SEARCH_SEEDS_H
#define RDT_TUNER_SEARCH_SEEDS_H

#include "tuner/search/search.h"

/* The most promising first; some may be no points, or given twice. Valid when zeroed: empty. */
typedef struct rdt_seeds_list {
    rdt_config *config;
    size_t count;
} rdt_seeds_list;

/* out starts zeroed. */
redtune_status rdt_seeds_collect(const rdt_search *search, rdt_seeds_list *out, redtune_error *err);
void rdt_seeds_free(rdt_seeds_list *list);

/* The configs with the lowest medians, of the trials with at least `samples` samples;
 * out has room for `most` of them. */
redtune_status rdt_seeds_best(const rdt_space *space, const rdt_trials *trials, int samples,
                              size_t most, rdt_config *out, size_t *count, redtune_error *err);

#endif
