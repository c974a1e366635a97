/* Seeds: the best configs of problems like this one, as a start for its search. */
#pragma once

#include "tuner/search/search.h"

enum { RDT_SEEDS_MAX = 48 * RDT_SIMILAR_MAX };

/* The most promising first; some may not be allowed here, or given twice. Valid when zeroed: empty.
 */
typedef struct rdt_seeds_list {
    rdt_point point[RDT_SEEDS_MAX];
    size_t count;
} rdt_seeds_list;

/* out starts zeroed. */
redtune_status rdt_seeds_collect(const rdt_search *search, rdt_seeds_list *out, redtune_error *err);

/* The points of the family (-1: of any) with the lowest medians there, of those that were timed as
 * often as in the last round; out has room for `most` of them. */
redtune_status rdt_seeds_best(const rdt_search *search, const rdt_similar *from, int family,
                              size_t most, rdt_point *out, size_t *count, redtune_error *err);
